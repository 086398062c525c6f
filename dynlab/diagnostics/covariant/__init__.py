"""Kernels of `dynlab.covariant_vectors`: the linear maps along orbits, Ginelli's two passes, angles of subspaces."""
