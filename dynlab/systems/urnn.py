"""RNNs with a unitary matrix: uRNN and the full-capacity uRNN, as real systems of twice the size.

References
----------
uRNN: Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, section 4;
its matrix by equation 6. Full capacity: Wisdom, Powers, Hershey, Le Roux and Atlas, "Full-capacity unitary recurrent
neural networks", NeurIPS 2016, arXiv 1611.00035, sections 3 and 4; its steps by equations 10 and 11. Starts as in the
authors' codes.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.systems.base import Map, check_sizes
from dynlab.systems.complex_state import (
    complex_modrelu,
    real_form,
    to_complex,
    to_real,
)
from dynlab.systems.orthogonal import Orthogonal, constrain


class FourierUnitary(nn.Module):
    """W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ of 7 n reals, applied in n log n operations.

    D are diagonals of phases, uniform in ±π at the start, R complex Householder reflections, F the Fourier transform,
    and Π a permutation, drawn once.
    """

    permutation: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        reach = math.sqrt(6 / (2 + 2 * size))  # Glorot's
        self.phases = nn.Parameter(torch.empty(3, size).uniform_(-math.pi, math.pi))
        self.reflections = nn.Parameter(torch.empty(2, 2 * size).uniform_(-reach, reach))
        self.register_buffer("permutation", torch.randperm(size))

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


# uRNN's hidden bias starts uniform in this range on both sides of 0, the full-capacity one's at 0.
BIAS_REACH = 0.01


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
        modReLU's b starts uniform in ± this.
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
    check_sizes(hidden_size, input_size)
    return UnitaryRNN(input_size, hidden_size, FourierUnitary(hidden_size), BIAS_REACH)


def fc_urnn(input_size: int, hidden_size: int) -> UnitaryRNN:
    """The full-capacity uRNN: W is any unitary matrix, `dynlab.systems.urnn.FullUnitary`; arguments as in `urnn`."""
    check_sizes(hidden_size, input_size)
    return UnitaryRNN(input_size, hidden_size, FullUnitary(hidden_size), 0.0)
