"""The plane of step size ε and diffusion γ: where the steps of a flow with Jacobian diag(c) (M₀ − γ I) stay stable."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dynlab.diagnostics.stability.methods import Method
from dynlab.numerics.eigenvalues import approximate_eigenvalues

DIFFUSIONS, STEP_SIZES = 25, 41  # of the grid, both logarithmic
STATES = 24  # at most, that the plane is computed over
LEAST, MOST = 1 / 300, 12.0  # the range of γ in parts of ω, the fastest rotation
SHORTEST, LONGEST = 1 / 400, 3.0  # that of ε in parts of 1/ω
ROOM = 3.0  # and beyond the network's own γ and ε by this factor
FARTHEST = 1e4  # what is outside by more does not widen the plane
PRECISION = 1e-13  # of the γ that is needed, relative


@dataclass(frozen=True)
class DiffusionPlane:
    """What the steps do over the plane.

    Attributes
    ----------
    diffusion : ndarray, shape (diffusion,)
        γ in 1/s, increasing.
    step_size : ndarray, shape (step_size,)
        ε in seconds, increasing.
    modulus : ndarray, shape (diffusion, step_size)
        The largest |R(ελ)| over the states and their eigenvalues.
    critical : ndarray, shape (diffusion,)
        The largest ε for which none exceeds 1, by the states' eigenvalues.
    formula : ndarray, shape (state, diffusion)
        2γ/(γ² + ω²) divided by the mean c of each state.
    omega : float
        The largest imaginary part of an eigenvalue of M₀.
    needed : float
        The least γ that makes the step stable at every state; NaN where none on the grid does.
    """

    diffusion: NDArray[np.float64]
    step_size: NDArray[np.float64]
    modulus: NDArray[np.float64]
    critical: NDArray[np.float64]
    formula: NDArray[np.float64]
    omega: float
    needed: float


def diffusion_plane(
    diagonals: NDArray[np.float64], matrix: NDArray[np.float64], gamma: float, step: float, method: Method
) -> DiffusionPlane:
    """Vary γ and ε around those of the network, at states that are held.

    Parameters
    ----------
    diagonals : ndarray, shape (state, n)
        c of each state.
    matrix : ndarray, shape (n, n)
        M, which is M₀ − γ I.
    gamma, step : float
        The network's own.
    method : Method
    """
    M0 = matrix + gamma * np.eye(len(matrix))
    omega = float(np.abs(approximate_eigenvalues(M0).imag).max())
    scale = omega or float(np.linalg.norm(matrix, 2)) or 1.0
    diffusion = _range(LEAST * scale, MOST * scale, gamma, DIFFUSIONS)
    step_size = _range(SHORTEST / scale, LONGEST / scale, step, STEP_SIZES)
    values = np.array([_eigenvalues(diagonals, M0, each) for each in diffusion])
    modulus = np.stack([np.abs(method.factor(each * values)).max(axis=(1, 2)) for each in step_size], axis=1)
    critical = np.array([_least_step(at_gamma, method) for at_gamma in values])
    means = diagonals.mean(axis=1)
    with np.errstate(divide="ignore"):
        formula = 2 / (diffusion + omega * (omega / diffusion)) / np.where(means > 0, means, np.nan)[:, None]

    def excess(log_gamma: float) -> float:
        found = _eigenvalues(diagonals, M0, float(np.exp(log_gamma)))
        return float(np.abs(method.factor(step * found)).max()) - 1

    heights = np.abs(method.factor(step * values)).max(axis=(1, 2)) - 1
    needed = _needed(excess, diffusion, heights)
    return DiffusionPlane(diffusion, step_size, modulus, critical, formula, omega, needed)


def mean_slope_step(diagonals: NDArray[np.float64], matrix: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Euler's critical step 2γ/(γ² + ω²) divided by the mean of c, exact where all entries of c are equal; (...,)."""
    omega = float(np.abs(approximate_eigenvalues(matrix + gamma * np.eye(len(matrix))).imag).max())
    means = diagonals.mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = 2 / (np.float64(gamma) + omega * (omega / np.float64(gamma)))
        return np.asarray(np.where((means > 0) & (gamma > 0), step / means, np.nan))


def _needed(excess: Callable[[float], float], diffusion: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """The least γ at which `excess` of ln γ, which has these `heights` on the grid, is 0 and falls."""
    (falls,) = np.nonzero((heights[:-1] > 0) & (heights[1:] <= 0))
    if not len(falls):
        return np.nan
    left, right = np.log(diffusion[falls[0] : falls[0] + 2])
    return float(np.exp(brentq(excess, left, right, xtol=PRECISION, rtol=4 * np.finfo(float).eps)))


def _least_step(values: NDArray[np.complex128], method: Method) -> float:
    """The smallest of the states' critical steps; NaN where none is known."""
    steps = np.array([method.largest_step(one, _rounding(one))[0] for one in values])
    return float(np.nanmin(steps)) if np.isfinite(steps).any() else float(np.max(steps))


def _eigenvalues(diagonals: NDArray[np.float64], M0: NDArray[np.float64], gamma: float) -> NDArray[np.complex128]:
    """Of diag(c) (M₀ − γ I) for each c, shape (state, n)."""
    return approximate_eigenvalues(diagonals[:, :, None] * (M0 - gamma * np.eye(len(M0))))


def _rounding(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    return np.full(len(values), len(values) * np.finfo(float).eps * float(np.abs(values).max()))


def _range(low: float, high: float, own: float, count: int) -> NDArray[np.float64]:
    """Logarithmic, wide enough for what is the network's own."""
    if low / FARTHEST < own < high * FARTHEST:
        low, high = min(low, own / ROOM), max(high, own * ROOM)
    return np.geomspace(low, high, count)
