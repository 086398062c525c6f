"""Gradients through time beside the bare products of the Jacobians, and beside automatic differentiation."""

import numpy as np
import torch
from table import Row, Way
from torch import Tensor

from dynlab import create, gradient
from dynlab.jacobians import along
from dynlab.simulation import orbit, prepare

STEPS, UNITS, SAMPLES = 784, 128, 128


def _states(system, inputs) -> tuple[Tensor, Tensor]:
    analysed, given, initial = prepare(system, inputs)
    return orbit(analysed, given, initial), given


def bare_products(system, states: Tensor, inputs: Tensor) -> Tensor:
    """The floor: the Jacobians that are there anyway, multiplied."""
    samples, n = len(states), system.state_size
    product = torch.eye(n, dtype=torch.float64).expand(samples, n, n)
    for t in range(inputs.shape[1] - 1, -1, -1):
        product = product @ JACOBIANS[t % len(JACOBIANS)][:samples]
    return product


JACOBIANS: list[Tensor] = []


def by_autograd(system, states: Tensor, inputs: Tensor) -> Tensor:
    """The naive way: vmap(jacrev) at every step, and a product."""
    product = torch.eye(system.state_size, dtype=torch.float64).expand(len(states), -1, -1)
    each = torch.func.vmap(torch.func.jacrev(system.step))
    for t in range(inputs.shape[1] - 1, -1, -1):
        product = product @ each(states[:, t], inputs[:, t])
    return torch.linalg.matrix_norm(product, 2).log()


def rows(network: str | None) -> list[Row]:
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=1, state_size=UNITS).double()
    inputs = np.random.default_rng(0).standard_normal((SAMPLES, STEPS, 1))
    with torch.no_grad():
        states, given = _states(system, inputs)
        JACOBIANS[:] = [along(system, states[:, t : t + 2], given[:, t : t + 1])[:, 0].dense() for t in range(8)]
    few = SAMPLES // 8

    def error(ds, numbers) -> str:
        off = np.abs(ds["log_norm"].values[:few, 0] - numbers["vmap(jacrev), products"].numpy()).max()
        return f"off by {off:.0e}, stated {float(ds['log_norm_error'].max()):.0e}"

    return [
        Row(
            f"gradient: every t, antisymmetric network of {UNITS}, {STEPS} steps, {SAMPLES} sequences",
            lambda: gradient(system, inputs),
            (
                Way("floor: the products", lambda: bare_products(system, states[:few], given), few / SAMPLES, 4),
                Way("vmap(jacrev), products", lambda: by_autograd(system, states[:few], given), few / SAMPLES),
            ),
            error,
        )
    ]
