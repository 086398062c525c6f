"""The networks and the input of Figure 1 of the ERNN paper: random and planar, driven by a scalar random walk."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.systems import Map
from dynlab.systems.ernn import ERNN
from dynlab.systems.fastrnn import FastRNN
from dynlab.systems.vanilla import Vanilla

# The paper gives neither seed nor scales. Weights of the input have the deviation 0.1 of FastRNN's library, without
# which a walk that goes this far would saturate tanh throughout. With this seed ‖U‖₂ = 0.92 < 1, so that every input
# has exactly one equilibrium, the manifold has a bend, and the walk passes the bend again and again.
SEED = 172
VARIANCE, STEPS = 10.0, 1000  # of the walk's increments
INPUT_DEVIATION, BIAS_DEVIATION = 0.1, 0.5
INITIAL_STATE = (-0.6, -0.8)  # off the manifold
INNER_STEPS, ETA = 40, 0.6  # the slowest mode of the inner iteration shrinks to 0.4 in a step: 40 reach rounding
TRAINED_INNER_STEPS, TRAINED_ETA = 5, 0.01  # the paper's own setting for training


class Example(NamedTuple):
    """Arguments of `dynlab.ernn_manifold`."""

    system: ERNN
    beside: dict[str, Map]
    inputs: NDArray[np.float64]
    initial_state: tuple[float, float]


def random_planar_networks(seed: int = SEED, steps: int = STEPS) -> Example:
    """RNN, FastRNN and two ERNNs with the same random U, W and b, and a random walk of increments with variance 10.

    Parameters
    ----------
    seed : int
        Seed of the weights (normal: U with variance 1/2, W with deviation 0.1, b with deviation 0.5) and of the walk.
    steps : int
        Length of the walk.

    Returns
    -------
    Example
        The ERNN whose inner iteration converges (K = 40, η = 0.6, started at 0 as the paper's equation 13 has it), and
        beside it ``ernn K=5`` with the paper's η = 0.01, started at the previous state, ``rnn`` and ``fastrnn``. All
        use tanh, and φ(U · + W x + b) without the outer P.

    References
    ----------
    Kag, Zhang and Saligrama, arXiv 1908.08574, Figure 1.
    """
    generator = np.random.default_rng(seed)
    U = torch.from_numpy(generator.standard_normal((2, 2)) / np.sqrt(2))
    W = torch.from_numpy(INPUT_DEVIATION * generator.standard_normal(2))[:, None]
    b = torch.from_numpy(BIAS_DEVIATION * generator.standard_normal(2))
    walk = np.cumsum(np.sqrt(VARIANCE) * generator.standard_normal(steps))
    shared: dict[str, Any] = {"length": steps, "rank": None, "activation": "tanh", "projection": False}
    system = ERNN(1, 2, inner_steps=INNER_STEPS, eta=ETA, start="zero", **shared)
    trained = ERNN(1, 2, inner_steps=TRAINED_INNER_STEPS, eta=TRAINED_ETA, **shared)
    rnn, fastrnn = Vanilla(1, 2), FastRNN(1, 2)
    for network, names in ((system, "U.weight W b"), (trained, "U.weight W b"), (rnn, "W V b"), (fastrnn, "U W b")):
        network.double().load_state_dict(dict(zip(names.split(), (U, W, b), strict=True)), strict=False)
    system.name = "ernn"
    beside: dict[str, Map] = {"ernn K=5": trained, "rnn": rnn, "fastrnn": fastrnn}
    return Example(system, beside, walk[:, None], INITIAL_STATE)


def chosen(seed: int) -> str:
    """A sentence for captions on where the networks come from, and why the default seed is no other."""
    why = ", for which every input has exactly one equilibrium (‖U‖₂ = 0.92 < 1) and the manifold has a bend"
    return f"The networks are random, from seed {seed}{why if seed == SEED else ''}."
