"""Changes with a parameter: branches of fixed points, their bifurcations, and attractors over a grid."""

from dynlab.diagnostics.bifurcation.bifurcation import bifurcation as bifurcation
