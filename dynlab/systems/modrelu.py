"""modReLU, the activation that keeps directions: the sign of a real number, the phase of a complex one.

References
----------
Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation 8.
The constants that public codes add to the modulus are left out: they shrink the state at every step.
"""

import torch
from torch import Tensor


def modrelu(z: Tensor, b: Tensor) -> Tensor:
    """sign(z) max(abs(z) + b, 0), and 0 at z = 0."""
    return torch.sign(z) * torch.relu(z.abs() + b)


def modrelu_slope(z: Tensor, b: Tensor) -> Tensor:
    """Its derivative: 1 where abs(z) + b > 0, else 0, and 0 at z = 0."""
    return ((z.abs() + b > 0) & (z != 0)).to(z.dtype)
