"""FastGRNN: FastRNN's residual step with a gate that reuses its matrices; LSQ, low-rank and sparse forms.

References
----------
Kusupati et al., "FastGRNN: a fast, accurate, stable and tiny kilobyte sized gated recurrent neural network",
NeurIPS 2018, section 3.2 (the cell; L, S and Q are the low-rank, sparse and quantised parts that the form "LSQ"
leaves out); initial values as in the authors' EdgeML library.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.base import Map

# EdgeML's initial values: σ(ζ) = 0.7311, σ(ν) = 0.0180; every weight of deviation 0.1.
INITIAL_ZETA, INITIAL_NU = 1.0, -4.0
WEIGHT_DEVIATION = 0.1


class FastGRNN(Map):
    """h_t = z ∘ h_{t−1} + (σ(ζ) (1 − z) + σ(ν)) ∘ c, z = σ(W x + U h + b_z), c = tanh(W x + U h + b_c).

    Gate and candidate share W and U, so that the Jacobian is diag(z) + diag(d) U with
    d = σ'(p_z) (h − σ(ζ) c) + (σ(ζ) (1 − z) + σ(ν)) tanh'(p_c) of the two pre-activations.

    Parameters
    ----------
    input_size, state_size : int
    input_rank, state_rank : int or None
        The ranks of W = W₁ W₂ and of U = U₁ U₂; None for full matrices, the form that the paper calls LSQ.
    density : float
        In (0, 1]: the share of the entries of W and U, or of each of their factors, that are not 0. Below 1 all but the
        largest are set to 0 after every step of the optimiser (iterative hard thresholding, the authors' second
        stage), while the gradient reaches all of them.

    Examples
    --------
    >>> cell = FastGRNN(input_size=9, state_size=80)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    7282
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        input_rank: int | None = None,
        state_rank: int | None = None,
        density: float = 1.0,
    ) -> None:
        super().__init__(state_size, input_size)
        if not 0 < density <= 1:
            raise UserError(f"The density of FastGRNN's matrices must be above 0 and at most 1, got {density}.")
        self.density = density
        self.W = _factors(state_size, input_size, input_rank)
        self.U = _factors(state_size, state_size, state_rank)
        self.b_z = nn.Parameter(torch.ones(state_size))
        self.b_c = nn.Parameter(torch.ones(state_size))
        self.zeta = nn.Parameter(torch.tensor(INITIAL_ZETA))
        self.nu = nn.Parameter(torch.tensor(INITIAL_NU))
        self.after_optimizer_step()

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        p_z, p_c = self._preactivations(state, input)
        return torch.sigmoid(p_z) * state + self._admitted(p_z) * torch.tanh(p_c)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """The equilibrium of the gates' balance alone: h − (σ(ζ) + σ(ν) / (1 − z)) ∘ c."""
        p_z, p_c = self._preactivations(state, input)
        # 1 − z from the pre-activation: the difference is rounding, or 0, where z is close to 1
        admitted = torch.sigmoid(self.zeta) + torch.sigmoid(self.nu) / torch.sigmoid(-p_z)
        return state - admitted * torch.tanh(p_c)

    @torch.no_grad()
    def after_optimizer_step(self) -> None:
        """Set all but the largest entries of the matrices to 0, where `density` is below 1."""
        if self.density == 1:
            return
        for matrix in (*self.W, *self.U):
            kept = max(1, round(self.density * matrix.numel()))
            entries = matrix.view(-1)
            largest = entries.abs().topk(min(kept, entries.numel())).indices
            entries.copy_(torch.zeros_like(entries).index_copy(0, largest, entries[largest]))

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pre-activations of z and of c, which share all but their biases."""
        shared = _apply(self.W, input) + _apply(self.U, state)
        return shared + self.b_z, shared + self.b_c

    def _admitted(self, p_z: Tensor) -> Tensor:
        """Return how much of the candidate enters, σ(ζ) (1 − z) + σ(ν)."""
        return torch.sigmoid(self.zeta) * torch.sigmoid(-p_z) + torch.sigmoid(self.nu)


def _factors(rows: int, columns: int, rank: int | None) -> nn.ParameterList:
    """The matrix, or the two factors of one of that rank, all of the initial deviation."""
    if rank is not None and rank < 1:
        raise UserError(f"A rank of FastGRNN must be at least 1 (None for a full matrix), got {rank}.")
    shapes = [(rows, columns)] if rank is None else [(rows, rank), (rank, columns)]
    return nn.ParameterList([WEIGHT_DEVIATION * torch.randn(shape) for shape in shapes])


def _apply(factors: nn.ParameterList, x: Tensor) -> Tensor:
    for factor in reversed(factors):
        x = linear(x, factor)
    return x
