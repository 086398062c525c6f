"""Spectra and fixed points beside bare LAPACK, one matrix for a whole stack, fsolve and Adam from every start."""

import numpy as np
import scipy.optimize
import torch
from table import Row, Way
from torch import nn

from dynlab import fixed_points, load
from dynlab.numerics.eigenvalues import approximate_eigenvalues, eigenvalues
from dynlab.numerics.threads import in_threads
from dynlab.program.differentiation import jacobian
from dynlab.systems.torch_layers import torch_layer

LAYERS, UNITS, JACOBIANS = 3, 64, 8
MANY, SIZE = 1024, 128  # Jacobians, and their size
STARTS, GAIN = 1024, 1.5
ADAM_STEPS, RATE = 5000, 1e-3  # of the usual tool at its defaults
FLIPFLOP = 27  # fixed points of the network that ships with dynlab, all that 100,000 starts and deflation find


def _stacks() -> np.ndarray:
    """One-step Jacobians of a random stack of LSTM layers, (matrix, n, n)."""
    system = torch_layer(nn.LSTM(3, UNITS, num_layers=LAYERS).double())
    states = torch.randn(JACOBIANS, system.state_size, dtype=torch.float64)
    found = jacobian(system, states, torch.zeros(JACOBIANS, 3, dtype=torch.float64))
    return np.asarray(found.dense().detach())


def _of_gru() -> nn.GRU:
    module = nn.GRU(3, UNITS).double()
    with torch.no_grad():
        module.weight_hh_l0.normal_(0, GAIN / UNITS**0.5)
    return module


def _by_fsolve(module: nn.GRU, count: int) -> np.ndarray:
    """Where fsolve ends from every start, its Jacobian by differences."""
    system, x = torch_layer(module), torch.zeros(3, dtype=torch.float64)

    def displacement(h: np.ndarray) -> np.ndarray:
        return np.asarray((system.step(torch.as_tensor(h), x) - torch.as_tensor(h)).detach())

    starts = np.random.default_rng(0).uniform(-1, 1, (count, UNITS))
    return np.array([scipy.optimize.fsolve(displacement, start) for start in starts])


def _by_adam(module: nn.GRU, count: int, steps: int) -> np.ndarray:
    """The usual tool's way: Adam on the speed ‖F(h) − h‖² of all starts at once."""
    system, x = torch_layer(module), torch.zeros(3, dtype=torch.float64)
    h = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (count, UNITS))).requires_grad_()
    optimizer = torch.optim.Adam([h], lr=RATE)
    for _ in range(steps):
        optimizer.zero_grad()
        (system.step(h, x.expand(count, -1)) - h).square().sum().backward()
        optimizer.step()
    return np.asarray(h.detach())


def _off(found: np.ndarray, other: torch.Tensor) -> float:
    return float(np.abs(np.abs(found).max(1) - np.abs(other.numpy()).max(1)).max())


def _of_many() -> list[Row]:
    """Many Jacobians at once, with and without what is known of each eigenvalue."""
    many = np.random.default_rng(0).standard_normal((MANY, SIZE, SIZE)) / SIZE**0.5
    rounding, tensor = np.finfo(float).eps * np.abs(many), torch.from_numpy(many)

    def with_vectors(part: slice) -> tuple[np.ndarray]:
        return (np.linalg.eig(many[part])[0],)

    def alone(part: slice) -> tuple[np.ndarray]:
        return (np.linalg.eigvals(many[part]),)

    at_once = Way("torch.linalg.eigvals in one call", lambda: torch.linalg.eigvals(tensor))
    return [
        Row(
            f"spectrum: {MANY:,} Jacobians, n = {SIZE}, with conditions and bounds",
            lambda: eigenvalues(many, rounding),
            (
                at_once,
                Way(
                    "floor: eigenvalues and right vectors, every core", lambda: in_threads(with_vectors, MANY), 1, 1.15
                ),
            ),
            lambda found, _: f"median bound {np.median(found.errors):.0e}",
        ),
        Row(
            f"spectrum: {MANY:,} Jacobians, n = {SIZE}, eigenvalues alone",
            lambda: approximate_eigenvalues(many),
            (at_once, Way("floor: eigenvalues, every core", lambda: in_threads(alone, MANY), 1, 1.15)),
            lambda found, numbers: f"largest modulus off by {_off(found, numbers[at_once.name]):.0e}",
        ),
    ]


def rows(network: str | None) -> list[Row]:
    torch.manual_seed(0)
    matrices, module = _stacks(), _of_gru()
    wrong, sizes = np.finfo(float).eps * np.abs(matrices), [2 * UNITS] * LAYERS
    return [
        *_of_many(),
        Row(
            f"eigenvalues with bounds and conditions: {JACOBIANS} Jacobians of {LAYERS} × LSTM-{UNITS}",
            lambda: eigenvalues(matrices, wrong, sizes),
            (
                Way("numpy.linalg.eigvals of the whole", lambda: np.linalg.eigvals(matrices)),
                Way("the whole matrix, with bounds", lambda: eigenvalues(matrices, wrong)),
            ),
            lambda ds, numbers: (
                f"largest bound {ds.errors.max():.0e}, of the whole "
                f"{numbers['the whole matrix, with bounds'].errors.max():.0e}"
            ),
        ),
        Row(
            f"fixed points of a random GRU-{UNITS}, {STARTS:,} starts",
            lambda: fixed_points(torch_layer(module), starts=STARTS),
            (
                Way("fsolve from every start", lambda: _by_fsolve(module, STARTS // 256), 1 / 256, 1.0),
                Way("Adam on the speed", lambda: _by_adam(module, STARTS, ADAM_STEPS // 50), 1 / 50, 1.0),
            ),
            lambda ds, _: f"{ds.sizes['fixed_point']} found, residual up to {float(ds['residual'].max()):.0e}",
            seconds=0.7,
        ),
        Row(
            "fixed points of a trained flip-flop network, the whole search",
            lambda: fixed_points(load("gru-flipflop")),
            (),
            lambda ds, _: f"{ds.sizes['fixed_point']} of {FLIPFLOP} found",
            seconds=0.5,
        ),
    ]
