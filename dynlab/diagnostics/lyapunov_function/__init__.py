"""Quadratic Lyapunov functions at fixed points, and sets around them in which they are proved to decrease."""

from dynlab.diagnostics.lyapunov_function.lyapunov_function import lyapunov_function as lyapunov_function
