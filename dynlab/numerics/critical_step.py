"""The largest step size for which no eigenvalue of a flow leaves Euler's disc of stability."""

import numpy as np
from numpy.typing import ArrayLike


def critical_step(eigenvalues: ArrayLike, errors: ArrayLike = 0.0) -> tuple[float, str]:
    """Return ε_c = min_i −2 Re λ_i / |λ_i|²: up to it |1 + ε λ_i| ≤ 1 for all i.

    Parameters
    ----------
    eigenvalues : array_like of complex, shape (mode,)
        Eigenvalues of the flow's Jacobian, in 1/s.
    errors : array_like, shape (mode,) or ()
        A bound on the error of each.

    Returns
    -------
    step : float
        Seconds; 0 where an eigenvalue other than 0 has Re λ ≥ 0, NaN where there is none to say.
    flag : str
        Why the step is NaN, or that an eigenvalue 0 was set aside (|1 + ε 0| = 1 for every ε); empty otherwise.

    References
    ----------
    Chang, Chen, Haber and Chi, AntisymmetricRNN, ICLR 2019, section 3.3.

    Examples
    --------
    >>> step, flag = critical_step([-0.15 + 2j, -0.15 - 2j])
    >>> f"{step:.6f}"
    '0.074580'
    """
    values = np.atleast_1d(np.asarray(eigenvalues, dtype=complex))
    bounds = np.broadcast_to(np.asarray(errors, dtype=float), values.shape)
    zero = (values == 0) & (bounds == 0)
    aside = "an eigenvalue 0 is set aside" if zero.any() else ""
    if zero.all():
        return np.nan, "every eigenvalue is 0, so that no step size is too large"
    values, bounds = values[~zero], bounds[~zero]
    if ((values.real > bounds) | ((values.real >= 0) & (bounds == 0))).any():
        return 0.0, aside
    if not (values.real < -bounds).all():
        return np.nan, "the error of an eigenvalue does not separate its real part from 0"
    sizes = np.abs(values)
    with np.errstate(over="ignore"):  # of an eigenvalue that is all but 0 no step is too large
        return float(np.min(-2 * (values.real / sizes) / sizes)), aside  # their squares may underflow
