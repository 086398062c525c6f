"""Norms of A^k and e^{tA} in log scale, with the error that repeated multiplication leaves."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

from dynlab.diagnostics.pseudospectrum.plane import is_stable
from dynlab.numerics.arrays import Real, frobenius
from dynlab.numerics.eigenvalues import Eigenvalues, approximate_eigenvalues
from dynlab.numerics.singular_values import ALL_UP_TO, norm
from dynlab.progress import through

EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
HALF = 0.5  # a norm whose relative error may exceed this is not reported
SMALL_NORM = 1e-9  # relative, of the norm of a large matrix: what Lanczos's iteration leaves of it
DOUBT = 4.0  # times the difference of two exponentials: a bound on the error of either
EARLIEST = 0.1  # times 1/‖A‖: the first time after 0 at which the largest exponential is looked for
REFINED = 1e-6  # of the bracket: the time of the largest norm
LONGER = 4  # times that a flow is followed longer, until what decays is below 1
DECAY = 8.0  # a flow is followed for so many of its slowest time constants
# Of the fastest |λ|, or of ‖A‖ where errors hide the slowest: a slower mode does not lengthen the time.
SLOWEST = 1e-3


class Powers(NamedTuple):
    """Norms of powers of A, or of e^{tA}.

    Attributes
    ----------
    times : ndarray, shape (power,)
        Times in steps of a map, in seconds of a flow.
    log_norm : ndarray, shape (power,)
        Their logarithms; −inf where a power is exactly zero, NaN where rounding drowns it.
    error : ndarray, shape (power,)
        A bound of first order on the absolute error of `log_norm`.
    bound : ndarray, shape (power,)
        Upper bound on the logarithm, where rounding drowns it too; inf where not even that is known.
    """

    times: NDArray[Any]
    log_norm: Real
    error: Real
    bound: Real


@np.errstate(all="ignore")
def power_norms(matrix: Real, powers: int, wrong: Real | float = 0.0) -> Powers:
    """Return ln ‖A^k‖₂ for k = 0 … `powers`, where each entry of A has an error of `wrong` at most.

    Notes
    -----
    With a relative error of n ε in each product, the k-th power is wrong by at most u Σ_j ‖A^{k−j}‖ ‖A‖ ‖A^{j−1}‖, with
    u = n ε + ‖W‖/‖A‖ and W = `wrong`. Entry by entry it is wrong by at most E_k = E_{k−1} (abs(A) + W) + abs(A^{k−1})
    (n ε abs(A) + W), which says more of matrices whose entries differ in size, and is left out for large ones. Sizes
    are taken off as powers of 2, which rounds nothing.
    """
    wrong = np.broadcast_to(np.asarray(wrong, dtype=float), matrix.shape)
    log_norm, error = np.full(powers + 1, -np.inf), np.zeros(powers + 1)
    log_norm[0], product, exponent = 0.0, np.eye(len(matrix)), 0
    rounded, sizes, small = len(matrix) * EPS, np.abs(matrix), len(matrix) <= ALL_UP_TO
    unit, entries = rounded + frobenius(wrong) / max(norm(matrix), TINY), np.zeros_like(product)
    for k in through(range(1, powers + 1)):
        if small:
            entries = entries @ (sizes + wrong) + np.abs(product) @ (rounded * sizes + wrong)
        product = product @ matrix
        size = norm(product)
        if size == 0:
            error[k:] = 0.0 if small and not entries.any() else np.inf
            break
        log_norm[k] = exponent * np.log(2) + np.log(size)
        lost = unit * np.exp(np.logaddexp.reduce(log_norm[1] + log_norm[:k] + log_norm[k - 1 :: -1] - log_norm[k]))
        lost = np.fmin(lost, frobenius(entries) / size) if small else lost + SMALL_NORM
        error[k] = lost + rounded + 2 * EPS * abs(log_norm[k])
        taken = int(np.frexp(size)[1])
        product, entries, exponent = np.ldexp(product, -taken), np.ldexp(entries, -taken), exponent + taken
    bound = np.where(np.isinf(error), np.inf, log_norm + error)
    return Powers(np.arange(powers + 1), np.where(error > HALF, np.nan, log_norm), error, bound)


@np.errstate(all="ignore")
def exponential_norms(matrix: Real, duration: float, powers: int, wrong: Real | float = 0.0) -> Powers:
    """Return ln ‖e^{tA}‖₂ at `powers` + 1 times from 0 to `duration`, as powers of one exponential.

    The error of that one is taken from the square of the exponential of half the time, whose roundings are others, and
    from the exponential of A + `wrong`.
    """
    step, moved = duration / powers * matrix, duration / powers * wrong
    shift = float(approximate_eigenvalues(step).real.max())  # the exponential of what grows fast overflows
    step = step - shift * np.eye(len(step))
    exponential, half = expm(step), expm(step / 2)
    rounded = np.abs(exponential - half @ half)
    rounded += (rounded.max() / np.abs(exponential).max() + len(step) * EPS) * np.abs(exponential)
    seen = DOUBT * (rounded + np.abs(exponential - expm(step + moved)))
    if not np.isfinite(seen).all():
        exponential, seen = np.eye(len(step)), np.full_like(step, np.inf)
    found, shifts = power_norms(exponential, powers, seen), shift * np.arange(powers + 1)
    error = found.error + 4 * EPS * (np.abs(shifts) + np.abs(np.nan_to_num(found.log_norm, neginf=0.0)))
    return Powers(np.linspace(0, duration, powers + 1), found.log_norm + shifts, error, found.bound + shifts)


def norms_of_map(matrix: Real, wrong: Real, steps: int) -> tuple[Powers, float, float]:
    """Return the norms up to the last power, the largest ln ‖A^k‖₂ and its k."""
    powers = power_norms(matrix, steps, wrong)
    known = np.nan_to_num(powers.log_norm, nan=-np.inf)
    return powers, float(known.max()), float(known.argmax())


def norms_of_flow(
    matrix: Real, wrong: Real, spectrum: Eigenvalues, seconds: float | None, steps: int
) -> tuple[Powers, float, float]:
    """Return the norms at `steps` times up to `seconds` (None: until what decays is below 1), the largest, its time."""
    followed = seconds or _time_to_decay(spectrum, matrix)
    powers = exponential_norms(matrix, followed, steps, wrong)
    for _ in range(LONGER if seconds is None and is_stable(spectrum, True) else 0):
        if not powers.log_norm[-1] > 0:
            break
        followed *= 1 + (powers.log_norm[-1] + 1) / DECAY
        powers = exponential_norms(matrix, followed, steps, wrong)
    return powers, *_largest(matrix, powers)


def _time_to_decay(spectrum: Eigenvalues, matrix: Real) -> float:
    """Return some time constants of the slowest mode; where errors hide its rate, of one slower than the matrix."""
    slowest = float(np.abs(spectrum.values.real).min())
    fastest = float(np.abs(spectrum.values).max()) if slowest > spectrum.errors.max() else norm(matrix)
    return DECAY / (max(slowest, SLOWEST * fastest) or 1.0)


@np.errstate(all="ignore")
def _largest(matrix: Real, powers: Powers) -> tuple[float, float]:
    """Return the largest ln ‖e^{tA}‖₂ that is met up to the last time of `powers`, and its time.

    It is looked for at the times of `powers`, and at the last one halved again and again, which catches fast transients
    of a flow that is followed for long. The largest is refined between its neighbours, but for large matrices.
    """
    duration = float(powers.times[-1])
    halved = duration * 2.0 ** -np.arange(max(0.0, np.ceil(np.log2(duration * norm(matrix) / EARLIEST))), -1.0, -1)
    product, squares = expm(halved[0] * matrix), np.zeros(len(halved))
    for number in range(len(halved)):
        squares[number], product = _log_norm(product), product @ product
    times, first = np.unique(np.append(powers.times, halved), return_index=True)
    logs = np.append(np.nan_to_num(powers.log_norm, nan=-np.inf), squares)[first]
    top = int(logs.argmax())
    if len(matrix) > ALL_UP_TO or top in (0, len(times) - 1):
        return float(logs[top]), float(times[top])
    found = minimize_scalar(
        lambda time: -_log_norm(expm(time * matrix)),
        bounds=(times[top - 1], times[top + 1]),
        method="bounded",
        options={"xatol": REFINED * times[top + 1]},
    )
    return max((float(logs[top]), float(times[top])), (-float(found.fun), float(found.x)))


def _log_norm(matrix: Real) -> float:
    """Return ln ‖A‖₂, −inf where it is no number."""
    size = norm(matrix) if np.isfinite(matrix).all() else np.inf
    return float(np.log(size)) if 0 < size < np.inf else -np.inf
