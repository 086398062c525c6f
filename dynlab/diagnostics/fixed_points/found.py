"""What a search for fixed points comes to, and how sure that is."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.places import Place
from dynlab.numerics.arrays import Real

# What else a start comes to.
LOST, OUTSIDE, CLOSED_GATE = "not converged", "outside the state's bounds", "closed gate"
NOT_LOOKED_AT = "not looked at"  # at a singular J − I, once so many others were that a search ends in time
# Where a start is from.
GIVEN, VISITED, RANDOM, DRAWN_FROM = "given", "visited", "random", "points found"

Words = NDArray[np.str_]


@dataclass(frozen=True)
class Confidence:
    """How sure a search is to have found every point.

    Attributes
    ----------
    rounds : int
    complete : bool
        Whether the last round found nothing new.
    starts, new : int
        The random starts of the last round, and how many of them ended at a point that was not known before.
    share : float
        Good and Turing's estimate, from all random starts, of the share that would end at a point not seen by any.
    bound : float
        What the share that would end at a point not listed is below, with 95 % confidence.
    index_sum : int or None
        Of the points found, where it must be 1 (`Places.indices`).
    missing : int
        How many points are missing for sure.
    reach : float
        The largest modulus of a coordinate of the states that random starts are drawn from.
    """

    rounds: int
    complete: bool
    starts: int
    new: int
    share: float
    bound: float
    index_sum: int | None
    missing: int
    reach: float


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes
    ----------
    places : list of Place
    ends : ndarray, shape (start, n)
        Where each start ended.
    assignment : ndarray of int, shape (start,)
        The number of the place that is, −1 for none.
    outcome, origin : ndarray of str, shape (start,)
        What became of each start, and where it is from.
    iterations : ndarray of int, shape (start,)
    confidence : Confidence or None
        None where the starts were given, and where the map is affine: then all is known.
    affine : str
        "affine", "affine wherever it was looked at" of a user's function, "" of other maps.
    residuals : ndarray, shape (start,)
        ‖F(h) − h‖₂ there, in the system's own unit; where only some layers were searched, of these.
    indices : ndarray of int, shape (place,), or None
        Of the places, as `Places.indices`.
    layers : ndarray of int, shape (start,)
        Of which layer's search each start is, from 1; empty where all coordinates were searched at once.
    searches : tuple of int
        How many searches each layer had; empty likewise.
    rounded : bool
        Of an affine map, whether J − 1 is as singular as it is to the rounding of its entries alone.
    """

    places: list[Place]
    ends: Real
    assignment: NDArray[np.int64]
    outcome: Words
    origin: Words
    iterations: NDArray[np.int64]
    confidence: Confidence | None
    affine: str
    residuals: Real
    indices: NDArray[np.int64] | None = None
    layers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    searches: tuple[int, ...] = ()
    rounded: bool = False
