"""FastGRNN, FastRNN's residual step with a gate that reuses its matrices, and the UGRNN: as in EdgeML.

References
----------
Kusupati et al., "FastGRNN: a fast, accurate, stable and tiny kilobyte sized gated recurrent neural network",
NeurIPS 2018, section 3.2 (the cell; L, S and Q are the low-rank, sparse and quantised parts that the form "LSQ"
leaves out); initial values as in the authors' EdgeML library.
UGRNN: Collins, Sohl-Dickstein and Sussillo, "Capacity and trainability in recurrent neural networks", ICLR 2017,
arXiv 1611.09913, section 2; initial values and the form without an extra bias of the gate as in EdgeML.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.base import Map

# EdgeML's initial values: σ(ζ) = 0.7311, σ(ν) = 0.0180; every weight of deviation 0.1, UGRNN's biases 1.
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
        admitted = torch.sigmoid(self.zeta) * torch.sigmoid(-p_z) + torch.sigmoid(self.nu)  # of the candidate
        return torch.sigmoid(p_z) * state + admitted * torch.tanh(p_c)

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


class UGRNN(Map):
    """h_t = z ∘ h_{t−1} + (1 − z) ∘ c with z = σ(W_z x + U_z h + b_z) and c = tanh(W_c x + U_c h + b_c).

    The Jacobian is diag(z) + diag(σ'(p_z) (h − c)) U_z + diag((1 − z) tanh'(p_c)) U_c of the two pre-activations.

    Parameters
    ----------
    input_size, state_size : int

    Examples
    --------
    >>> cell = UGRNN(input_size=9, state_size=64)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    9472
    """

    def __init__(self, input_size: int, state_size: int) -> None:
        super().__init__(state_size, input_size)
        self.W_z = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U_z = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b_z = nn.Parameter(torch.ones(state_size))
        self.W_c = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U_c = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b_c = nn.Parameter(torch.ones(state_size))

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        p_z, p_c = self._preactivations(state, input)
        candidate = torch.tanh(p_c)
        return candidate + torch.sigmoid(p_z) * (state - candidate)

    def state_bound(self) -> Tensor:
        return self.b_c.new_ones(self.state_size)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state - torch.tanh(self._preactivations(state, input)[1])

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pre-activations of z and of c."""
        p_z = linear(input, self.W_z) + linear(state, self.U_z, self.b_z)
        return p_z, linear(input, self.W_c) + linear(state, self.U_c, self.b_c)
