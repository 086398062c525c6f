"""Unitary matrices, applied to real states of twice their size: the product of uRNN, and any of them.

References
----------
Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation 6;
Wisdom, Powers, Hershey, Le Roux and Atlas, "Full-capacity unitary recurrent neural networks", NeurIPS 2016,
arXiv 1611.00035, equations 10 and 11.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.numerics.running_error import as_meant
from dynlab.systems.complex_state import real_form, to_complex, to_real
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
        with as_meant():
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
