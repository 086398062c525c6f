"""The phase portrait of a planar system."""

from dynlab.diagnostics.phase_plane.phase_plane import phase_plane as phase_plane
