"""nnRNN: an RNN whose matrix is non-normal, parametrized by its real Schur form.

References
----------
Kerg, Goyette et al., "Non-normal recurrent neural network (nnRNN): learning long time dependencies while improving
expressivity with transient dynamics", NeurIPS 2019, arXiv 1905.12080, section 3. As in the authors' code, states are
rows: h W. Their triangle T overlaps the 2×2 blocks, so that the moduli of the eigenvalues are not γ; here it does not.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from dynlab.errors import UserError
from dynlab.systems.base import check_sizes
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, constrain, parametrizations_of, skew_start
from dynlab.systems.orthogonal_rnn import ModReLURNN, modrelu_bias


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
        check_sizes(state_size, input_size)
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

    places: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        rows, columns = places = torch.triu_indices(size, size, offset=1)
        above = rows // 2 != columns // 2  # the pairs of one block are Θ's
        self.register_buffer("places", places[:, above], persistent=False)
        self.theta = nn.Parameter(torch.empty(size // 2).uniform_(0, 2 * math.pi))
        self.gamma = nn.Parameter(torch.ones(size // 2))
        self.T = nn.Parameter(torch.zeros(int(above.sum())))

    def forward(self, P: Tensor) -> Tensor:
        cosine, sine = self.gamma * torch.cos(self.theta), self.gamma * torch.sin(self.theta)
        rotations = torch.stack([torch.stack([cosine, -sine], dim=-1), torch.stack([sine, cosine], dim=-1)], dim=-2)
        triangle = torch.zeros_like(P).index_put(tuple(self.places), self.T)
        return P @ (torch.block_diag(*rotations) + triangle) @ P.mT
