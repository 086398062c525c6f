"""Pseudospectra, and the growth of a matrix that is not normal before it decays."""

from dynlab.diagnostics.pseudospectrum.pseudospectrum import pseudospectrum as pseudospectrum
