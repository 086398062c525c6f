"""Networks of every trainable family, at random and saturated: weights × 0.1 to × 100, biases to ± 40."""

import torch

from dynlab.systems import create, frozen

# Every trainable family, the size of its state 2 to 16; where there are several activations, in turn.
FAMILIES = {
    "rnn": lambda n: {"hidden_size": n, "nonlinearity": "tanh"},
    "rnn-relu": lambda n: {"hidden_size": n, "nonlinearity": "relu"},
    "rnn-2": lambda n: {"hidden_size": -(-n // 2), "num_layers": 2},
    "gru": lambda n: {"hidden_size": n},
    "gru-2": lambda n: {"hidden_size": -(-n // 2), "num_layers": 2},
    "lstm": lambda n: {"hidden_size": -(-n // 2)},
    "lstm-2": lambda n: {"hidden_size": -(-n // 4) + 1, "num_layers": 2, "proj_size": 1},
    "vanilla": lambda n: {"state_size": n, "activation": "sigmoid"},
    "feedback": lambda n: {"state_size": n},
    "antisymmetric": lambda n: {"state_size": n},
    "antisymmetric-gated": lambda n: {"state_size": n, "step_size": 0.1},
    "residual-gated": lambda n: {"state_size": n, "step_size": 0.1},
    "fastrnn": lambda n: {"state_size": n},
    "fastgrnn": lambda n: {"state_size": n},
    "ugrnn": lambda n: {"state_size": n},
    "cornn": lambda n: {"hidden_size": -(-n // 2)},
    "ernn": lambda n: {"state_size": n, "length": 200, "inner_steps": 2, "rank": 2, "activation": "tanh", "eta": 0.3},
    "ernn-deep": lambda n: {"state_size": n, "length": 200, "layers": 2, "eta": 0.3},
    "ernn-exact": lambda n: {"state_size": n},
    "modrelu": lambda n: {"state_size": n},
    "exprnn": lambda n: {"state_size": n},
    "dtriv": lambda n: {"state_size": n},
    "scornn": lambda n: {"state_size": n},
    "asrnn": lambda n: {"state_size": n, "a": 0.1, "b": 1.0},
    "nnrnn": lambda n: {"state_size": n + n % 2},
    "spectral": lambda n: {"state_size": n, "activation": "tanh"},
    "soft-orthogonal": lambda n: {"state_size": n, "activation": "tanh"},
    "urnn": lambda n: {"hidden_size": -(-n // 2)},
    "fc-urnn": lambda n: {"hidden_size": -(-n // 2)},
    "kru": lambda n: {"hidden_size": 2 ** max(1, (n // 2).bit_length() - 1)},
}
MATRICES = 2  # dimensions of a parameter that is a matrix; the others are biases, angles and scalars


def network(family, seed, largest_time=200, largest_size=16):
    """The system, its inputs (T, input) and its initial state."""
    generator = torch.Generator().manual_seed(1000 * list(FAMILIES).index(family) + seed)

    def uniform(low, high):
        return low + (high - low) * float(torch.rand((), generator=generator, dtype=torch.float64))

    n, inputs = round(uniform(1.5, largest_size + 0.5)), round(uniform(0.5, 3.5))
    with torch.random.fork_rng():
        torch.manual_seed(int(uniform(0, 2**31)))
        system = frozen(
            create(family.split("-2")[0].removesuffix("-relu"), input_size=inputs, **FAMILIES[family](max(2, n)))
        )
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
