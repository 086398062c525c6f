"""Which coordinate a diagram is drawn in: the one in which the ends of stable branches are told apart."""

import numpy as np
import torch
from torch import nn

import dynlab as dl


class Memories(nn.Module):
    """x and y each end at one of two values; z = 0.6 x + 0.3 y at four, though it varies less than either."""

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(1.0, dtype=torch.float64))

    def forward(self, h, x):
        x, y = h[..., 0], h[..., 1]
        return torch.stack([torch.tanh(2 * self.gain * x), torch.tanh(1.6 * self.gain * y), 0.6 * x + 0.3 * y], dim=-1)


def test_of_four_memories_the_coordinate_that_tells_all_of_them_apart_is_drawn():
    system = dl.from_function(Memories(), state_size=3)
    ds = dl.bifurcation(system, parameter="gain", lowest=0.3, highest=1.0, values=20)
    last = (ds["branch_parameter"] == 1.0) & (ds["stable"] == 1)
    ends = np.sort(ds["branch_orbit"].values[last.values, 0])
    assert dl.schema.settings(ds)["observed"] == 2
    assert len(ends) == 4
    assert np.diff(ends).min() > 0.4
