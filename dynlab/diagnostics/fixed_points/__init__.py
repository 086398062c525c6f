"""Fixed points and equilibria: the search for fixed points, their verification, classification and proofs."""

from dynlab.diagnostics.fixed_points.fixed_points import fixed_points as fixed_points
