"""Products of a vector with a matrix as if in twice the digits, by multiplications of matrices that round nothing.

Both factors are cut into slices of so few bits that the products of two slices, and the sums of those, are exact.

References
----------
Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications", Numerical Algorithms 59 (2012).
"""

import math

import torch
from torch import Tensor

DIGITS = 53  # bits of float64
LEAST = 2.0**-1074  # the smallest number: the rounding of those without all digits
SLICES = 3  # of 20 to 26 bits: more than float64 has, unless an entry is far below the largest of its row


def product(x: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """``x @ matrix.mT`` in float64 with one rounding and next to nothing besides, and a bound on the error.

    Parameters
    ----------
    x : Tensor, shape (..., k)
    matrix : Tensor, shape (m, k)

    Returns
    -------
    value, error : Tensor, shape (..., m)
        NaN where an entry is not finite.
    """
    terms = max(1, x.shape[-1])
    bits = (DIGITS - math.ceil(math.log2(terms))) // 2
    left, x_exponent = _slices(x.double(), bits)
    right, exponent = _slices(matrix.double(), bits)
    total = x.new_zeros(*x.shape[:-1], matrix.shape[0], dtype=torch.float64)
    error = torch.zeros_like(total)
    for order in range(SLICES - 1, -1, -1):  # from the smallest to the largest: hardly any sum rounds but the last
        for first in range(order + 1):
            total = total + left[first] @ right[order - first].mT
            error = error + total.abs()
    unit = torch.finfo(torch.float64).eps / 2
    not_zero = (x.any(dim=-1, keepdim=True) & matrix.any(dim=-1)).double()
    left_out = 4 * (SLICES + 1) * terms * 2.0 ** (-bits * SLICES) * not_zero
    size = x_exponent + exponent.squeeze(-1)
    found, wrong = (_ldexp(part, size) for part in (total, unit * error + left_out))
    return found, wrong + LEAST * not_zero * (found.abs() < torch.finfo(torch.float64).tiny)


def _slices(x: Tensor, bits: int) -> tuple[list[Tensor], Tensor]:
    """Slices whose sum is x/2^e but for 2^(1 − bits · SLICES), and e, shape (..., 1): |x/2^e| < 2 in each row."""
    largest = x.abs().amax(dim=-1, keepdim=True) if x.shape[-1] else x.new_zeros(*x.shape[:-1], 1)
    exponent = torch.frexp(largest).exponent.double() - 1
    x = _ldexp(x, -exponent)
    slices = []
    for number in range(1, SLICES + 1):
        grid = 1.5 * 2.0 ** (DIGITS - bits * number)  # adding it rounds to multiples of 2^(1 − bits · number)
        part = (x + grid) - grid
        slices.append(part)
        x = x - part
    return slices, exponent


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """Scale x by 2^exponent where the power itself may overflow."""
    half = (exponent / 2).floor()
    return x * torch.exp2(half) * torch.exp2(exponent - half)
