"""Within which level a quadratic function surely falls: certified regions of attraction."""

from dynlab.diagnostics.lyapunov_function.diagnostic import lyapunov_function

__all__ = ["lyapunov_function"]
