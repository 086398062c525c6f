"""Kernels of `dynlab.modes` and `dynlab.geometry`: where they look, eigenvectors with their errors, directions."""
