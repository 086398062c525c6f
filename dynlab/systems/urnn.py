"""RNNs with complex states as real systems of twice the size, [Re z; Im z]: uRNN, the full-capacity uRNN and KRU.

The constants that public codes add to the modulus in modReLU are left out: they shrink the state at every step.

References
----------
uRNN: Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, section 4;
its matrix by equation 6, modReLU by equation 8. Full capacity: Wisdom, Powers, Hershey, Le Roux and Atlas,
"Full-capacity unitary recurrent neural networks", NeurIPS 2016, arXiv 1611.00035, sections 3 and 4; its steps by
equations 10 and 11. Starts as in the authors' codes.
KRU: Jose, Cisse and Fleuret, "Kronecker recurrent units", ICML 2018, arXiv 1705.10142, sections 3 and 4. The
activation, the start of the factors and the weight of the penalty are not published for its results; here the factors
start unitary.
"""

import functools
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.activations import ActivatedMap, activation_named
from dynlab.systems.base import Map
from dynlab.systems.orthogonal import Orthogonal, constrain

# What is added to abs(z)², so that z = 0 has a modulus to be divided by: the smallest number to this power, 1e-231, or
# 1e-28 in float32, far below the squares of all states, while its own inverse still is a number.
SHARE = 0.75


def to_complex(state: Tensor) -> Tensor:
    """The complex vectors z of the states (..., 2 n), shape (..., n)."""
    return torch.complex(*state.chunk(2, dim=-1))


def to_real(z: Tensor) -> Tensor:
    """The states (..., 2 n) of complex vectors (..., n)."""
    return torch.cat([z.real, z.imag], dim=-1)


def real_form(W: Tensor) -> Tensor:
    """The matrix [[Re W, −Im W], [Im W, Re W]] that does to states what the complex W does to z."""
    return torch.cat([torch.cat([W.real, -W.imag], dim=-1), torch.cat([W.imag, W.real], dim=-1)], dim=-2)


def complex_modrelu(state: Tensor, b: Tensor) -> Tensor:
    """Return z max(abs(z) + b, 0) / abs(z), and 0 at z = 0; `state` of shape (..., 2 n), `b` of shape (n,)."""
    x, y = state.chunk(2, dim=-1)
    smallest = torch.finfo(state.dtype).tiny ** SHARE
    square = x.square() + y.square() + smallest
    modulus = square.sqrt()
    factor = (
        torch.relu(modulus + b) / modulus * (1 - b.new_full((), smallest) / square)
    )  # the last is 0 at z = 0, else 1
    return torch.cat([factor * x, factor * y], dim=-1)


