"""The border of stability: of a map the unit circle, of a flow the imaginary axis."""

import numpy as np

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import Eigenvalues


def beyond(values: Complex, flow: bool) -> Real:
    """How far outside of the border eigenvalues lie, negative inside: |μ| − 1 of a map, Re λ of a flow."""
    return np.asarray(values.real if flow else np.abs(values) - 1)


def is_stable(spectrum: Eigenvalues, flow: bool) -> bool:
    """Whether all eigenvalues lie inside beyond their errors."""
    return bool((beyond(spectrum.values, flow) < -spectrum.errors).all())
