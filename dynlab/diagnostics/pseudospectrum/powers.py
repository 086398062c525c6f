"""How ‖A^k‖ and ‖e^{tA}‖ go, in log scale, with the error that repeated multiplication leaves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

from dynlab.numerics.arrays import frobenius
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.singular_values import ALL_UP_TO, RESIDUAL, norm, norm_and_direction
from dynlab.progress import through

NOTHING_KNOWN = 1e100  # of an error whose power has norm 1: more is no less known, and would overflow
HALF = 0.5  # a norm whose relative error may exceed this is not reported
ADVANCE = 0.2  # radians or nats that the fastest mode alive advances by, at most, between two times that are looked at
ALIVE = 40.0  # nats: a mode that has decayed by more is gone
LARGEST_STEP = 1 / 16  # of the duration
AT_REST = 1e-9  # a logarithm of a norm up to this is that of 1
WORK, FEWEST, MOST = 2e9, 200, 5000  # n³ times the number of times that are looked at, and limits of that number
DOUBT = 4.0  # times the difference of two exponentials: a bound on the error of either
FINER = 3  # halvings more than make a matrix's norm 1
REFINED = 1e-6  # of the bracket: the time of the largest norm


@dataclass(frozen=True)
class Powers:
    """Norms of powers.

    Attributes
    ----------
    log_norm : ndarray, shape (power,)
        ln ‖A^k‖₂ for k = 0, 1, …; −inf where the power is exactly zero, NaN where rounding drowns it.
    error : ndarray, shape (power,)
        A bound of first order on the absolute error of `log_norm`.
    bound : ndarray, shape (power,)
        What ln ‖A^k‖₂ is at most, where rounding drowns it too; inf where not even that is known.
    """

    log_norm: NDArray[np.float64]
    error: NDArray[np.float64]
    bound: NDArray[np.float64]


def power_norms(
    matrix: NDArray[np.float64],
    powers: int,
    wrong: NDArray[np.float64] | float = 0.0,
    *,
    blocks: Sequence[int] = (),
) -> Powers:
    """The logarithms of ‖A^k‖₂ for k = 0 … `powers`, where each entry of A has an error of `wrong` at most.

    Of a lower block triangular matrix `blocks` are the sizes of its diagonal blocks.

    Notes
    -----
    With a relative error of n ε in each product, the k-th power is wrong by at most u Σ_j ‖A^{k−j}‖ ‖A‖ ‖A^{j−1}‖, with
    u = n ε + ‖W‖/‖A‖ and W = `wrong`, and n² times the smallest number that there is where entries underflow, which the
    powers after it enlarge. Entry by entry it is wrong by at most E_k = E_{k−1} (abs(A) + W) + abs(A^{k−1})
    (n ε abs(A) + W), which says more of matrices whose entries differ in size. The smaller of both counts, and of a
    large matrix the first alone. Sizes are taken off as powers of 2, which rounds nothing.
    """
    rounded = len(matrix) * np.finfo(float).eps
    wrong = np.asarray(np.minimum(np.broadcast_to(wrong, matrix.shape), NOTHING_KNOWN))
    log_norm, entrywise, bound = np.full(powers + 1, -np.inf), np.zeros(powers + 1), np.full(powers + 1, np.inf)
    log_norm[0], least = 0.0, np.finfo(float).smallest_subnormal
    smallest, sure = _smallest(matrix), not np.any(wrong)
    underflow = np.full(powers + 1, -np.inf)  # the logarithm of the norm of what each product has lost by it
    product, exponent, sizes = np.eye(len(matrix)), 0, np.abs(matrix)
    small, direction = len(matrix) <= ALL_UP_TO, None
    errors = np.zeros_like(product) if small else np.full((1, 1), np.inf)
    for k in through(range(1, powers + 1)):
        below = len(matrix) * least if _smallest(product) * smallest < np.finfo(float).tiny else 0.0  # of each entry
        if small:
            errors = np.minimum(errors, NOTHING_KNOWN) @ (sizes + wrong) + np.abs(product) @ (rounded * sizes + wrong)
            errors += below
        product = _times(product, matrix, parts_of(blocks or (len(matrix),)))
        size, direction = norm_and_direction(product, direction)
        sure, lost = sure and below == 0, frobenius(errors)
        with np.errstate(divide="ignore"):
            underflow[k] = exponent * np.log(2) + np.log(len(matrix) * below)
            bound[k] = exponent * np.log(2) + np.log(size + lost)
        if size == 0:
            entrywise[k:] = 0.0 if (lost == 0 if small else sure) else np.inf  # it is zero exactly, or not known to be
            break
        with np.errstate(over="ignore"):  # of a huge error
            log_norm[k], entrywise[k] = exponent * np.log(2) + np.log(size), lost / size
        taken = int(np.frexp(size)[1])
        product, errors, exponent = np.ldexp(product, -taken), np.ldexp(errors, -taken), exponent + taken
    error = np.where(np.isposinf(entrywise), np.inf, 0.0)
    unit = rounded + frobenius(wrong) / max(float(np.exp(log_norm[1])), np.finfo(float).tiny)
    for k in through(np.nonzero(np.isfinite(log_norm))[0][1:].tolist()):
        parts = log_norm[1] + log_norm[:k] + log_norm[k - 1 :: -1] - log_norm[k]
        losses = underflow[1 : k + 1] + log_norm[k - 1 :: -1] - log_norm[k]
        with np.errstate(over="ignore"):
            lost = unit * np.exp(np.logaddexp.reduce(parts)) + np.exp(np.logaddexp.reduce(losses))
        lost = min(lost, entrywise[k])
        error[k] = lost + unit + (0 if small else RESIDUAL) + 2 * np.finfo(float).eps * abs(log_norm[k])
    with np.errstate(invalid="ignore"):  # of a power that is computed as 0 and is not known to be
        bound = np.fmin(bound, log_norm + error)
    return Powers(np.where(error > HALF, np.nan, log_norm), error, bound)


def _smallest(matrix: NDArray[np.float64]) -> float:
    """The smallest modulus of the entries that are not 0."""
    return float(np.abs(matrix[matrix != 0]).min(initial=1.0))


def _times(product: NDArray[np.float64], matrix: NDArray[np.float64], parts: Sequence[slice]) -> NDArray[np.float64]:
    """The product of two lower block triangular matrices."""
    found = np.zeros_like(product)
    for number, part in enumerate(parts):
        for row in parts[number:]:
            between = slice(part.start, row.stop)
            found[row, part] = product[row, between] @ matrix[between, part]
    return found


def largest_exponential(
    matrix: NDArray[np.float64], eigenvalues: NDArray[np.complex128], duration: float
) -> tuple[float, float]:
    """The logarithm of the largest ‖e^{tA}‖₂ that is met for 0 ≤ t ≤ `duration`, and its time.

    Notes
    -----
    The times are so dense that every mode that is still there is resolved, its rotation too, and the largest norm is
    refined between its neighbours. Where the norm is back at 1 the search ends: ‖e^{(s+t)A}‖ ≤ ‖e^{sA}‖ ‖e^{tA}‖.
    """
    unit = 2.0 ** -float(np.frexp(duration)[1])  # of time: the numbers are the same whatever it is
    matrix, eigenvalues, duration = matrix / unit, eigenvalues / unit, duration * unit
    rates, sizes = np.abs(eigenvalues.real), np.abs(eigenvalues)
    product, time, scale = np.eye(len(matrix)), 0.0, 0.0
    best, start, reach = 0.0, (product, time, scale), 0.0
    exponentials: dict[float, NDArray[np.float64]] = {}
    for _ in range(int(np.clip(WORK / len(matrix) ** 3, FEWEST, MOST))):
        fastest = sizes[rates * time <= ALIVE].max(initial=0.0)
        step = min(ADVANCE / max(fastest, np.finfo(float).tiny), LARGEST_STEP * duration)
        step = float(2.0 ** np.floor(np.log2(step)))
        if time + step > duration:
            break
        if step not in exponentials:
            exponentials[step] = expm(step * matrix)
        before = product, time, scale
        product, time = product @ exponentials[step], time + step
        size = float(np.linalg.norm(product))
        if not 0 < size < np.inf:
            break
        product, scale = product / size, scale + np.log(size)
        # the Frobenius norm, which is no smaller, tells most times that they are not the largest
        log_norm = scale + np.log(norm(product)) if scale > best else min(scale, best)
        if log_norm > best:
            best, start = log_norm, before
            reach = 0.0
        elif reach == 0.0:
            reach = time
        if log_norm <= AT_REST:
            break
    log_norm, when = _refined(matrix, start, min(reach or time, duration))
    return log_norm, when / unit


def _refined(
    matrix: NDArray[np.float64], start: tuple[NDArray[np.float64], float, float], end: float
) -> tuple[float, float]:
    """The largest logarithm of a norm between two times, at the first of which e^{tA} is known, and when."""
    product, time, scale = start

    def negative(later: float) -> float:
        size = norm(product @ expm(later * matrix))
        return -scale - np.log(size) if 0 < size < np.inf else np.inf

    found = minimize_scalar(negative, bounds=(0.0, end - time), method="bounded", options={"xatol": REFINED * end})
    return max((-float(found.fun), time + float(found.x)), (0.0, 0.0))


def exponential_norms(
    matrix: NDArray[np.float64], duration: float, powers: int, wrong: NDArray[np.float64] | float = 0.0
) -> Powers:
    """The logarithms of ‖e^{tA}‖₂ at `powers` + 1 times from 0 to `duration`, as powers of one exponential.

    What rounding left in that one is seen, entry by entry, in the cube of that of a third of the time and in a short
    time's squared again and again, whose roundings are others; what `wrong` of the entries of A does in that of
    A + `wrong`.
    """
    step, moved = duration / powers * matrix, duration / powers * wrong
    shift = float(np.linalg.eigvals(step).real.max())  # the exponential of what grows fast overflows
    step = step - shift * np.eye(len(step))
    with np.errstate(all="ignore"):
        exponential, third = expm(step), expm(step / 3)
        others = np.stack([third @ third @ third, _squared(step)])
        rounded = np.abs(exponential - others).max(axis=0)
        rounded = np.maximum(rounded, rounded.max() / np.abs(exponential).max() * np.abs(exponential))
        seen = DOUBT * (rounded + np.abs(exponential - expm(step + moved)))
    if not np.isfinite(seen).all():
        exponential, seen = np.eye(len(step)), np.full_like(step, np.inf)
    found = power_norms(exponential, powers, seen)
    shifts = shift * np.arange(powers + 1)
    return Powers(found.log_norm + shifts, found.error, found.bound + shifts)


def _squared(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """e^A from that of so small a part of A that all its entries are known to their last digits."""
    halvings = max(0, int(np.frexp(np.abs(matrix).sum(axis=0).max())[1]) + FINER)
    exponential = expm(np.ldexp(matrix, -halvings))
    for _ in range(halvings):
        exponential = exponential @ exponential
    return np.asarray(exponential)
