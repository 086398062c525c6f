"""Kernels of `dynlab.pseudospectrum`: resolvents, the numerical range, powers, the Kreiss constant."""
