"""RNNs with modReLU: one whose matrix is free, three with an orthogonal one, expRNN, dtriv and scoRNN, and nnRNN.

ModReLU is the activation that keeps directions: the sign of a real number, the phase of a complex one. The constants
that public codes add to the modulus are left out: they shrink the state at every step. Dtriv is expRNN's dynamic
trivialization.

References
----------
ModReLU: Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation
8. The free matrix: Nguyen-Duy, Pham and Nguyen, arXiv 2304.11790, whose code has this network, mode "rnn" with
nonlinearity "modrelu", as the one without a constraint.
expRNN: Lezcano-Casado and Martínez-Rubio, ICML 2019, arXiv 1901.08428, section 4. dtriv: Lezcano-Casado, NeurIPS 2019,
arXiv 1909.09501, algorithm 1. scoRNN: Helfrich, Willmott and Ye, ICML 2018, arXiv 1707.09520, equations 2 and 3. As in
the authors' code, states are rows: h B.
nnRNN: Kerg, Goyette et al., "Non-normal recurrent neural network (nnRNN): learning long time dependencies while
improving expressivity with transient dynamics", NeurIPS 2019, arXiv 1905.12080, section 3. As in the authors' code,
states are rows: h W. Their triangle T overlaps the 2×2 blocks, so that the moduli of the eigenvalues are not γ; here it
does not.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.parametrize import register_parametrization

from dynlab.errors import UserError
from dynlab.systems.base import Map
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, constrain, entries_of, parametrizations_of, skew_start


def modrelu(z: Tensor, b: Tensor) -> Tensor:
    """sign(z) max(abs(z) + b, 0), and 0 at z = 0."""
    return torch.sign(z) * torch.relu(z.abs() + b)


class ModReLURNN(Map):
    """h_t = modReLU(V x_t + Bᵀ h_{t−1}), and ∂h_t/∂h_{t−1} = diag(modReLU') Bᵀ. V has no bias of its own.

    `modrelu_rnn` gives it a free B; `exprnn`, `dtriv` and `scornn` an orthogonal one, each with its parametrization.

    Parameters
    ----------
    V : Tensor, shape (state, input)
    b : Tensor, shape (state,)
        modReLU's, at the start.
    """

    B: Tensor

    def __init__(self, V: Tensor, b: Tensor) -> None:
        super().__init__(*V.shape)
        self.V, self.b = nn.Parameter(V), nn.Parameter(b)

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return modrelu(linear(state, self.recurrent()) + linear(input, self.V), self.b)

    def recurrent(self) -> Tensor:
        """Bᵀ, what the step multiplies a state with."""
        return self.B.mT


def modrelu_rnn(input_size: int, state_size: int, init: str = "cayley") -> ModReLURNN:
    """The RNN with modReLU and a free B that starts where expRNN's does, at exp(A).

    Parameters
    ----------
    input_size, state_size : int
    init : {"cayley", "henaff", "zero"}
        The skew-symmetric A, `dynlab.systems.orthogonal.skew_start`.

    Examples
    --------
    >>> cell = modrelu_rnn(input_size=1, state_size=170)
    >>> sum(parameter.numel() for parameter in cell.parameters())  # 170² + 2 · 170
    29240
    """
    cell = ModReLURNN(*exprnn_weights(input_size, state_size))
    cell.B = nn.Parameter(Orthogonal(SkewSymmetric(state_size))(skew_start(state_size, init)))
    return cell


def exprnn_weights(input_size: int, state_size: int) -> tuple[Tensor, Tensor]:
    """V of variance 2/input_size (Kaiming) and modReLU's b, as the authors start them."""
    return torch.randn(state_size, input_size) * math.sqrt(2 / max(input_size, 1)), modrelu_bias(state_size)


def modrelu_bias(state_size: int) -> Tensor:
    """The b that modReLU starts with."""
    return torch.empty(state_size).uniform_(-0.01, 0.01)


def exprnn(input_size: int, state_size: int, init: str = "cayley", chart: str = "exp") -> ModReLURNN:
    """expRNN: B = exp(A) with A skew-symmetric.

    Parameters
    ----------
    input_size, state_size : int
    init : {"cayley", "henaff", "zero"}
        Start of A, `dynlab.systems.orthogonal.skew_start`; "cayley" on MNIST, "henaff" in copying.
    chart : {"exp", "cayley"}
        "cayley" for B = (I + A)⁻¹ (I − A).

    Examples
    --------
    >>> cell = exprnn(input_size=1, state_size=170)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    14705
    """
    cell = ModReLURNN(*exprnn_weights(input_size, state_size))
    constrain(cell, "B", skew_start(state_size, init), Orthogonal(SkewSymmetric(state_size), chart))
    return cell


def dtriv(
    input_size: int,
    state_size: int,
    init: str = "cayley",
    chart: str = "exp",
    rebase_every: int | None = 100,
    project_every: int = 100,
) -> ModReLURNN:
    """Dynamic trivialization: B = base · exp(A), where every K steps of the optimiser the base becomes B, and A 0.

    Training calls `System.after_optimizer_step`, between one graph and the next: no gradient mixes two charts.

    Parameters
    ----------
    input_size, state_size : int
    init, chart : str
        Start and map of A, as in `exprnn`.
    rebase_every : int or None
        K; None for a base that moves once, before the first step.
    project_every : int
        M: after how many moves the base is projected on the orthogonal matrices; 30 in the authors' copying.
    """
    cell = ModReLURNN(*exprnn_weights(input_size, state_size))
    orthogonal = Orthogonal(SkewSymmetric(state_size), chart, torch.eye(state_size), rebase_every, project_every)
    constrain(cell, "B", skew_start(state_size, init), orthogonal)
    if rebase_every is None:
        orthogonal.rebase(entries_of(cell, "B"))
    return cell


def scornn(input_size: int, state_size: int, rho: float = 0.5, init: str = "cayley") -> ModReLURNN:
    """scoRNN: B = (I + A)⁻¹ (I − A) D, D diagonal: entries 1, the last round(ρ n) −1.

    Parameters
    ----------
    input_size, state_size : int
    rho : float
        ρ in [0, 1]; the authors take 1/10 on MNIST, 1/2 on permuted MNIST and in copying.
    init : {"cayley", "henaff", "zero"}
        Start of A.
    """
    if not 0 <= rho <= 1:
        raise UserError(f"scoRNN's rho, the share of entries -1, must be between 0 and 1, got {rho}.")
    V = torch.empty(state_size, input_size).uniform_(-0.01, 0.01)  # the authors' range
    cell = ModReLURNN(V, torch.zeros(state_size))
    constrain(cell, "B", skew_start(state_size, init), Orthogonal(SkewSymmetric(state_size), "cayley"))
    register_parametrization(cell, "B", Signs(state_size, round(rho * state_size)))
    return cell


class Signs(nn.Module):
    """The parametrization B ↦ B D, where D changes the sign of some of the columns."""

    def __init__(self, size: int, negative: int) -> None:
        super().__init__()
        self.signs = nn.Buffer(torch.cat([torch.ones(size - negative), -torch.ones(negative)]), persistent=False)

    def forward(self, B: Tensor) -> Tensor:
        return B * self.signs


class NNRNN(ModReLURNN):
    """h_t = modReLU(V x_t + Wᵀ h_{t−1}) with W = P (Θ + T) Pᵀ, and ∂h_t/∂h_{t−1} = diag(modReLU') Wᵀ.

    P = exp(A) is orthogonal; Θ is block diagonal, γ_i times the rotation by θ_i; T is strictly above those blocks. The
    eigenvalues of W are γ_i exp(±i θ_i) whatever T is, which makes W non-normal. Training adds δ `penalty` to the loss,
    and its weight decay is of T alone.

    Parameters
    ----------
    input_size, state_size : int
        The size of the state is even.
    init : {"henaff", "cayley", "zero"}
        Start of A, `dynlab.systems.orthogonal.skew_start`; θ starts uniform in (0, 2π), γ at 1, T at 0.

    Examples
    --------
    >>> cell = NNRNN(input_size=1, state_size=4)
    >>> sorted(name for name, _ in cell.schur.named_parameters())
    ['T', 'gamma', 'theta']
    """

    W: Tensor

    def __init__(self, input_size: int, state_size: int, init: str = "henaff") -> None:
        if state_size % 2:
            raise UserError(
                f"nnRNN's matrix has blocks of 2 × 2, so its state has an even size; got {state_size}: "
                f"take {state_size + 1}."
            )
        # Xavier's deviation, as in the authors' code
        V = math.sqrt(2 / (input_size + state_size)) * torch.randn(state_size, input_size)
        super().__init__(V, modrelu_bias(state_size))
        constrain(self, "W", skew_start(state_size, init), Orthogonal(SkewSymmetric(state_size)))
        register_parametrization(self, "W", SchurForm(state_size))

    @property
    def schur(self) -> "SchurForm":
        """The module that holds θ, γ and T."""
        return cast(SchurForm, parametrizations_of(self, "W")[1])

    def recurrent(self) -> Tensor:
        return self.W.mT

    def penalty(self) -> Tensor:
        """Σ (γ_i − 1)²."""
        return (self.schur.gamma - 1).square().sum()

    def decaying_parameters(self) -> list[nn.Parameter]:
        """T alone: what makes W non-normal is kept small, as in the source."""
        return [self.schur.T]


class SchurForm(nn.Module):
    """The parametrization P ↦ P (Θ + T) Pᵀ with its own θ, γ and T, the latter as entries row by row."""

    def __init__(self, size: int) -> None:
        super().__init__()
        rows, columns = places = torch.triu_indices(size, size, offset=1)
        above = rows // 2 != columns // 2  # the pairs of one block are Θ's
        self.places = nn.Buffer(places[:, above], persistent=False)
        self.theta = nn.Parameter(torch.empty(size // 2).uniform_(0, 2 * math.pi))
        self.gamma = nn.Parameter(torch.ones(size // 2))
        self.T = nn.Parameter(torch.zeros(int(above.sum())))

    def forward(self, P: Tensor) -> Tensor:
        cosine, sine = self.gamma * torch.cos(self.theta), self.gamma * torch.sin(self.theta)
        rotations = torch.stack([torch.stack([cosine, -sine], dim=-1), torch.stack([sine, cosine], dim=-1)], dim=-2)
        triangle = torch.zeros_like(P).index_put(tuple(self.places), self.T)
        return P @ (torch.block_diag(*rotations) + triangle) @ P.mT
