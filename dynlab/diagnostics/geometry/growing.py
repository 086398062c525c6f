"""The directions in which orbits leave a fixed point, as they look in a projection."""

import numpy as np
import xarray as xr

from dynlab.diagnostics.fixed_points.at_points import jacobians_at
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvectors import eigenmodes, real_axes
from dynlab.systems.held import Held


def growing_directions(held: Held, found: xr.Dataset, directions: Real) -> Real:
    """Of every mode that certainly grows, projected: shape (fixed_point, mode, axis); NaN for all others.

    A real eigenvalue has its unit eigenvector; a complex pair has the semi-axes of the ellipse that its plane's linear
    map turns through, the longer one of length 1 and first. NaN too where the eigenvector is not told from another.

    Parameters
    ----------
    held : Held
    found : Dataset
        Of `dynlab.fixed_points`.
    directions : ndarray, shape (axis, state)
    """
    values, errors = found["eigenvalue"].values, found["eigenvalue_error"].values
    projected = np.full((*values.shape, len(directions)), np.nan)
    for point, matrix in enumerate(jacobians_at(held, found)):
        growing = np.abs(values[point]) - 1 > errors[point]
        if not growing.any():
            continue
        modes = eigenmodes(matrix, errors[point])
        for index in np.flatnonzero(growing & modes.resolved & (values[point].imag >= 0)):
            pair = values[point, index].imag > 0
            axes = real_axes(modes.right[index]) @ directions.T
            projected[point, index : index + 1 + int(pair)] = axes[: 1 + int(pair)]
    return projected
