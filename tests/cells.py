"""Small cells in float64 and random numbers, for tests of systems."""

import torch

from dynlab.systems import create, frozen

OF_HIDDEN_UNITS = ("cornn", "urnn", "fc-urnn", "kru")


def draw(*shape, seed=10):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make(name, seed=0, **config):
    """A cell of 3 inputs and 6 units, whose parameters may be written on."""
    size = "hidden_size" if name in OF_HIDDEN_UNITS else "state_size"
    torch.manual_seed(seed)
    return frozen(create(name, **({"input_size": 3, size: 6} | config)))
