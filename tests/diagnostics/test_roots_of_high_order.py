"""Roots near which the residual is below rounding far along a curve, and true continua beside them."""

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.checkpoints import from_module
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import from_function


def counted(ds):
    """How many fixed points, continua and undecided states there are."""
    status = ds["status"].values.tolist()
    return tuple(status.count(name) for name in ("fixed point", "continuum", "undecided"))


def layers_at_the_edge(h):
    """Layers of one unit each, h_k ← tanh(h_k + h_{k−1}): their order is 3ⁿ at the origin, the only fixed point."""
    below = torch.cat([torch.zeros_like(h[..., :1]), h[..., :-1]], dim=-1)
    return torch.tanh(h + below)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_layers_at_the_edge_of_stability_have_the_origin_alone(layers):
    """The residual is 1e-20 at a distance of 0.3 with three layers, and of 0.7 with four."""
    rnn = nn.RNN(1, 1, num_layers=layers).double()
    with torch.no_grad():
        for name, values in rnn.named_parameters():
            values.fill_(float("weight" in name and name != "weight_ih_l0"))
    ds = fixed_points(from_module(rnn), starts=16)
    assert counted(ds) == (1, 0, 0)
    assert not ds["fixed_point_state"].values.any()
    assert ds["stable"].values.tolist() == [-1]


@pytest.mark.parametrize(
    "order, unit, center",
    [([2, 0, 1], [1.0, 1.0, 1.0], 0.0), ([2, 1, 0], [0.5, 3.0, 10.0], 0.0), ([2, 0, 1], [1.0, 0.2, 2.0], 0.3)],
    ids=["permuted", "reversed, in other units", "permuted, in other units, about another state"],
)
def test_the_order_the_units_and_the_origin_of_coordinates_change_nothing(order, unit, center):
    unit, back = torch.tensor(unit, dtype=torch.float64), np.argsort(order)

    def step(h, x):
        return center + (unit * layers_at_the_edge(((h - center) / unit)[..., back])[..., order])

    ds = fixed_points(from_function(step, state_size=3), starts=16)
    assert counted(ds) == (1, 0, 0)
    assert (np.abs(ds["fixed_point_state"].values[0] - center) < unit.numpy()).all()


@pytest.mark.parametrize("power", [2, 3, 5, 9])
def test_a_power_of_a_power_is_no_curve(power):
    """h − (a^k, a − b^k)/2 has a root of order k² at 0."""

    def step(h, x):
        a, b = h[..., 0], h[..., 1]
        return h - torch.stack([a**power, a - b**power], dim=-1) / 2

    assert counted(fixed_points(from_function(step, state_size=2), starts=16)) == (1, 0, 0)


def bent(h):
    """A parabola of fixed points."""
    a, b = h[..., 0], h[..., 1]
    return torch.stack([a, b + 0.5 * (a**2 - b)], dim=-1)


def driven(h):
    """A unit under an integrator: a fixed point for each of its values."""
    a, b = h[..., 0], h[..., 1]
    return torch.stack([a, torch.tanh(0.5 * b + a)], dim=-1)


def ring(radius):
    def step(h):
        return h * (1 - 0.1 * (h.square().sum(-1, keepdim=True) / radius**2 - 1))

    return step


@pytest.mark.parametrize(
    "step, points",
    [(bent, 0), (driven, 0), (ring(0.1), 1), (ring(10.0), 1)],
    ids=["parabola", "unit under an integrator", "small ring", "large ring"],
)
def test_true_curves_are_one_continuum_each(step, points):
    ds = fixed_points(from_function(lambda h, x: step(h), state_size=2), starts=16)
    assert counted(ds) == (points, 1, 0)
    assert sorted(ds["continuum_dimension"].values.tolist())[-1] == 1


def test_a_ring_beside_three_layers_at_the_edge_is_one_curve():
    def step(h, x):
        return torch.cat([ring(1.0)(h[..., :2]), layers_at_the_edge(h[..., 2:])], dim=-1)

    ds = fixed_points(from_function(step, state_size=5), starts=4)
    assert counted(ds) == (1, 1, 0)
    assert sorted(ds["continuum_dimension"].values.tolist()) == [0, 1]
