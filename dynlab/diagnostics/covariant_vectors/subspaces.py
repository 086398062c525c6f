"""Angles between subspaces that covariant vectors span."""

import torch
from torch import Tensor


def smallest_angles(coefficients: Tensor, unstable: int, stable: int) -> Tensor:
    """The smallest principal angle between the first `unstable` vectors' span and the last `stable` ones', in radians.

    Parameters
    ----------
    coefficients : Tensor, shape (..., k, k)
        Upper triangular: the vectors' components in an orthonormal frame.
    unstable, stable : int
        At least one each, k together at most.

    Notes
    -----
    The first vectors span the frame's first directions. With an orthonormal basis of the others, cos θ is the largest
    singular value of its rows there, sin θ the smallest of its rows elsewhere: the arc tangent of both is accurate for
    small angles and for right ones.

    References
    ----------
    Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).
    """
    basis = torch.linalg.qr(coefficients[..., -stable:]).Q
    cosine = torch.linalg.svdvals(basis[..., :unstable, :])[..., 0]
    sine = torch.linalg.svdvals(basis[..., unstable:, :])[..., -1]
    return torch.atan2(sine, cosine)


def angles_between(first: Tensor, second: Tensor) -> Tensor:
    """The angle between the lines along unit vectors (..., state, k), column by column; accurate near 0."""
    along = (first * second).sum(dim=-2, keepdim=True)
    beside = torch.linalg.vector_norm(second - along * first, dim=-2)
    return torch.atan2(beside, along.squeeze(-2).abs())
