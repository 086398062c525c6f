"""The share of the gradient that survives from the end of a sequence to each of its steps."""

from dynlab.diagnostics.gradient.gradient_norms import gradient as gradient
