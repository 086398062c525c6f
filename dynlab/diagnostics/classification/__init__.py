"""Names for equilibria and fixed points: from eigenvalues with error bounds, and exactly for a matrix of fractions."""
