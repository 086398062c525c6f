"""The fixed points of stacks, searched layer by layer: all that there are, and the same for every diagnostic."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation.bifurcation import fixed_points_at
from dynlab.diagnostics.bifurcation.parameters import varied_system
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points import starting_states as where
from dynlab.diagnostics.fixed_points.rounds import search
from dynlab.numerics.homotopy import end_of_path
from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import merged
from dynlab.numerics.roots import solve
from dynlab.systems import frozen
from dynlab.systems.autonomous import Held
from problems import made

GAINS = {"rnn": 2.5, "gru": 4.0, "lstm": 4.0}


def stack_of(name, seed, layers=2, size=4):
    """With weights so large that most have several fixed points."""
    system = made(name, seed, input_size=2, hidden_size=size, num_layers=layers)
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.normal_(std=GAINS[name] / size**0.5 if parameter.ndim > 1 else 0.3)
    return system


@pytest.mark.parametrize("name, seed", [("rnn", 2), ("gru", 0), ("lstm", 0)])
def test_layer_by_layer_finds_what_one_search_of_all_coordinates_does(name, seed):
    system = stack_of(name, seed)
    ds = fixed_points(system, starts=64)
    states = ds["fixed_point_state"].values
    assert (ds["status"].values == "fixed point").all()
    assert int(ds["index_sum"]) == 1
    held, generator = Held(frozen(system), torch.zeros(2, dtype=torch.float64)), np.random.default_rng(3)
    found = search(held, held, 128, None, where.orbits(held, generator), generator)  # all coordinates at once
    other = np.array([root.state for root in found.points]).reshape(-1, system.state_size)
    labels = merged(np.concatenate([states, other]))
    assert len(set(labels[: len(states)])) == len(states)  # none twice
    assert set(labels[len(states) :]) <= set(labels[: len(states)])  # none missed
    zero = torch.zeros(len(states), 2, dtype=torch.float64)
    moved = system.step(torch.as_tensor(states), zero).detach().numpy()
    np.testing.assert_allclose(moved, states, atol=1e-11 * max(1, np.abs(states).max()))
    for state, values in zip(states, ds["eigenvalue"].values, strict=True):
        J = torch.func.jacrev(lambda h: system.step(h, zero[0]))(torch.as_tensor(state)).detach().numpy()
        exact = np.linalg.eigvals(J)
        assert max(np.abs(exact - value).min() for value in values) < 1e-6


def test_paths_backwards_pair_all_fixed_points_but_one_with_others_of_the_other_index():
    """tanh(3 h + small coupling) of two units has nine fixed points; the indices of all of them sum to 1."""
    W = torch.tensor([[3.0, 0.1], [-0.2, 3.0]], dtype=torch.float64)
    identity = torch.eye(2, dtype=torch.float64)

    def value(h, rows=None):
        return torch.tanh(h @ W.T) - h

    def matrix(h, rows=None):
        return (1 - torch.tanh(h @ W.T).square()).unsqueeze(-1) * W - identity

    line = torch.linspace(-1, 1, 9, dtype=torch.float64)
    roots = solve(value, matrix, torch.cartesian_prod(line, line)).states
    _, first = np.unique(np.round(roots.numpy(), 6), axis=0, return_index=True)
    roots = roots[first]
    assert len(roots) == 9
    index = torch.linalg.det(-matrix(roots)).sign()
    assert index.sum() == 1
    center = torch.tensor([0.11, -0.07], dtype=torch.float64)
    partners = []
    for root in roots:
        end = end_of_path(Equations(value, matrix), 1.0, center, root)
        at_center = torch.equal(end, center)
        end = solve(value, matrix, end[None]).states[0]
        partners.append(-1 if at_center else int((roots - end).norm(dim=1).argmin()))
    assert partners.count(-1) == 1
    for number, partner in enumerate(partners):
        if partner >= 0:
            assert partners[partner] == number
            assert index[partner] == -index[number]


def test_branches_begin_at_these_points():
    system, inputs = stack_of("lstm", 1), np.random.default_rng(1).standard_normal((4, 50, 2))
    points = fixed_points(system, inputs)
    varied = varied_system(system, inputs, ("input[0]",), "zero", -1, (0.0,))
    states, missing = fixed_points_at(varied, 0.0, inputs, None, 0)
    labels = merged(np.concatenate([np.array(states), points["fixed_point_state"].values]))
    half = len(states)
    assert half > 1
    assert sorted(labels[:half]) == sorted(labels[half:])
    assert missing == points.attrs.get("incomplete", "")
