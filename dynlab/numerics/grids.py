"""Refusals of grids of starts and points that are too fine or too large, before anything is made."""

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
        Name of the points: "points", "starts of 64 units".
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


def check_memory(each: float, max_memory: float, result: float) -> None:
    """Raise where a result and the work on one of its values, in bytes, do not fit into `max_memory`."""
    if result + each > max_memory:
        raise UserError(
            f"This grid needs at least {(result + each) / MEBIBYTE:.0f} MiB, more than the "
            f"{max_memory / MEBIBYTE:.0f} MiB allowed: take fewer points, or a larger --max-memory."
        )
