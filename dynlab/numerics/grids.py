"""Grids of starts and points: what is refused before anything is made, and how much is worked on at a time."""

from dynlab.arguments import check_at_least
from dynlab.errors import UserError

MEBIBYTE = 2**20


def check_grid(grid: int, largest: int, each: int, max_memory: float, of: str) -> None:
    """Raise where a square grid is too fine, or does not fit.

    Parameters
    ----------
    grid, largest : int
        Points a side, and the most that there may be.
    each : int
        Bytes that are kept of each.
    max_memory : float
        Bytes.
    of : str
        What the grid is of: "points", "starts of 64 units".
    """
    check_at_least(2, grid=grid)
    needed = each * grid**2
    if grid > largest:
        raise UserError(f"A grid of {grid:,} × {grid:,} {of} is too fine: take a --grid of at most {largest:,}.")
    if needed > max_memory:
        raise UserError(
            f"A grid of {grid} × {grid} {of} holds {needed / MEBIBYTE:,.0f} MiB, more than "
            f"{max_memory / MEBIBYTE:,.0f} MiB: take a smaller --grid, or a larger --max-memory."
        )


def blocks(count: int, each: float, max_memory: float, result: float) -> list[slice]:
    """Slices of 0 … count − 1 whose work, at `each` bytes, fits beside the result into `max_memory`.

    Raises
    ------
    UserError
        Where the result alone does not, or one value's work.
    """
    free = max_memory - result
    if free < each:
        raise UserError(
            f"This grid needs at least {(result + each) / MEBIBYTE:.0f} MiB, more than the "
            f"{max_memory / MEBIBYTE:.0f} MiB allowed: take fewer points, or a larger --max-memory."
        )
    at_once = int(free // each)
    return [slice(first, min(first + at_once, count)) for first in range(0, count, at_once)]
