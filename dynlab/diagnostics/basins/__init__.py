"""Attractors and their basins."""

from dynlab.diagnostics.basins.basins import basins

__all__ = ["basins"]
