"""`lyapunov_function`: a quadratic Lyapunov function at each stable fixed point."""

from dynlab.diagnostics.lyapunov_function.lyapunov_function import lyapunov_function

__all__ = ["lyapunov_function"]
