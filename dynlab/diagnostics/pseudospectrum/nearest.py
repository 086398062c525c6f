"""Where pseudospectra first reach the border of stability: how small a change of A makes it unstable.

References
----------
Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, section 49. The least σ_min(zI − A) over |z| = 1, of
a flow over Re z = 0, is the least ‖E‖₂ of a complex E after which a stable A + E is not stable.
"""

from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.pseudospectrum.border import beyond, is_stable
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Resolvent

DIRECTIONS = 91  # samples of half the border: the matrix is real
BESIDE = 64  # eigenvalues, those nearest to the border, beside which it is sampled too
REFINED = 4  # of the best samples, each followed to a local minimum
ROUNDS, FINER = 8, 8  # of it, each so many times as fine: to 1e-7 of the distance between samples
STEPS = np.delete(np.linspace(-1, 1, 2 * FINER + 1), FINER)  # to both sides, in parts of the distance of a round
REACHED = FINER / (FINER - 1)  # all rounds together lead no farther than so many times the distance of the first
REAL = 1e-7  # of the border: a place as near to the real axis is on it
REACH = 1.5  # of a flow: how far the imaginary axis is sampled, in parts of the largest |λ|


class Touched(NamedTuple):
    """A place of the border that a pseudospectrum reaches; NaN of an A that is not stable, or not known to be.

    Attributes
    ----------
    distance : float
        ε, the least σ_min(zI − A) on the border.
    point : complex
        Its z, of the two that are conjugate the upper one.
    """

    distance: float
    point: complex


def first_touched(resolvent: Resolvent, spectrum: Eigenvalues, *, flow: bool) -> Touched:
    """Where the pseudospectra of a stable A first reach the border of stability."""
    if not is_stable(spectrum, flow):
        return Touched(np.nan, complex(np.nan, np.nan))
    eigenvalues = spectrum.values
    along = np.abs(eigenvalues.imag if flow else np.angle(eigenvalues))
    order = np.argsort(np.abs(beyond(eigenvalues, flow)))
    end = REACH * (float(np.abs(eigenvalues).max()) or 1.0) if flow else np.pi
    places = np.unique([*np.linspace(0, end, DIRECTIONS), *along[order[:BESIDE]]])
    sizes = resolvent.smallest(_border(places, flow)).value
    best = np.argsort(sizes)[:REFINED]
    centre, lowest, half = places[best], sizes[best], end / DIRECTIONS
    for _ in range(ROUNDS):
        # σ_min is no farther from another z's than that z: beyond reach of the lowest one nothing is looked for
        within = lowest - REACHED * half <= lowest.min()
        centre, lowest = centre[within], lowest[within]
        tried = np.clip(centre[:, None] + half * STEPS, 0, end)
        found = resolvent.smallest(_border(tried.ravel(), flow)).value.reshape(tried.shape)
        rows, column = np.arange(len(centre)), found.argmin(axis=1)
        better = found[rows, column] < lowest
        centre = np.where(better, tried[rows, column], centre)
        lowest = np.where(better, found[rows, column], lowest)
        half /= FINER
    least = int(lowest.argmin())
    place = float(centre[least])
    place = 0.0 if place < REAL * end else end if not flow and end - place < REAL * end else place
    return Touched(float(lowest[least]), complex(_border(np.array([place]), flow)[0]))


def _border(places: Real, flow: bool) -> Complex:
    """Of a map e^(iφ), where π is exactly −1; of a flow iy."""
    if flow:
        return np.asarray(1j * places)
    return np.asarray(np.where(places == np.pi, -1.0, np.exp(1j * places)))
