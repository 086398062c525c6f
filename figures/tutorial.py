"""The NumPy RNN tutorial's network, and its "full derivative", which is not the gradient: collapsed sensitivities.

The tutorial keeps ∂s/∂W as one n × n matrix R, R ← diag(σ') W R + σ' pᵀ with p the state before the step. The true
sensitivity S_i,jk = ∂s_i/∂W_jk obeys S_i,jk ← σ'_i (Σ_l W_il S_l,jk + δ_ij p_k), so that R_ik = Σ_j S_i,jk: R has
forgotten whose weight it was. Multiplied by ∂L/∂s_i element by element, only what the last step adds is right.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy.linalg import polar
from torch import Tensor

from dynlab.plots import style
from dynlab.systems.vanilla import Vanilla
from dynlab.tasks import create
from dynlab.trajectories.simulation import orbit

SEED = 2882  # the tutorial's
UNITS, SHOWN, ASKED = 32, 6, 8
RATE = 0.1 / 54  # along sums over its training windows
RULE, GRADIENT = "along its rule", "along the gradient"
LOOK: dict[str, dict[str, Any]] = {
    GRADIENT: {"color": style.BLUE, "ls": "-"},
    RULE: {"color": style.VERMILION, "ls": "--"},
}
Windows = tuple[Tensor, Tensor]
Slope = Callable[[Tensor], Tensor]
Directions = dict[str, dict[str, Tensor]]  # of each way the weights by name


def sine_windows() -> tuple[Windows, Windows]:
    """Return the inputs and targets of the training windows, and those of the four held out."""
    task = create("sine", retrain=True)
    train, test = (
        (torch.from_numpy(split.inputs).double(), torch.from_numpy(split.targets).double())
        for split in (task.train, task.test)
    )
    return train, test


def tutorial_start() -> tuple[Vanilla, Tensor]:
    """Return the tutorial's network and read-out: R of a QR decomposition for W, polar factors for the others."""
    generator = np.random.default_rng(SEED)
    W = np.linalg.qr(generator.normal(0, (UNITS * UNITS) ** -0.75, (UNITS, UNITS)), mode="complete")[1]
    V = polar(generator.normal(0, (UNITS * SHOWN) ** -0.75, (UNITS, SHOWN)))[0]
    read = polar(generator.normal(0, (ASKED * UNITS) ** -0.75, (ASKED, UNITS)))[0]
    return _network(W, V), torch.from_numpy(read)


def random_start(scale: float, seed: int) -> tuple[Vanilla, Tensor]:
    """Return the same with a W of normal entries of deviation scale/√n."""
    generator = np.random.default_rng(seed)
    W = scale * generator.normal(0, UNITS**-0.5, (UNITS, UNITS))
    V, read = (polar(generator.normal(size=shape))[0] for shape in ((UNITS, SHOWN), (ASKED, UNITS)))
    return _network(W, V), torch.from_numpy(read)


def _network(W: np.ndarray, V: np.ndarray) -> Vanilla:
    system = Vanilla(SHOWN, UNITS, activation="sigmoid", bias=False).double()
    with torch.no_grad():
        system.W.copy_(torch.from_numpy(W))
        system.V.copy_(torch.from_numpy(V))
    return system


def collapsed_sensitivities(system: Vanilla, inputs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the last state of each sequence, shape (sample, state), and the tutorial's R for W and V.

    These have the shapes (sample, state, state) and (sample, state, input): the true sensitivities, summed over the row
    of the weight.
    """
    with torch.no_grad():
        state = inputs.new_zeros(len(inputs), system.state_size)
        by_w = inputs.new_zeros(len(inputs), system.state_size, system.state_size)
        by_v = inputs.new_zeros(len(inputs), system.state_size, system.input_size)
        for t, input in enumerate(inputs.unbind(dim=1)):
            before, state = state, system.step(state, input, t)
            slope = state * (1 - state)  # of the logistic function
            transition = slope.unsqueeze(-1) * system.W
            by_w = transition @ by_w + slope.unsqueeze(-1) * before.unsqueeze(-2)
            by_v = transition @ by_v + slope.unsqueeze(-1) * input.unsqueeze(-2)
    return state, {"W": by_w, "V": by_v}


def collapsed_rule(sensitivities: dict[str, Tensor], by_state: Tensor) -> dict[str, Tensor]:
    """Return Σ over samples of (∂L/∂s)_i R_ik, with `by_state` of shape (sample, state)."""
    return {name: (by_state.unsqueeze(-1) * matrix).sum(dim=0) for name, matrix in sensitivities.items()}


def huber(error: Tensor) -> Tensor:
    """Return the slope of half the square of an error up to 1, linear beyond: the tutorial's."""
    return error.clamp(-1, 1)


def directions(system: Vanilla, read: Tensor, windows: Windows, slope: Slope = huber) -> Directions:
    """Return the gradient and the tutorial's rule for W, V and the read-out, summed over windows.

    `slope` is the derivative of the loss by each error.
    """
    inputs, targets = windows
    state, collapsed = collapsed_sensitivities(system, inputs)
    clipped = slope(state @ read.mT - targets)
    by_state = clipped @ read
    by_W, by_V = torch.autograd.grad(_last(system, inputs), (system.W, system.V), by_state)
    by_read = {"read": clipped.mT @ state}
    return {GRADIENT: {"W": by_W, "V": by_V} | by_read, RULE: collapsed_rule(collapsed, by_state) | by_read}


def answers(system: Vanilla, read: Tensor, inputs: Tensor) -> Tensor:
    """Return what the network predicts, shape (sample, output)."""
    with torch.no_grad():
        return _last(system, inputs) @ read.mT


def _last(system: Vanilla, inputs: Tensor) -> Tensor:
    return orbit(system, inputs, torch.zeros(len(inputs), UNITS, dtype=torch.float64))[:, -1]


def descent(windows: Windows, epochs: int, along: str, slope: Slope = huber) -> Iterator[tuple[Any, ...]]:
    """Train from the tutorial's start along either direction; before each step yield network, read-out, directions."""
    system, read = tutorial_start()
    for _ in range(epochs):
        found = directions(system, read, windows, slope)
        yield system, read, found
        with torch.no_grad():
            system.W -= RATE * found[along]["W"]
            system.V -= RATE * found[along]["V"]
            read = read - RATE * found[along]["read"]
