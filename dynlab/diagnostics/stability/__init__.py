"""For which step sizes an integrator is stable, and what the papers' conditions say."""

from dynlab.diagnostics.stability.stability import stability as stability
