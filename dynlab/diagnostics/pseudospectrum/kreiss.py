"""The Kreiss constant, from below.

References
----------
Kreiss, BIT 2 (1962); Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, chapters 14 and 18. With K =
sup _{|z|>1} (|z| − 1) ‖(zI − A)⁻¹‖ it is K ≤ sup_k ‖A^k‖ ≤ e n K; of a flow, sup Re z ‖(zI − A)⁻¹‖ over Re z > 0.
"""

import numpy as np

from dynlab.diagnostics.pseudospectrum.border import beyond
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Resolvent
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.progress import through

NEAREST, FARTHEST = 1e-6, 10.0  # of the samples from the boundary, in parts of the scale
# How many samples: from the boundary, along half of it (the matrix is real), beside the eigenvalues nearest to it; and
# how many rounds a climb has.
USUAL, OF_LARGE = (25, 41, 64, 22), (13, 21, 16, 8)
REFINED = 4  # of the best samples, each climbed to a local maximum
ACROSS, SMALLER = 3, 0.5  # of a climb: the best of 3 × 3 points is the centre of the next, smaller, window
ROUNDING = 4.0  # times n^{3/2} ε ‖zI − A‖: what a Schur form and its solves leave in σ_min


def kreiss_constant(
    matrix: Real, spectrum: Eigenvalues, resolvent: Resolvent, *, flow: bool, rounding: float
) -> tuple[float, complex]:
    """A lower bound on the constant and its z; inf and an eigenvalue where that is unstable beyond its error."""
    outside = beyond(spectrum.values, flow)
    if (outside > spectrum.errors).any():
        return np.inf, complex(spectrum.values[np.argmax(outside)])
    return kreiss_lower_bound(matrix, spectrum.values, resolvent, flow=flow, rounding=rounding)


def kreiss_lower_bound(
    matrix: Real, eigenvalues: Complex, resolvent: Resolvent, *, flow: bool, rounding: float = 0.0
) -> tuple[float, complex]:
    """The largest (|z| − 1)/σ_min(zI − A), or Re z/σ_min(zI − A), found, and its z. At least 1, the limit at ∞.

    Every value is one of those that the constant is the supremum of, and each is taken at its least. So (|z| − 1) is
    less, and σ_min more by what rounding may have moved it, a few n^{3/2} ε ‖zI − A‖ and `rounding` of A itself.
    """
    size, unit, norm = len(matrix), float(np.finfo(float).eps), float(np.linalg.norm(matrix))
    scale = norm or 1.0

    def value(log_distance: Real, place: Real) -> Real:
        z = _point(log_distance, place, flow)
        smallest = resolvent.smallest(z).value + ROUNDING * size**1.5 * unit * (np.abs(z) + norm) + rounding
        outside = z.real if flow else np.abs(z) - 1 - 2 * unit
        return np.asarray(outside / smallest)

    distances, directions, most_beside, rounds = USUAL if size <= ALL_UP_TO else OF_LARGE
    log_distances = np.log(np.geomspace(NEAREST, FARTHEST, distances) * (scale if flow else 1.0))
    # the boundary is sampled evenly, and beside eigenvalues, where narrow peaks lie
    along = eigenvalues.imag if flow else np.angle(eigenvalues)
    nearest = np.argsort(np.abs(beyond(eigenvalues, flow)))
    beside = [along[i] for i in nearest if along[i] >= 0][:most_beside]
    reach = 1.5 * scale if flow else np.pi
    places = np.unique([*np.linspace(0, reach, directions), *beside])
    centre = np.stack([part.ravel() for part in np.meshgrid(log_distances, places)])
    values = value(*centre)
    best = np.argsort(-values)[:REFINED]
    centre, values = centre[:, best], values[best]
    # a peak beside an eigenvalue is about as wide as it is far from the boundary
    half = np.stack([np.full(len(best), np.diff(log_distances)[0]), np.minimum(np.exp(centre[0]), reach / directions)])
    offsets = np.stack([part.ravel() for part in np.meshgrid(*[np.linspace(-1, 1, ACROSS)] * 2)])
    for _ in through(range(rounds)):
        window = centre[:, :, None] + half[:, :, None] * offsets[:, None]
        found = value(*window.reshape(2, -1)).reshape(len(best), -1)
        highest = found.argmax(axis=1)
        rows = np.arange(len(best))
        better = found[rows, highest] > values
        values = np.where(better, found[rows, highest], values)
        centre = np.where(better, window[:, rows, highest], centre)
        half = half * SMALLER
    top = int(values.argmax())
    where = complex(_point(centre[0], centre[1], flow)[top])
    return (float(values[top]), where) if values[top] > 1 else (1.0, complex(np.inf))


def _point(log_distance: Real, place: Real, flow: bool) -> Complex:
    if flow:
        return np.asarray(np.exp(log_distance) + 1j * place)
    return np.asarray((1 + np.exp(log_distance)) * np.exp(1j * place))
