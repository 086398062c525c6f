"""What a system of two dimensions does: field, orbits, equilibria and their kinds."""

from dynlab.diagnostics.phase_plane.diagnostic import phase_plane

__all__ = ["phase_plane"]
