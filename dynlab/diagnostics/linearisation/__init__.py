"""Kernels of `dynlab.modes` and of the directions in `dynlab.geometry`: a Jacobian's eigenvectors, and their errors."""
