"""What changes with a parameter: branches of fixed points, their bifurcations, attractors over a grid."""

from dynlab.diagnostics.bifurcation.diagnostic import bifurcation

__all__ = ["bifurcation"]
