"""Step sizes for which an integrator is stable, and the conditions of the papers."""

from dynlab.diagnostics.stability.stability import stability as stability
