"""The roots that implicit steps end at, by implicit Euler steps along a flow that lengthen as the residual falls.

References
----------
Kelley and Keyes, "Convergence analysis of pseudo-transient continuation", SIAM J. Numer. Anal. 35 (1998).
"""

from collections.abc import Callable

import torch
from torch import Tensor

MAX_STEPS = 200  # before a root is given up; where there is one a few tens are enough
TOLERANCE = 10.0  # a residual is rounding below this times the size, the precision, and the scale of the root


def settled(
    residual: Callable[[Tensor], Tensor], slopes: Callable[[Tensor], Tensor], start: Tensor, first: Tensor | float
) -> Tensor:
    """Return the root that the flow z' = residual(z) leads to, NaN where none was found.

    Parameters
    ----------
    residual, slopes : callable
        From z, shape (..., n), to the residual of that shape and to its Jacobian, shape (..., n, n).
    start : Tensor, shape (..., n)
    first : Tensor or float
        The first time step, of Newton's method where it is large; the next are longer by as much as the residual fell.
    """
    z, step_size = start, torch.as_tensor(first).to(start).expand(start.shape[:-1])
    identity = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
    rounding = TOLERANCE * z.shape[-1] * torch.finfo(z.dtype).eps
    gap = residual(z)
    norm = gap.norm(dim=-1)
    for _ in range(MAX_STEPS):
        moving = (norm > rounding * (1 + z.norm(dim=-1))) & norm.isfinite()
        if not moving.any():
            break
        matrix = identity / step_size[..., None, None] - slopes(z)
        move = torch.linalg.solve_ex(matrix, gap.unsqueeze(-1))[0].squeeze(-1)
        z = torch.where(moving.unsqueeze(-1), z + move, z)
        gap, before = residual(z), norm
        norm = gap.norm(dim=-1)
        step_size = step_size * torch.where(moving, before / norm, 1.0)
    found = (norm <= rounding * (1 + z.norm(dim=-1))) & norm.isfinite()
    return torch.where(found.unsqueeze(-1), z, torch.nan)
