"""Networks of every trainable family, at random and saturated: weights × 0.1 to × 100, biases to ± 40."""

import torch

from dynlab.systems import create, frozen
from dynlab.systems.examples import example_config

# Every trainable family, the size of its state 2 to 16; where there are several activations, in turn.
NAMES = (
    "rnn rnn-relu rnn-2 gru gru-2 lstm lstm-2 vanilla feedback antisymmetric antisymmetric-gated residual-gated "
    "fastrnn fastgrnn ugrnn cornn ernn ernn-deep ernn-exact modrelu exprnn dtriv scornn asrnn nnrnn spectral "
    "soft-orthogonal urnn fc-urnn kru"
)
FAMILIES = NAMES.split()
# What is not as a system's required arguments make it.
SETTINGS = {
    "rnn-relu": {"nonlinearity": "relu"},
    "lstm-2": {"proj_size": 1},
    "vanilla": {"activation": "sigmoid"},
    "antisymmetric-gated": {"step_size": 0.1},
    "residual-gated": {"step_size": 0.1},
    "ernn": {"length": 200, "inner_steps": 2, "rank": 2, "activation": "tanh", "eta": 0.3},
    "ernn-deep": {"length": 200, "layers": 2, "eta": 0.3},
    "asrnn": {"a": 0.1, "b": 1.0},
    "spectral": {"activation": "tanh"},
    "soft-orthogonal": {"activation": "tanh"},
}
# Units of a state of n numbers, where they are fewer or must be of some number.
UNITS = dict.fromkeys(("rnn-2", "gru-2", "lstm", "cornn", "urnn", "fc-urnn"), lambda n: -(-n // 2)) | {
    "lstm-2": lambda n: -(-n // 4) + 1,
    "nnrnn": lambda n: n + n % 2,
    "kru": lambda n: 2 ** max(1, (n // 2).bit_length() - 1),
}
MATRICES = 2  # dimensions of a parameter that is a matrix; the others are biases, angles and scalars


def network(family, seed, largest_time=200, largest_size=16):
    """The system, its inputs (T, input) and its initial state."""
    generator = torch.Generator().manual_seed(1000 * FAMILIES.index(family) + seed)

    def uniform(low, high):
        return low + (high - low) * float(torch.rand((), generator=generator, dtype=torch.float64))

    n, inputs = round(uniform(1.5, largest_size + 0.5)), round(uniform(0.5, 3.5))
    name, units = family.removesuffix("-2").removesuffix("-relu"), UNITS.get(family, int)(max(2, n))
    settings = example_config(name, inputs, units) | SETTINGS.get(family, {})
    with torch.random.fork_rng():
        torch.manual_seed(int(uniform(0, 2**31)))
        system = frozen(create(name, **settings | {"num_layers": 2} if family.endswith("-2") else settings))
    scale, offset = 10 ** uniform(-1, 2), uniform(0, 40) if uniform(0, 1) < 0.5 else 0.0
    for parameter in system.parameters():
        if parameter.ndim == MATRICES:
            parameter.mul_(scale)
        elif parameter.ndim == 1 and parameter.shape[0] <= 4 * system.state_size:
            parameter.add_(offset * (2 * torch.rand(parameter.shape, generator=generator, dtype=torch.float64) - 1))
    T = round(10 ** uniform(0.3, torch.tensor(float(largest_time)).log10().item()))
    x = torch.randn(T, inputs, generator=generator, dtype=torch.float64)
    h = torch.randn(system.state_size, generator=generator, dtype=torch.float64)
    return system, x, h
