"""Kernels of `basins`: planes of starts, where orbits end, what that is; and of `lyapunov_function`: how V falls."""
