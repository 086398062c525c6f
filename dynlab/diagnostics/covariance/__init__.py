"""Kernels of `dynlab.geometry`: principal components, the participation ratio and its error."""
