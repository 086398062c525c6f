"""FastRNN, a residual step with two learned scalars; FastGRNN, with a gate that reuses its matrices; and the UGRNN.

References
----------
Kusupati et al., "FastGRNN: a fast, accurate, stable and tiny kilobyte sized gated recurrent neural network",
NeurIPS 2018, sections 3.1 and 3.2 (the cells; L, S and Q are the low-rank, sparse and quantised parts that the form
"LSQ" leaves out); initial values as in the authors' EdgeML library.
UGRNN: Collins, Sohl-Dickstein and Sussillo, "Capacity and trainability in recurrent neural networks", ICLR 2017,
arXiv 1611.09913, section 2; initial values and the form without an extra bias of the gate as in EdgeML.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.systems.activations import activation_named
from dynlab.systems.base import Flow, Map

# EdgeML's initial values: σ(β) = 0.9526 of the old state and σ(α) = 0.0474 of the candidate; σ(ζ) = 0.7311,
# σ(ν) = 0.0180; every weight of deviation 0.1, biases 1.
INITIAL_ALPHA, INITIAL_BETA, INITIAL_ZETA, INITIAL_NU = -3.0, 3.0, 1.0, -4.0
WEIGHT_DEVIATION = 0.1


class FastRNN(Map):
    """h_t = σ(β) h_{t−1} + σ(α) φ(W x_t + U h_{t−1} + b), with ∂h_t/∂h_{t−1} = σ(β) I + σ(α) diag(φ') U.

    Parameters
    ----------
    input_size, state_size : int
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ; the authors take tanh mostly, ReLU on HAR-2 and the spoken commands.
    """

    def __init__(self, input_size: int, state_size: int, activation: str = "tanh") -> None:
        super().__init__(state_size, input_size)
        self.activation = activation_named(activation)
        self.W = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b = nn.Parameter(torch.ones(state_size))
        self.alpha = nn.Parameter(torch.tensor(INITIAL_ALPHA))
        self.beta = nn.Parameter(torch.tensor(INITIAL_BETA))

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        candidate = self.activation.function(self.preactivation(state, input))
        return torch.sigmoid(self.beta) * state + torch.sigmoid(self.alpha) * candidate

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        """W x + U h + b, shape (..., state)."""
        return linear(input, self.W) + linear(state, self.U, self.b)


class FastRNNFlow(Flow):
    """h' = φ(W x + U h + b) − κ h with κ = (1 − σ(β))/σ(α): the flow whose Euler step of size σ(α) a FastRNN is.

    Parameters
    ----------
    cell : FastRNN
    """

    def __init__(self, cell: FastRNN) -> None:
        super().__init__(cell.state_size, cell.input_size)
        self.cell = cell
        self.name, self.config = cell.name, cell.config
        self.source, self.task, self.task_settings = cell.source, cell.task, cell.task_settings

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        leak = torch.sigmoid(-self.cell.beta) / torch.sigmoid(self.cell.alpha)  # 1 − σ(β) = σ(−β) does not cancel
        return self.cell.activation.function(self.cell.preactivation(state, input)) - leak * state


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
        Share in (0, 1] of the entries of W and U, or of each of their factors, that are not 0. Below 1 all but the
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
            kept, entries = max(1, round(self.density * matrix.numel())), matrix.view(-1)
            entries[entries.abs().argsort(descending=True)[kept:]] = 0.0

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pre-activations of z and of c, which share all but their biases."""
        shared = _apply(self.W, input) + _apply(self.U, state)
        return shared + self.b_z, shared + self.b_c


def _factors(rows: int, columns: int, rank: int | None) -> nn.ParameterList:
    """The matrix, or the two factors of one of that rank, all of the initial deviation."""
    check_at_least(1, rank=rank)
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
