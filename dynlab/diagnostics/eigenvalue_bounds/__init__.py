"""Whether a network holds to bounds on its eigenvalues, gradients and exponents."""

from dynlab.diagnostics.eigenvalue_bounds.eigenvalue_bounds import eigenvalue_bounds as eigenvalue_bounds
