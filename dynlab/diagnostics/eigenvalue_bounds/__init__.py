"""Bounds on a network's eigenvalues, gradients and exponents: a regression test."""

from dynlab.diagnostics.eigenvalue_bounds.eigenvalue_bounds import eigenvalue_bounds as eigenvalue_bounds
