"""Covariant Lyapunov vectors: the directions in which nearby states separate."""

from dynlab.diagnostics.covariant_vectors.ginelli_vectors import covariant_vectors as covariant_vectors
