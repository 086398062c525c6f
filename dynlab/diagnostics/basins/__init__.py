"""Where every start ends: attractors and their basins."""

from dynlab.diagnostics.basins.diagnostic import basins

__all__ = ["basins"]
