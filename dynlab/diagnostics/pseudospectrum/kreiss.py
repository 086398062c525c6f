"""The Kreiss constant, from below.

References
----------
Kreiss, BIT 2 (1962); Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, chapters 14 and 18: with
K = sup_{|z|>1} (|z| − 1) ‖(zI − A)⁻¹‖ it is K ≤ sup_k ‖A^k‖ ≤ e n K; of a flow, sup Re z ‖(zI − A)⁻¹‖ over Re z > 0.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svdvals
from scipy.optimize import minimize

from dynlab.numerics.resolvent import smallest_singular_values

NEAREST, FARTHEST, DISTANCES = 1e-6, 10.0, 25  # of the samples from the boundary, in parts of the scale
DIRECTIONS = 41  # of the samples along the boundary: a half of it, since the matrix is real
REFINED = 4  # of the best samples, each climbed to a local maximum
CLIMB = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 400}


def kreiss_lower_bound(
    matrix: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    *,
    flow: bool,
    max_memory: float,
    seed: int,
    rounding: float = 0.0,
) -> tuple[float, complex]:
    """The largest (|z| − 1)/σ_min(zI − A), or Re z/σ_min(zI − A), found, and its z. At least 1, the limit at ∞.

    Every value is one of those that the constant is the supremum of, and each is taken at its least: (|z| − 1) less,
    σ_min more by what rounding may have moved it, n^{3/2} ε ‖zI − A‖₂ of σ_min and `rounding` of A itself.
    """
    scale = float(np.linalg.norm(matrix, 2)) or 1.0
    distances = np.geomspace(NEAREST, FARTHEST, DISTANCES) * (scale if flow else 1.0)
    # the boundary is sampled evenly, and beside each eigenvalue, where narrow peaks lie
    along = eigenvalues.imag if flow else np.angle(eigenvalues)
    reach = 1.5 * scale if flow else np.pi
    places = np.unique(np.concatenate([np.linspace(0, reach, DIRECTIONS), along[along >= 0]]))
    log_distance, place = (part.ravel() for part in np.meshgrid(np.log(distances), places))
    points = _point(log_distance, place, flow)
    values = np.exp(log_distance) / smallest_singular_values(matrix, points, max_memory, seed).value
    best, at = 1.0, complex(np.inf)
    size, unit = len(matrix), float(np.finfo(float).eps)

    def negative(position: NDArray[np.float64]) -> float:
        z = _point(position[0], position[1], flow)
        shifted = z * np.eye(size) - matrix
        singular = svdvals(shifted)
        smallest = float(singular[-1] + size**1.5 * unit * singular[0]) + rounding
        outside = float(z.real) if flow else float(np.abs(z)) - 1 - 2 * unit
        return -outside / smallest if smallest else 0.0

    for index in np.argsort(-values)[:REFINED]:
        found = minimize(negative, [log_distance[index], place[index]], method="Nelder-Mead", options=CLIMB)
        if -found.fun > best:
            best, at = float(-found.fun), complex(_point(found.x[0], found.x[1], flow))
    return best, at


def _point(log_distance: NDArray[np.float64], place: NDArray[np.float64], flow: bool) -> NDArray[np.complex128]:
    if flow:
        return np.exp(log_distance) + 1j * place
    return (1 + np.exp(log_distance)) * np.exp(1j * place)
