"""Bounds on spectral radii by repeated squaring, without eigenvalues unless a limit lies between the bounds.

|tr A^m|/n ≤ ρ(A)^m ≤ ‖A^m‖₂, with m = 2^k after k squarings. What rounding does to a power, and what the error of the
matrix does, is bounded beside it: with ‖Δ‖_F ≤ e the square of P + Δ is that of P to 2 ‖P‖₂ e + e², and a computed
product is wrong by γ_n ‖P‖²_F (Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.5).

References
----------
Horn and Johnson, "Matrix Analysis", 2nd edition, sections 5.6 (ρ ≤ ‖A^m‖^{1/m}) and 1.2 (the trace).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Real, frobenius
from dynlab.numerics.eigenvalue_discs import SAFE, UNIT
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.graded_discs import SMALLEST
from dynlab.numerics.threads import in_threads

SQUARINGS = 9  # n^(1/m) is 1.01 for n = 512 then, and a bound is seldom nearer to ρ
WIDTH = 1.05  # an upper bound that is no larger than so many times the lower one is near enough
DROWNED = 0.1  # times ‖P‖: a power with a larger error tells nothing more
ROUNDED = 1e-12  # relative, of a root by logarithms
ARRAYS = 6  # of the size of a block that its squarings hold


class Radii(NamedTuple):
    """Bounds of the spectral radii of k matrices, each of shape (k,); NaN of a matrix that is not finite.

    Attributes
    ----------
    lower, upper : ndarray
        As near to each other as telling the radii from a limit asks for.
    power_lower, power_upper : ndarray
        From powers alone, which no limit changes.
    """

    lower: Real
    upper: Real
    power_lower: Real
    power_upper: Real


def spectral_radii(blocks: Sequence[Real], errors: Sequence[Real], limit: float) -> Radii:
    """Lower and upper bounds of the spectral radii of block triangular matrices, apart from `limit` where possible.

    Parameters
    ----------
    blocks : sequence of ndarray, shape (k, m, m)
        The diagonal blocks of k matrices.
    errors : sequence of ndarray, shape (k, m, m)
        Bounds on what their entries are wrong by.
    limit : float
        Where it lies between the bounds from powers, these are followed by bounds from eigenvalues.

    Returns
    -------
    Radii

    Examples
    --------
    >>> block = np.array([[[0.5, 100.0], [0.0, 0.25]]])
    >>> found = spectral_radii([block], [np.zeros_like(block)], limit=1.0)
    >>> bool(0.4 < found.lower[0] <= 0.5 <= found.upper[0] < 1)
    True
    """
    each = 8 * ARRAYS * max(block.shape[-1] for block in blocks) ** 2

    def work(rows: slice) -> tuple[Real, Real, Real, Real]:
        pairs = [(block[rows], error[rows]) for block, error in zip(blocks, errors, strict=True)]
        found = [
            _radius([block[row] for block, _ in pairs], [error[row] for _, error in pairs], limit)
            for row in range(len(pairs[0][0]))
        ]
        lower, upper, power_lower, power_upper = np.array(found, dtype=np.float64).reshape(-1, 4).T
        return lower, upper, power_lower, power_upper

    return Radii(*in_threads(work, len(blocks[0]), each))


def _radius(blocks: Sequence[Real], errors: Sequence[Real], limit: float) -> tuple[float, float, float, float]:
    if not all(np.isfinite(block).all() for block in blocks):
        return np.nan, np.nan, np.nan, np.nan
    known: list[tuple[float, float]] = []
    for block, error in zip(blocks, errors, strict=True):
        known.append(by_powers(block, error, max((low for low, _ in known), default=0.0)))
    lower, upper = (max(ends) for ends in zip(*known, strict=True))
    by_power = lower, upper
    if lower > limit or upper < limit:
        return *by_power, *by_power
    for number, (block, error) in enumerate(zip(blocks, errors, strict=True)):
        if known[number][1] >= lower:  # one that is below another's lower bound is not the largest
            known[number] = _by_eigenvalues(block, error, *known[number])
    lower, upper = (max(ends) for ends in zip(*known, strict=True))
    return lower, upper, *by_power


def by_powers(matrix: Real, error: Real, below: float = 0.0) -> tuple[float, float]:
    """Lower and upper bound of one spectral radius, which need not be near where the upper one is at most `below`."""
    n = len(matrix)
    gamma = n * UNIT / (1 - n * UNIT)
    exponent = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])
    # a power of 2 changes no digit, unless it makes an entry too small for its digits
    with np.errstate(over="ignore"):
        power, wrong = np.ldexp(matrix, -exponent), SAFE * float(np.ldexp(frobenius(error), -exponent)) + n * SMALLEST
    lower, upper = 0.0, np.inf
    for squaring in range(SQUARINGS + 1):
        entries, length = np.abs(power), float(np.linalg.norm(power))
        norm = SAFE * min(length, float(np.sqrt(entries.sum(axis=0).max() * entries.sum(axis=1).max())))
        trace = abs(float(power.trace())) - SAFE * np.sqrt(n) * (wrong + n * UNIT * length)
        upper = min(upper, _root(norm + wrong, exponent, squaring) * (1 + ROUNDED))
        lower = max(lower, _root(trace / n, exponent, squaring) * (1 - ROUNDED))
        if upper <= max(WIDTH * lower, below) or not wrong < DROWNED * norm or squaring == SQUARINGS:
            break
        down = int(np.frexp(norm)[1])
        wrong = SAFE * (2 * norm * wrong + wrong**2 + gamma * length**2) * 4.0**-down
        power = power * 2.0**-down
        power, exponent = power @ power, 2 * (exponent + down)
    return lower, upper


def _root(size: float, exponent: int, squarings: int) -> float:
    """The root of order 2^squarings of size 2^exponent, 0 where `size` is not positive."""
    if not size > 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.exp2((np.log2(size) + exponent) / 2**squarings))


def _by_eigenvalues(block: Real, error: Real, lower: float, upper: float) -> tuple[float, float]:
    """The same bounds, and those from eigenvalues with their errors where these are sharper."""
    found = eigenvalues(block, error, conditions=False)
    sizes = np.abs(found.values)
    ends = (sizes - found.errors) * (1 - ROUNDED), (sizes + found.errors) * (1 + ROUNDED)
    return float(np.fmax(lower, ends[0].max())), float(np.fmin(upper, ends[1].max()))
