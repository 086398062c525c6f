"""Norms of powers of a map's Jacobian, or of a flow's exponential until its slowest mode has decayed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.pseudospectrum.border import is_stable
from dynlab.diagnostics.pseudospectrum.powers import Powers, exponential_norms, largest_exponential, power_norms
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.singular_values import norm

LONGER = 4  # times that one is followed longer
DECAY = 8.0  # a flow is followed for so many of its slowest time constants
# Of the fastest |λ|, or of ‖A‖ where errors hide the slowest: a slower mode does not lengthen the time.
SLOWEST = 1e-3


class Followed(NamedTuple):
    """Norms over time.

    Attributes
    ----------
    times : ndarray, shape (power,)
        In steps of a map, in seconds of a flow.
    powers : Powers
    largest : float
        The largest logarithm of a norm of a flow that is met between the times too; 0 where none is looked for.
    when : float
        Its time.
    """

    times: NDArray[Any]
    powers: Powers
    largest: float = 0.0
    when: float = 0.0


def map_followed(matrix: Real, wrong: Real, steps: int, blocks: Sequence[int]) -> Followed:
    """The norms of all powers up to `steps`, where each entry of A has an error of `wrong` at most."""
    return Followed(np.arange(steps + 1), power_norms(matrix, steps, wrong, blocks=blocks))


def flow_followed(matrix: Real, wrong: Real, spectrum: Eigenvalues, seconds: float | None, steps: int) -> Followed:
    """The norms at `steps` times up to `seconds`, or for as long as tells; and the largest one between them."""
    followed, powers = _until_decayed(spectrum, matrix, wrong, seconds, steps)
    told = np.isfinite(powers.log_norm[1:]).any()
    between = largest_exponential(matrix, spectrum.values, followed) if told else (0.0, 0.0)
    return Followed(np.linspace(0, followed, steps + 1), powers, *between)


def _until_decayed(
    spectrum: Eigenvalues, matrix: Real, wrong: Real, given: float | None, steps: int
) -> tuple[float, Powers]:
    """How long a flow is followed, and its norms: unless it is `given`, until what decays is below 1."""
    followed = _seconds(spectrum, matrix) if given is None else given
    powers = exponential_norms(matrix, followed, steps, wrong)
    for _ in range(LONGER if given is None and is_stable(spectrum, True) else 0):
        if not powers.log_norm[-1] > 0:
            break
        followed *= 1 + (powers.log_norm[-1] + 1) / DECAY
        powers = exponential_norms(matrix, followed, steps, wrong)
    return followed, powers


def _seconds(spectrum: Eigenvalues, matrix: Real) -> float:
    """Long enough for the slowest mode; where errors hide its rate, for what is not far slower than the matrix."""
    slowest = float(np.abs(spectrum.values.real).min())
    known = slowest > spectrum.errors.max()
    fastest = float(np.abs(spectrum.values).max()) if known else norm(matrix)
    return DECAY / (max(slowest, SLOWEST * fastest) or 1.0)
