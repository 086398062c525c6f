"""Complex states as real ones of twice the size, [Re z; Im z]: matrices, and modReLU with its Jacobian.

References
----------
Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation 8.
The constants that public codes add to the modulus are left out: they shrink the state at every step.
"""

import torch
from torch import Tensor

SMALLEST = 1e-300  # below the squares of all states: without it z = 0 had no modulus to be divided by


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
    """Of z, z max(abs(z) + b, 0) / abs(z), and 0 at z = 0; `state` of shape (..., 2 n), `b` of shape (n,)."""
    x, y = state.chunk(2, dim=-1)
    modulus = (x.square() + y.square() + SMALLEST).sqrt()
    factor = torch.relu(modulus + b) / modulus
    return torch.cat([factor * x, factor * y], dim=-1)


def _modulus(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """abs(x + i y), and where it is not 0; 1 where it is, so that nothing divides by it."""
    square = x.square() + y.square()
    nonzero = square > 0
    return torch.where(nonzero, square, torch.ones_like(square)).sqrt(), nonzero