class FourierUnitary(nn.Module):
    """W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ of 7 n reals, applied in n log n operations.

    D are diagonals of phases, uniform in ±π at the start, R complex Householder reflections, F the Fourier transform,
    and Π a permutation, drawn once.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        reach = math.sqrt(6 / (2 + 2 * size))  # Glorot's
        self.phases = nn.Parameter(torch.empty(3, size).uniform_(-math.pi, math.pi))
        self.reflections = nn.Parameter(torch.empty(2, 2 * size).uniform_(-reach, reach))
        self.permutation = nn.Buffer(torch.randperm(size))

    def forward(self, state: Tensor) -> Tensor:
        if not state.numel():  # some libraries' Fourier transforms refuse an empty batch
            return state
        first, second, third = torch.complex(torch.cos(self.phases), torch.sin(self.phases))
        z = torch.fft.fft(first * to_complex(state), norm="ortho")
        z = second * self._reflect(0, z)[..., self.permutation]
        return to_real(third * self._reflect(1, torch.fft.ifft(z, norm="ortho")))

    def matrix(self) -> Tensor:
        """W in real form, shape (2 n, 2 n)."""
        size, like = self.phases.shape[1], self.phases
        columns = self(torch.eye(size, 2 * size, dtype=like.dtype, device=like.device))
        return real_form(to_complex(columns).mT)

    def _reflect(self, number: int, z: Tensor) -> Tensor:
        """(I − 2 u uᴴ/‖u‖²) z."""
        u = to_complex(self.reflections[number])
        along = (z * u.conj()).sum(dim=-1, keepdim=True)
        return z - 2 * along * u / self.reflections[number].square().sum()


class FullUnitary(nn.Module):
    """Any unitary W, of n² reals; starts as a product of uRNN.

    W = base · (I + X)⁻¹ (I − X) with a skew-Hermitian X, and the base moves to W after every step of an optimiser.
    Gradient descent at the rate λ is then Wisdom's W ← (I + λ/2 A)⁻¹ (I − λ/2 A) W, A = G Wᴴ − W Gᴴ, for every
    gradient G, all of it.
    """

    W: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        base = FourierUnitary(size).double().matrix().detach()
        constrain(self, "W", torch.zeros(size, size), Orthogonal(SkewHermitian(), "cayley", base, rebase_every=1))

    def forward(self, state: Tensor) -> Tensor:
        return linear(state, self.W)

    def matrix(self) -> Tensor:
        """W in real form, shape (2 n, 2 n)."""
        return self.W


class SkewHermitian(nn.Module):
    """A skew-Hermitian X in real form, of n² reals: Re X above the diagonal, Im X on and below it.

    The entries off the diagonal are halved and those on it divided by √2: equal steps in any of them are then equally
    long in X.
    """

    def forward(self, entries: Tensor) -> Tensor:
        real = entries.triu(1) / 2
        imaginary = entries.tril(-1) / 2
        diagonal = torch.diag(entries.diagonal() / math.sqrt(2))
        return real_form(torch.complex(real - real.mT, imaginary + imaginary.mT + diagonal))


class UnitaryRNN(Map):
    """z_t = modReLU(V x_t + W z_{t−1}) for complex z, V and a unitary W; the state is [Re z; Im z].

    The Jacobian is that of modReLU, 2×2 for each unit, times the real form of W. z_0 is learned: `initial_state`.

    Parameters
    ----------
    input_size, hidden_size : int
        The state has twice `hidden_size`.
    recurrent : FourierUnitary or FullUnitary
        W, of size `hidden_size`.
    bias_reach : float
        modReLU's b starts uniform in ± this: 0.01 for uRNN, 0 for the full-capacity one.
    """

    def __init__(
        self, input_size: int, hidden_size: int, recurrent: FourierUnitary | FullUnitary, bias_reach: float
    ) -> None:
        super().__init__(2 * hidden_size, input_size)
        reach = math.sqrt(6 / (input_size + 2 * hidden_size))  # Glorot's, of the real and imaginary rows together
        start = math.sqrt(3 / (2 * hidden_size))
        self.V = nn.Parameter(torch.empty(2 * hidden_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(hidden_size).uniform_(-bias_reach, bias_reach))
        self.z_0 = nn.Parameter(torch.empty(2 * hidden_size).uniform_(-start, start))
        self.recurrent = recurrent

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return complex_modrelu(self.recurrent(state) + linear(input, self.V), self.b)

    def initial_state(self) -> Tensor:
        return self.z_0


def urnn(input_size: int, hidden_size: int) -> UnitaryRNN:
    """uRNN: W is the product `dynlab.systems.urnn.FourierUnitary` of 7 n reals.

    Parameters
    ----------
    input_size, hidden_size : int
        `hidden_size` complex units n, a state of 2 n real numbers.

    Examples
    --------
    >>> cell = urnn(input_size=1, hidden_size=512)
    >>> cell.state_size, sum(parameter.numel() for parameter in cell.parameters())
    (1024, 6144)
    """
    return UnitaryRNN(input_size, hidden_size, FourierUnitary(hidden_size), 0.01)


def fc_urnn(input_size: int, hidden_size: int) -> UnitaryRNN:
    """The full-capacity uRNN: W is any unitary matrix, `dynlab.systems.urnn.FullUnitary`; arguments as in `urnn`."""
    return UnitaryRNN(input_size, hidden_size, FullUnitary(hidden_size), 0.0)


class KRU(ActivatedMap):
    """z_t = φ(V x_t + W z_{t−1}), W = W_0 ⊗ ⋯ ⊗ W_{F−1} of complex 2×2 factors; the state is [Re z; Im z].

    φ acts on real and imaginary parts alike, so that the Jacobian is diag(φ') times the real form of W. Training adds
    λ `penalty` to the loss, which keeps the factors near the unitary ones. A step takes n log n operations.

    Parameters
    ----------
    input_size, hidden_size : int
        `hidden_size` complex units n = 2^F, a state of 2 n real numbers.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.

    Examples
    --------
    >>> cell = KRU(input_size=1, hidden_size=512)
    >>> cell.state_size, sum(parameter.numel() for parameter in cell.parameters())
    (1024, 1096)
    """

    def __init__(self, input_size: int, hidden_size: int, activation: str = "tanh") -> None:
        super().__init__(2 * hidden_size, input_size)
        count = hidden_size.bit_length() - 1
        if count < 1 or hidden_size != 2**count:
            raise UserError(
                f"KRU's matrix is a product of 2 × 2 factors, so its hidden size is a power of 2; got {hidden_size}: "
                f"take {max(2, 2 ** (hidden_size - 1).bit_length())}."
            )
        self.activation = activation_named(activation)
        reach = math.sqrt(6 / (input_size + hidden_size))  # Glorot's
        self.V = nn.Parameter(torch.empty(2 * hidden_size, input_size).uniform_(-reach, reach))
        unitary = torch.linalg.qr(torch.randn(count, 2, 2, dtype=torch.complex64)).Q
        self.factors = nn.Parameter(torch.stack([unitary.real, unitary.imag], dim=1))

    def weights(self) -> tuple[Tensor, Tensor]:
        return real_form(self.matrix()), self.V

    def matrix(self) -> Tensor:
        """The complex matrix W, shape (n, n)."""
        return functools.reduce(torch.kron, self._factors())

    def penalty(self) -> Tensor:
        """Σ_f ‖W_fᴴ W_f − I‖_F²."""
        factors = self._factors()
        defect = factors.mH @ factors - torch.eye(2, dtype=factors.dtype, device=factors.device)
        return torch.view_as_real(defect).square().sum()

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        z = to_complex(state)
        for number, factor in enumerate(self._factors()):
            # the index that this factor acts on, between those before (more significant) and those after it
            parts = z.unflatten(-1, (2**number, 2, -1))
            z = torch.einsum("ij,...ajb->...aib", factor, parts).flatten(-3)
        return to_real(z) + linear(input, self.V)

    def _factors(self) -> Tensor:
        """The factors as complex matrices, shape (F, 2, 2)."""
        return torch.complex(self.factors[:, 0], self.factors[:, 1])
