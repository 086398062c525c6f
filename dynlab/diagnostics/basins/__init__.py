"""Attractors and their basins."""

from dynlab.diagnostics.basins.basins import basins as basins
