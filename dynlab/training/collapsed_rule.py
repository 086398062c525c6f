"""The "full derivative" of a tutorial, which is not the gradient: sensitivities collapsed to a matrix, to be measured.

The tutorial keeps ∂s/∂W as one n × n matrix R, R ← diag(σ') W R + σ' pᵀ with p the state before the step. The true
sensitivity S_i,jk = ∂s_i/∂W_jk obeys S_i,jk ← σ'_i (Σ_l W_il S_l,jk + δ_ij p_k), so that R_ik = Σ_j S_i,jk: R has
forgotten whose weight it was. Multiplied by ∂L/∂s_i element by element, only what the last step adds is right.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems.vanilla import Vanilla


def collapsed_sensitivities(system: Vanilla, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """The last state of each sequence and the tutorial's R for W and V.

    Parameters
    ----------
    system : Vanilla
        The tutorial's has the sigmoid and no bias.
    inputs : Tensor, shape (sample, time, input)

    Returns
    -------
    state : Tensor, shape (sample, state)
    sensitivities : dict
        ``W``, shape (sample, state, state), and ``V``, shape (sample, state, input): the true ones, summed over the
        row of the weight.

    Raises
    ------
    UserError
        For another system.
    """
    if not isinstance(system, Vanilla):
        raise UserError(f"The collapsed rule is written for the system 'vanilla', got {system.name!r}.")
    with torch.no_grad():
        state = inputs.new_zeros(len(inputs), system.state_size)
        by_w = inputs.new_zeros(len(inputs), system.state_size, system.state_size)
        by_v = inputs.new_zeros(len(inputs), system.state_size, system.input_size)
        for t, input in enumerate(inputs.unbind(dim=1)):
            transition = jacobian(system, state, input, t).dense()
            slope = system.activation.slope(linear(state, system.W) + linear(input, system.V, system.b))
            before, state = state, system.step(state, input, t)
            by_w = transition @ by_w + slope.unsqueeze(-1) * before.unsqueeze(-2)
            by_v = transition @ by_v + slope.unsqueeze(-1) * input.unsqueeze(-2)
    return state, {"W": by_w, "V": by_v}


def collapsed_rule(sensitivities: dict[str, Tensor], by_state: Tensor) -> dict[str, Tensor]:
    """What the tutorial descends along: Σ over samples of (∂L/∂s)_i R_ik, with `by_state` of shape (sample, state)."""
    return {name: (by_state.unsqueeze(-1) * matrix).sum(dim=0) for name, matrix in sensitivities.items()}
