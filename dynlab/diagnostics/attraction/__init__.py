"""Kernels of `dynlab.basins`: planes of starts, where orbits end, what that is, and basin entropy."""
