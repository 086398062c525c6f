"""RNNs whose singular values stay within a margin of 1: the SpectralRNN and the soft-orthogonal RNN.

References
----------
SpectralRNN: Zhang, Lei and Dhillon, "Stabilizing gradients for deep neural networks via efficient SVD
parameterization", ICML 2018, arXiv 1803.09327, section 4; starts as in the authors' code. Products of reflections in
one matrix: Puglisi, "Modification of the Householder method based on the compact WY representation", SIAM J. Sci.
Stat. Comput. 13 (1992).
Soft-orthogonal: Vorontsov, Trabelsi, Kadoury and Pal, "On orthogonality and learning recurrent networks with long term
dependencies", ICML 2017, arXiv 1702.00071, sections 2.1 and 2.2; starts as in the authors' code, whose steps along the
orthogonal matrices, taken from the first base for ever and in the wrong order of factors, are corrected here. Theirs
learns h_0 too, which is 0 here.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.activations import ActivatedMap, activation_named
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, constrain, skew_start


def around_1(p: Tensor, margin: float) -> Tensor:
    """Return the singular values s = 1 + 2 m (σ(p) − ½), which are 1 at p = 0."""
    return 1 + 2 * margin * (torch.sigmoid(p) - 0.5)


class SpectralRNN(ActivatedMap):
    """h_t = φ(W h_{t−1} + V x_t + b), W = U diag(s) Qᵀ with s in (1 − r, 1 + r), and the Jacobian diag(φ') W.

    U and Q are products of k Householder reflections, of which the i-th leaves the first i − 1 coordinates alone: all
    orthogonal matrices of determinant (−1)^k for k = n, a subset for k < n. The singular values are
    s = 1 + 2 r (σ(p) − ½), with p = 0 at the start.

    Parameters
    ----------
    input_size, state_size : int
    reflections : int or None
        k; None for a quarter of the size of the state, as in the authors' code.
    margin : float
        r in [0, 1).
    activation : {"relu", "tanh", "sigmoid", "identity"}
        φ.

    Examples
    --------
    >>> cell = SpectralRNN(input_size=1, state_size=128, reflections=16)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    4240
    """

    W: Tensor

    def __init__(
        self,
        input_size: int,
        state_size: int,
        reflections: int | None = None,
        margin: float = 0.01,
        activation: str = "relu",
    ) -> None:
        super().__init__(state_size, input_size)
        self.activation = activation_named(activation)
        k = max(1, state_size // 4) if reflections is None else reflections
        if not (1 <= k <= state_size and 0 <= margin < 1):
            raise UserError(
                f"SpectralRNN takes 1 to {state_size} reflections, the size of its state, and a margin from 0 to below "
                f"1, got {k} and {margin}."
            )
        reach = math.sqrt(6 / (input_size + state_size))  # Glorot's, TensorFlow's default for the authors' code
        self.V = nn.Parameter(torch.empty(state_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.zeros(state_size))
        vectors = torch.empty(2, state_size * k - k * (k - 1) // 2).uniform_(-1, 1)  # their lengths do not matter
        constrain(self, "W", vectors, ReflectionSVD(state_size, k, margin))


class ReflectionSVD(nn.Module):
    """The parametrization U diag(s) Qᵀ of the vectors of U's and of Q's reflections, with its own p; in float64."""

    def __init__(self, size: int, reflections: int, margin: float) -> None:
        super().__init__()
        self.size, self.reflections, self.margin = size, reflections, margin
        self.places = nn.Buffer(torch.tril_indices(size, reflections), persistent=False)
        self.p = nn.Parameter(torch.zeros(size))

    def forward(self, vectors: Tensor) -> Tensor:
        U, Q = (self.orthogonal(part) for part in vectors.double())
        return ((U * around_1(self.p, self.margin)) @ Q.mT).to(vectors.dtype)

    def orthogonal(self, entries: Tensor) -> Tensor:
        """H₁ ⋯ H_k = I − Y S⁻¹ Yᵀ of the unit vectors Y, with S the triangle of YᵀY above its diagonal, and I/2."""
        Y = entries.new_zeros(self.size, self.reflections).index_put(tuple(self.places), entries)
        Y = Y / Y.norm(dim=0)
        S = torch.triu(Y.mT @ Y, 1) + 0.5 * torch.eye(self.reflections, dtype=Y.dtype, device=Y.device)
        identity = torch.eye(self.size, dtype=Y.dtype, device=Y.device)
        return identity - Y @ torch.linalg.solve_triangular(S, Y.mT, upper=True)


# The input weights start uniform in this range on both sides of 0.
INPUT_REACH = 0.01


class SoftOrthogonalRNN(ActivatedMap):
    """h_t = φ(W h_{t−1} + V x_t + b), W = U diag(s) Qᵀ with s in (1 − m, 1 + m), and the Jacobian diag(φ') W.

    U and Q are orthogonal; s = 1 + 2 m (σ(p) − ½), p = 0 at the start. W has n² free parameters. Each step of an
    optimiser is one along the orthogonal matrices, by the Cayley map from where it stands: the bases move every step.

    Parameters
    ----------
    input_size, state_size : int
    margin : float
        m in [0, 1); with 0 the matrix is orthogonal and there is no p.
    activation : {"identity", "tanh", "relu", "sigmoid"}
        φ; the identity in the authors' code, on MNIST it is not published.

    Examples
    --------
    >>> cell = SoftOrthogonalRNN(input_size=1, state_size=128)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    16640
    """

    U: Tensor
    Q: Tensor

    def __init__(self, input_size: int, state_size: int, margin: float = 0.1, activation: str = "identity") -> None:
        super().__init__(state_size, input_size)
        if not 0 <= margin < 1:
            raise UserError(f"The margin of the singular values around 1 must be from 0 to below 1, got {margin}.")
        self.activation, self.margin = activation_named(activation), margin
        self.V = nn.Parameter(torch.empty(state_size, input_size).uniform_(-INPUT_REACH, INPUT_REACH))
        self.b = nn.Parameter(torch.zeros(state_size))
        self.p = nn.Parameter(torch.zeros(state_size)) if margin else None
        bases = {
            "U": nn.init.orthogonal_(torch.empty(state_size, state_size, dtype=torch.float64)),
            "Q": torch.eye(state_size),
        }
        for name, base in bases.items():
            orthogonal = Orthogonal(SkewSymmetric(state_size), "cayley", base, rebase_every=1)
            constrain(self, name, skew_start(state_size, "zero"), orthogonal)

    def weights(self) -> tuple[Tensor, Tensor]:
        return (self.U * self.singular_values()) @ self.Q.mT, self.V

    def singular_values(self) -> Tensor:
        """s, shape (state,)."""
        return torch.ones_like(self.b) if self.p is None else around_1(self.p, self.margin)

    def penalty(self) -> Tensor:
        """‖WᵀW − I‖_F² = Σ (s_i² − 1)²."""
        return (self.singular_values().square() - 1).square().sum()

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        turned = self.singular_values() * linear(state, self.Q.mT)
        return linear(turned, self.U) + linear(input, self.V, self.b)
