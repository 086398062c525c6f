"""What orbits may end on, and what is known of it."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab.diagnostics.basins.cycles import Cycle
from dynlab.diagnostics.basins.families import FAMILY
from dynlab.numerics.arrays import Real

CONTINUUM = "continuum"
WORDS = {1: "stable", 0: "unstable", -1: "undecided"}


@dataclass(frozen=True)
class Attractor:
    """Where orbits end.

    Attributes
    ----------
    kind : str
        A fixed point's, "stable period-4 orbit", or what `motion` or `family` says.
    period : int
        1 for a fixed point, 0 for what does not repeat.
    state : ndarray, shape (state,)
        The point, or one of many.
    points : ndarray, shape (point, state)
        The cycle, or an orbit on it.
    stable : int
        1, 0, −1 undecided.
    residual : float
        ‖F^p(h) − h‖₂, NaN for what does not repeat.
    exponent, exponent_error : float
        The largest Lyapunov exponent in nat/step.
    """

    kind: str
    period: int
    state: Real
    points: Real
    stable: int
    residual: float
    exponent: float
    exponent_error: float

    @property
    def is_family(self) -> bool:
        """Whether it is a continuum of points, or a family of orbits, of which each start has its own."""
        return self.kind.startswith((CONTINUUM, FAMILY))

    @property
    def has_basin(self) -> bool:
        """Whether it is told to attract what is near: only then its starts count in the basin entropy."""
        return self.stable == 1 and not self.is_family


def of_point(roots: xr.Dataset, root: int, unit: ArrayLike) -> Attractor:
    """The attractor that is a fixed point, by its number in the Dataset of `dynlab.fixed_points`, in that unit."""
    kind, stable = str(roots["kind"].values[root]), int(roots["stable"].values[root])
    if roots["status"].values[root] == CONTINUUM:
        kind = f"{CONTINUUM} ({kind})"
    elif kind.startswith("undecided") and stable >= 0:
        kind = f"{WORDS[stable]} fixed point"  # a node or a focus it may be
    state = roots["fixed_point_state"].values[root] / np.asarray(unit)
    modulus = float(np.abs(roots["eigenvalue"].values[root]).max())
    rate = _rate(modulus, float(roots["eigenvalue_error"].values[root].max()), 1)
    return Attractor(kind, 1, state, state[None], stable, float(roots["residual"].values[root]), *rate)


def of_cycle(cycle: Cycle) -> Attractor:
    """The attractor that is a cycle."""
    period = len(cycle.points)
    kind = f"{WORDS[cycle.stable]} period-{period} orbit"
    rate = _rate(cycle.modulus, cycle.error, period)
    return Attractor(kind, period, cycle.points[0], cycle.points, cycle.stable, cycle.residual, *rate)


def _rate(modulus: float, error: float, period: int) -> tuple[float, float]:
    """The exponent of a leading multiplier, and its error: inf where the multiplier is not told from 0."""
    if not error < modulus:
        return (float(np.log(modulus)) / period if modulus else np.nan, np.inf) if error else (-np.inf, 0.0)
    return float(np.log(modulus)) / period, -float(np.log1p(-error / modulus)) / period
