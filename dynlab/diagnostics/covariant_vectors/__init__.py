"""In which directions nearby states separate: covariant Lyapunov vectors."""

from dynlab.diagnostics.covariant_vectors.ginelli_vectors import covariant_vectors as covariant_vectors
