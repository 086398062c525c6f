"""Families of orbits that nothing attracts, of which every start has its own: of rotations and conservative maps."""

import numpy as np
import torch

from dynlab.diagnostics.basins.motion import signs
from dynlab.diagnostics.fixed_points.affine import affine_answer
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.jacobians import held_matrices, jacobian_and_error
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

FAMILY = "family of"
LOOKED_AT = 1024  # states at which a map is asked whether it preserves volume
VOLUME = 1e-6  # times n: where ln |det J| is not known that well, nothing is said of volumes
ROUNDINGS = 8  # of each entry, in the elimination that gives the determinant
FOLLOWED, STEPS = 6, 4096  # orbits of a family, and how many steps of each, that say whether they are chaotic


def family(held: Held, states: Real, seed: int) -> tuple[str, float, float] | None:
    """The kind of the family that orbits through `states` (k, n) form, and its largest exponent with its error.

    None where they form none: the map preserves no volume at the states, and is not affine with a leading multiplier
    whose modulus is 1 within its error.
    """
    some = torch.as_tensor(states[:: -(-len(states) // LOOKED_AT)])
    n = states.shape[1]
    kind = ""
    if _preserves(held, some[:1]) and _preserves(held, some):  # most maps do not at the first state
        kind = "volume-preserving orbits"
    elif affine_answer(held) is not None:
        matrix = held_matrices(held, some[:1])[0].numpy()
        values, errors, _ = eigenvalues(matrix, n * float(np.finfo(np.float64).eps) * np.abs(matrix))
        if abs(abs(values[0]) - 1) <= errors[0]:
            kind = "neutral orbits"
    if not kind:
        return None
    begin = states[:: -(-len(states) // FOLLOWED)]
    begin = np.asarray(held.unit) * begin
    measured = lyapunov(Iterated(held, 1), steps=STEPS, k=1, initial_state=begin, largest_state=np.inf, seed=seed)
    exponents, errors = (measured[name].values[:, 0] for name in ("exponent", "exponent_error"))
    chaotic = signs(exponents, errors) > 0
    kind = f"chaotic {kind}" if chaotic.all() else f"regular and chaotic {kind}" if chaotic.any() else kind
    largest = int(np.argmax(exponents))
    return f"{FAMILY} {kind}", float(exponents[largest]), float(errors[largest])


def _preserves(held: Held, states: torch.Tensor) -> bool:
    """Whether ln |det J| is 0 at all states (k, n), within what the errors of J's entries leave of it."""
    matrices, errors = jacobian_and_error(held.system, *held.given(states))
    n = states.shape[1]
    errors = (errors + ROUNDINGS * n * torch.finfo(matrices.dtype).eps * matrices.abs()).expand_as(matrices)
    wrong = (torch.linalg.pinv(matrices).mT.abs() * errors).sum(dim=(-2, -1))  # d ln |det J| = tr(J⁻¹ dJ)
    return bool((torch.linalg.slogdet(matrices).logabsdet.abs() <= wrong.clamp(max=VOLUME * n)).all())
