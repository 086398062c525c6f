"""Gradients through time beside the bare products of the Jacobians, and beside automatic differentiation."""

import numpy as np
import torch
from table import Row, Way
from torch import Tensor

from dynlab import create, gradient
from dynlab.program.differentiation import along
from dynlab.trajectories.simulation import orbit, prepare

STEPS, UNITS, SAMPLES = 784, 128, 128
LARGE, LARGE_STEPS, LARGE_SAMPLES = 1024, 512, 16
PART = 1 / 2  # of the large network's sequences that are run: four in a thread share the products with a matrix
RIVAL_STEPS = 32  # that the rival runs, of all sequences
TIMES, ITERATIONS = 16, 8  # how many t a large network is asked for, and a usual number of iterations for each


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


@torch.no_grad()  # of the derivatives no further ones are taken
def by_autograd(system, states: Tensor, inputs: Tensor) -> Tensor:
    """The naive way: vmap(jacrev) at every step, and a product."""
    product = torch.eye(system.state_size, dtype=torch.float64).expand(len(states), -1, -1)
    each = torch.func.vmap(torch.func.jacrev(system.step))
    for t in range(inputs.shape[1] - 1, -1, -1):
        product = product @ each(states[:, t], inputs[:, t])
    return torch.linalg.matrix_norm(product, 2).log()


def by_vjp(system, state: Tensor, inputs: Tensor) -> Tensor:
    """One iteration of the naive way to ‖∂h_T/∂h_0‖: a JVP and a VJP of torch.func through all steps, batched."""

    def last(h: Tensor) -> Tensor:
        for t in range(inputs.shape[1]):
            h = system.step(h, inputs[:, t])
        return h

    ahead = torch.func.jvp(last, (state,), (torch.ones_like(state),))[1]
    return torch.func.vjp(last, state)[1](ahead)[0]


def _large() -> Row:
    system = create("lstm", input_size=1, hidden_size=LARGE).double().requires_grad_(False)
    inputs = torch.from_numpy(np.random.default_rng(0).standard_normal((LARGE_SAMPLES, LARGE_STEPS, 1)))
    some, few = inputs[: round(PART * LARGE_SAMPLES)].numpy(), inputs[:, :RIVAL_STEPS]
    state = torch.zeros(LARGE_SAMPLES, system.state_size, dtype=torch.float64)
    # chains to the end from `TIMES` evenly spaced t are on average a little more than half as long as the longest
    whole = ITERATIONS * (TIMES + 1) / 2
    part = RIVAL_STEPS / LARGE_STEPS

    def error(ds, _) -> str:
        return f"upper bound / lower bound {float(np.exp(2 * np.median(ds['log_norm_error'].values[:, :-1]))):.3f}"

    return Row(
        f"gradient: LSTM of {LARGE:,}, {LARGE_STEPS} steps, {LARGE_SAMPLES} sequences, {TIMES} times",
        lambda: gradient(system, some, times=TIMES),
        (Way("torch.func's JVPs and VJPs", lambda: by_vjp(system, state, few), part / whole, 1 / 3),),
        error,
        seconds=120,
        bytes=2 * 2.0**30,
        share=PART,
    )


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
                Way("floor: the products", lambda: bare_products(system, states[:few], given[:few]), few / SAMPLES, 4),
                Way("vmap(jacrev), products", lambda: by_autograd(system, states[:few], given[:few]), few / SAMPLES),
            ),
            error,
        ),
        Row(
            f"gradient: the first t alone, antisymmetric network of {UNITS}, {STEPS} steps, {SAMPLES} sequences",
            lambda: gradient(system, inputs, times=[0]),
            (Way("floor: the products", lambda: bare_products(system, states[:few], given[:few]), few / SAMPLES, 1.2),),
            lambda ds, _: f"stated {float(ds['log_norm_error'].max()):.0e}",
        ),
        _large(),
    ]
