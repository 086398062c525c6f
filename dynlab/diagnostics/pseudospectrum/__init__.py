"""How far a matrix that is not normal may grow before it decays."""

from dynlab.diagnostics.pseudospectrum.pseudospectrum import pseudospectrum as pseudospectrum
