"""What `StabilityMonitor` measures of a few sequences: products with Jacobians, never the Jacobians' product."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs
from torch import Tensor

from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.program.differentiation import along, jacobian
from dynlab.program.jacobian import Operator
from dynlab.systems import Map
from dynlab.trajectories.simulation import orbit

COLUMNS = 6  # vectors that look for the largest singular value together
SWEEPS = 12  # forwards and backwards through the sequence at most
SETTLED = 1e-8  # relative change of the largest singular value from one sweep to the next that ends them
STRETCH = 8  # steps between two orthonormalisations of the vectors
TRANSIENT = 0.1  # of the sequence, over which the tangent vector aligns
DENSE = 256  # units: the spectral radius of a larger Jacobian is sought by Arnoldi's method
RESTARTS = 40  # of Arnoldi's method
SEED = 0


@dataclass(frozen=True)
class Stability:
    """Means over sequences; NaN, and in `failure` the reason, for what could not be measured."""

    log_gradient: float
    spectral_radius: float
    largest_exponent: float
    failure: str | None


def measure(system: Map, inputs: Tensor, times: int) -> Stability:
    """Measure ln ‖∂h_T/∂h_1‖₂, the spectral radius of `times` Jacobians, and the largest running exponent.

    Parameters
    ----------
    system : Map
        Frozen, in float64.
    inputs : Tensor, shape (sample, time, input)
        What its steps are given.
    times : int
    """
    learned = system.initial_state()
    first = inputs.new_zeros(system.state_size) if learned is None else learned
    states = orbit(system, inputs, first.expand(len(inputs), -1))
    if not torch.isfinite(states).all():
        return Stability(math.nan, math.nan, math.nan, "the trajectory diverges")
    if not _finite(system, states, inputs):
        return Stability(math.nan, math.nan, math.nan, "a Jacobian is not finite")
    log_gradient, exponent = _products(along(system, states, inputs), inputs.shape[:2], system.state_size)
    radius = _spectral_radius(system, states, inputs, times)
    failure = None if math.isfinite(radius) else "Arnoldi's method did not converge"
    return Stability(log_gradient, radius, exponent, failure)


def _finite(system: Map, states: Tensor, inputs: Tensor) -> bool:
    """Whether every Jacobian takes a vector without a zero to a finite one."""
    ones = states.new_ones(*inputs.shape[:2], system.state_size, 1)
    return bool(torch.isfinite(along(system, states, inputs).apply(ones)).all())


def _products(jacobians: Operator, shape: torch.Size, n: int) -> tuple[float, float]:
    """Block power iteration on ∂h_T/∂h_1 in log scale; the first sweep's leading vector gives the exponent."""
    samples, steps = shape
    generator = torch.Generator().manual_seed(SEED)
    columns = min(COLUMNS, n)
    start = torch.randn(n, columns, generator=generator, dtype=torch.float64)
    frame = torch.linalg.qr(start)[0].expand(samples, n, columns)
    discarded = int(TRANSIENT * steps)
    at = [jacobians[:, t] for t in range(steps)]
    # the exponent is that of all steps, the first one too; the gradient's product starts after it
    exponent = torch.zeros(samples, dtype=torch.float64)
    vectors = frame
    for t, factor in enumerate(at):
        vectors = factor.apply(vectors)
        if (t + 1) % STRETCH == 0 or t + 1 == steps or t + 1 == discarded:
            vectors, grown = _orthonormal(vectors)
            if t + 1 > discarded:
                exponent += grown[:, 0]
    before = torch.full((samples,), -math.inf, dtype=torch.float64)
    for _ in range(SWEEPS):
        frame, _ = _sweep([factor.apply for factor in at[1:]], frame)
        frame, logs = _sweep([factor.apply_transpose for factor in reversed(at[1:])], frame)
        largest = logs.max(dim=-1).values  # ln σ, once `frame` spans the leading singular vectors
        if ((largest - before).abs() <= SETTLED * largest.abs().clamp_min(1)).all():
            break
        before = largest
    largest = _largest(at[1:], frame)
    return float(largest.mean()), float((exponent / (steps - discarded)).mean())


def _largest(factors: list[Operator], frame: Tensor) -> Tensor:
    """The logarithm of the largest singular value of the product on the span of `frame`, by one product with it."""
    vectors, scale = frame, torch.zeros(len(frame), dtype=torch.float64)
    for factor in factors:
        vectors = factor.apply(vectors)
        size = vectors.abs().amax(dim=(-2, -1))
        vectors = vectors / torch.where(size > 0, size, 1.0)[:, None, None]
        scale += size.log()
    return scale + torch.linalg.matrix_norm(vectors, 2).log()


def _sweep(products: Sequence[Callable[[Tensor], Tensor]], frame: Tensor) -> tuple[Tensor, Tensor]:
    """An orthonormal frame through all products, and ln of the growth of each of its columns."""
    logs = torch.zeros(frame.shape[0], frame.shape[-1], dtype=torch.float64)
    for count, apply in enumerate(products, start=1):
        frame = apply(frame)
        if count % STRETCH == 0 or count == len(products):
            frame, grown = _orthonormal(frame)
            logs += grown
    return frame, logs


def _orthonormal(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The frame of a QR decomposition, and ln abs of R's diagonal."""
    q, r = torch.linalg.qr(vectors)
    return q, r.diagonal(dim1=-2, dim2=-1).abs().log()


def _spectral_radius(system: Map, states: Tensor, inputs: Tensor, times: int) -> float:
    """The largest of `times` steps of each sequence; the mean of it over the sequences."""
    steps = torch.linspace(0, inputs.shape[1] - 1, min(times, inputs.shape[1])).round().long().unique()
    n = system.state_size
    operator = jacobian(system, states[:, steps], inputs[:, steps], steps)
    if n <= DENSE:
        matrices = operator.dense().expand(len(states), len(steps), n, n).detach().cpu().numpy()
        radii = torch.from_numpy(np.abs(approximate_eigenvalues(matrices)).max(axis=-1))
    else:
        radii = torch.tensor([[_by_arnoldi(operator[s, t], n) for t in range(len(steps))] for s in range(len(states))])
    return float(radii.amax(dim=-1).mean())


def _by_arnoldi(operator: Operator, n: int) -> float:
    def product(x: np.ndarray) -> np.ndarray:
        return operator.apply(torch.from_numpy(x.reshape(n, -1)).double()).numpy().reshape(x.shape)

    start = np.random.default_rng(SEED).standard_normal(n)
    options = {"which": "LM", "v0": start, "tol": 1e-8, "maxiter": RESTARTS, "return_eigenvectors": False}
    try:
        found = eigs(LinearOperator((n, n), product), k=1, **options)
    except ArpackError:  # of a zero operator too, whose every vector is an eigenvector
        return math.nan if product(start).any() else 0.0
    return float(np.abs(found).max())
