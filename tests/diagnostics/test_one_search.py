"""Every diagnostic that lists fixed points lists the same ones, and says in the same words when some are missing."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.bifurcation.bifurcation import fixed_points_at
from dynlab.diagnostics.bifurcation.parameters import varied_system
from dynlab.systems import create


def stack(kind, size, layers, gain):
    torch.manual_seed(layers)
    system = create(kind, input_size=2, hidden_size=size, num_layers=layers).double()
    with torch.no_grad():
        for cell in system.layers():
            cell.weight_hh.mul_(gain)
    return system


@pytest.fixture(scope="module")
def searched():
    """A system, what drives it, and its fixed points."""
    system = stack("lstm", 8, 2, 4.0)
    inputs = np.random.default_rng(1).standard_normal((4, 50, system.network_input_size))
    return system, inputs, dl.fixed_points(system, inputs)


def placed(ds):
    states = ds["fixed_point_state"].values
    return states[np.lexsort(np.round(states, 6).T)]


@pytest.mark.parametrize("name", ["modes", "geometry"])
def test_the_points_are_those_of_fixed_points(searched, name):
    system, inputs, points = searched
    ds = getattr(dl, name)(system, inputs)
    assert points.sizes["fixed_point"] > 1
    np.testing.assert_allclose(placed(ds), placed(points), atol=1e-9)


def test_branches_begin_at_these_points(searched):
    system, inputs, points = searched
    varied = varied_system(system, inputs, ("input[0]",), "zero", -1, (0.0,))
    begun = fixed_points_at(varied, 0.0, inputs, None, 0)
    states = np.array(begun.states)
    np.testing.assert_allclose(states[np.lexsort(np.round(states, 6).T)], placed(points), atol=1e-9)
    assert begun.incomplete == points.attrs.get("incomplete", "")
