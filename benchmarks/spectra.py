"""Spectra and fixed points beside bare LAPACK, one matrix for a whole stack, and fsolve from every start."""

import numpy as np
import scipy.optimize
import torch
from table import Row, Way
from torch import nn

from dynlab import fixed_points
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.systems.torch_layers import torch_layer

LAYERS, UNITS, JACOBIANS = 3, 64, 8
STARTS, GAIN = 1024, 1.5


def _stacks() -> np.ndarray:
    """One-step Jacobians of a random stack of LSTM layers, (matrix, n, n)."""
    system = torch_layer(nn.LSTM(3, UNITS, num_layers=LAYERS).double())
    states = torch.randn(JACOBIANS, system.state_size, dtype=torch.float64)
    found = system.closed_form_jacobian(states, torch.zeros(JACOBIANS, 3, dtype=torch.float64))
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


def rows(network: str | None) -> list[Row]:
    torch.manual_seed(0)
    matrices, module = _stacks(), _of_gru()
    wrong, sizes = np.finfo(float).eps * np.abs(matrices), [2 * UNITS] * LAYERS
    return [
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
            (Way("fsolve from every start", lambda: _by_fsolve(module, STARTS // 256), 1 / 256),),
            lambda ds, _: f"{ds.sizes['fixed_point']} found, residual up to {float(ds['residual'].max()):.0e}",
            seconds=0.7,
        ),
    ]
