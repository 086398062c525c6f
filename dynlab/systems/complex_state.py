"""Complex states as real ones of twice the size, [Re z; Im z]: matrices, and modReLU with its Jacobian.

References
----------
Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation 8.
The constants that public codes add to the modulus are left out: they shrink the state at every step.
"""

import torch
from torch import Tensor

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
