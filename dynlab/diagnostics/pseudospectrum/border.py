"""The border of stability, how near pseudospectra come to it, and the Kreiss constant from beyond it.

The border is the unit circle for a map and the imaginary axis for a flow.

References
----------
Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, chapters 14, 18 and 49. The least σ_min(zI − A) on
the border is the least ‖E‖₂ of a complex E after which a stable A + E is not stable. With K = sup_{|z|>1} (|z| − 1)
‖(zI − A)⁻¹‖ it is K ≤ sup_k ‖A^k‖ ≤ e n K; for a flow, K = sup Re z ‖(zI − A)⁻¹‖ over Re z > 0.
"""

from collections.abc import Callable

import numpy as np

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Resolvent
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.progress import through

BESIDE = 64  # eigenvalues, those nearest to the border, beside which it is sampled too
DIRECTIONS, DISTANCES = 91, 25  # samples along half the border (the matrix is real), and away from it
NEAREST, FARTHEST = 1e-6, 10.0  # distances of the samples from the border, in parts of the scale
REFINED = 4  # of the best samples, each followed to a local optimum
ACROSS = 7  # points of a window in each direction; the best is the centre of the next window, a third as wide
ROUNDS, OF_LARGE = 16, 8  # windows, and those of more than `ALL_UP_TO` states
REAL = 1e-7  # of the border: a place as near to the real axis is on it
REACH = 1.5  # of a flow: how far the imaginary axis is sampled, in parts of the largest |λ| or of ‖A‖
ROUNDING = 4.0  # times n^{3/2} ε ‖zI − A‖: what a Schur form and its solves leave in σ_min


def beyond(values: Complex, flow: bool) -> Real:
    """Return how far outside of the border eigenvalues lie, negative inside: |μ| − 1 of a map, Re λ of a flow."""
    return np.asarray(values.real if flow else np.abs(values) - 1)


def is_stable(spectrum: Eigenvalues, flow: bool) -> bool:
    """Return whether all eigenvalues lie inside beyond their errors."""
    return bool((beyond(spectrum.values, flow) < -spectrum.errors).all())


def instability(resolvent: Resolvent, spectrum: Eigenvalues, *, flow: bool) -> tuple[float, complex]:
    """Return the least σ_min(zI − A) on the border and its z, the upper of two conjugates; NaN unless A is stable."""
    if not is_stable(spectrum, flow):
        return np.nan, complex(np.nan, np.nan)
    end = REACH * (float(np.abs(spectrum.values).max()) or 1.0) if flow else np.pi

    def depth(places: Real) -> Real:
        return -resolvent.smallest(_point(np.clip(places, 0, end), 0.0, flow)).value

    places = _places(spectrum.values, end, flow)[None]
    values, centre = _climbed(lambda at: depth(at[0]), places, np.full((1, 1), end / DIRECTIONS), _rounds(spectrum))
    place = float(np.clip(centre[0, 0], 0, end))
    place = 0.0 if place < REAL * end else end if not flow and end - place < REAL * end else place
    return -float(values[0]), complex(_point(np.array([place]), 0.0, flow)[0])


def kreiss_constant(
    matrix: Real, spectrum: Eigenvalues, resolvent: Resolvent, *, flow: bool, rounding: float = 0.0
) -> tuple[float, complex]:
    """Return a lower bound on the constant and its z; inf and an eigenvalue where that is unstable beyond its error.

    Each quotient is taken at its least: σ_min is larger by what rounding may have moved it, a few n^{3/2} ε ‖zI − A‖,
    and by `rounding` of A itself. The bound is at least 1, the limit at ∞.
    """
    outside = beyond(spectrum.values, flow)
    if (outside > spectrum.errors).any():
        return np.inf, complex(spectrum.values[np.argmax(outside)])
    n, unit, norm = len(matrix), float(np.finfo(float).eps), float(np.linalg.norm(matrix))
    scale = (norm or 1.0) if flow else 1.0

    def quotient(at: Real) -> Real:
        z = _point(at[1], np.exp(at[0]), flow)
        smallest = resolvent.smallest(z).value + ROUNDING * n**1.5 * unit * (np.abs(z) + norm) + rounding
        return np.asarray((beyond(z, flow) - 2 * unit) / smallest)

    logs = np.log(np.geomspace(NEAREST, FARTHEST, DISTANCES) * scale)
    places = _places(spectrum.values, REACH * scale if flow else np.pi, flow)
    samples = np.stack([part.ravel() for part in np.meshgrid(logs, places)])
    spacing = np.array([[logs[1] - logs[0]], [places.max() / DIRECTIONS]])
    values, centre = _climbed(quotient, samples, spacing, _rounds(spectrum))
    where = complex(_point(centre[1, :1], np.exp(centre[0, :1]), flow)[0])
    return (float(values[0]), where) if values[0] > 1 else (1.0, complex(np.inf))


def _rounds(spectrum: Eigenvalues) -> int:
    return ROUNDS if len(spectrum.values) <= ALL_UP_TO else OF_LARGE


def _places(eigenvalues: Complex, end: float, flow: bool) -> Real:
    """Return places along half the border: evenly spaced, and beside the eigenvalues nearest to it."""
    along = np.abs(eigenvalues.imag if flow else np.angle(eigenvalues))
    nearest = np.argsort(np.abs(beyond(eigenvalues, flow)))[:BESIDE]
    return np.unique([*np.linspace(0, end, DIRECTIONS), *along[nearest]])


def _point(place: Real, distance: Real | float, flow: bool) -> Complex:
    """Return z at a distance beyond a place of the border: iy for a flow, e^(iφ) for a map, where π is exactly −1."""
    if flow:
        return np.asarray(distance + 1j * place)
    return np.asarray((1 + distance) * np.where(place == np.pi, -1.0, np.exp(1j * place)))


def _climbed(value: Callable[[Real], Real], samples: Real, spacing: Real, rounds: int) -> tuple[Real, Real]:
    """Follow the best of the samples (dimension, k) to local maxima of `value`, by windows that shrink.

    Returns
    -------
    values, centre : ndarray, shape (few,) and (dimension, few)
        The largest first.
    """
    known = value(samples)
    best = np.argsort(-known)[:REFINED]
    centre, half, rows = samples[:, best], spacing, np.arange(len(best))
    offsets = np.stack([part.ravel() for part in np.meshgrid(*[np.linspace(-1, 1, ACROSS)] * len(samples))])
    for _ in through(range(rounds)):
        tried = centre[:, :, None] + half[:, :, None] * offsets[:, None]
        found = value(tried.reshape(len(samples), -1)).reshape(len(best), -1)
        place = found.argmax(axis=1)
        centre, known, half = tried[:, rows, place], found[rows, place], half / (ACROSS // 2)
    first = np.argsort(-known)
    return known[first], centre[:, first]
