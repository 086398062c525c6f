"""The fast ways to the ends of many orbits against the plain ones, on random maps and on those made to mislead them."""

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

import dynlab as dl
from dynlab.diagnostics.basins.cloud import MANY, Cloud
from dynlab.diagnostics.basins.ends import FEW, GONE, LONGEST_PERIOD, MOVING, SETTLED, carried, ends
from dynlab.systems.held import Held


def held(system):
    return Held(system.double().requires_grad_(False), torch.zeros(system.input_size).double())


def plain_periods(step, states):
    """The smallest p of at most `LONGEST_PERIOD` after which an orbit is where it was, for as many steps again."""
    rows = [states]
    for _ in range(2 * LONGEST_PERIOD):
        rows.append(step(rows[-1]))
    rows = np.stack(rows)
    allowed = SETTLED * (1 + np.linalg.norm(rows[: LONGEST_PERIOD + 1], axis=-1).max(axis=0))
    found = np.full(len(states), MOVING)
    for p in range(LONGEST_PERIOD, 1, -1):
        moved = np.linalg.norm(rows[p : p + LONGEST_PERIOD + 1] - rows[: LONGEST_PERIOD + 1], axis=-1).max(axis=0)
        found[moved <= allowed] = p
    return found


@pytest.mark.parametrize("size", [1, 2, 3, FEW, FEW + 1])
@pytest.mark.parametrize("name", ["vanilla", "feedback", "antisymmetric"])
def test_steps_coordinate_by_coordinate_are_the_systems_own(name, size):
    torch.manual_seed(size)
    h = held(dl.create(name, input_size=1, state_size=size))
    starts = np.random.default_rng(size).standard_normal((1000, size)) * np.logspace(-8, 3, 1000)[:, None]
    states = torch.from_numpy(starts)
    for _ in range(5):
        states = h.moved(states)
    np.testing.assert_allclose(carried(h, starts, 5), states.numpy(), rtol=1e-12, atol=1e-14)


def test_henons_step_is_what_it_says_in_both_layouts():
    states = np.random.default_rng(0).standard_normal((100, 2)) * np.logspace(-8, 80, 100)[:, None]
    x, y = states.T
    expected = np.stack([1 - 1.4 * x**2 + y, 0.3 * x], axis=1)
    for given in (torch.from_numpy(states), torch.from_numpy(np.asfortranarray(states))):
        np.testing.assert_allclose(dl.create("henon").step(given, torch.zeros(0)).numpy(), expected, rtol=1e-12)


def turning_in(p, radius):
    """Turns by 1/p of a circle and comes to the circle of that radius."""
    c, s = np.cos(2 * np.pi / p), np.sin(2 * np.pi / p)

    def step(h):
        length = (h**2).sum(-1)[..., None] ** 0.5
        x, y = h[..., :1], h[..., 1:]
        joined = torch.cat if isinstance(h, torch.Tensor) else np.concatenate
        return joined([c * x - s * y, s * x + c * y], -1) * (radius / length) ** 0.5

    return step


@pytest.mark.parametrize("radius", [1.0, 1e4])
@pytest.mark.parametrize("p", [2, 3, 7, 63, 64, 65, 64.0000001, 2.5, np.pi])
def test_periods_are_those_of_all_orbits_looked_at_in_full(p, radius):
    step = turning_in(p, radius)
    system = held(dl.from_function(lambda h, x: step(h), state_size=2))
    found = ends(system, np.random.default_rng(0).standard_normal((300, 2)), 200, 1e6, 2.0**28)
    assert found.period.tolist() == plain_periods(step, found.states).tolist()


def test_periods_beside_orbits_that_become_no_number_or_grow_out_of_all_bounds():
    def step(h):
        x, y = h[..., :1], h[..., 1:]
        joined, where = (torch.cat, torch.where) if isinstance(h, torch.Tensor) else (np.concatenate, np.where)
        flips = joined([-x, y + 1], -1)  # y counts steps for those that begin above 0
        grows = joined([where(y > 100 + 20, x * 1e30, x * 1.5), y + 1], -1)
        ends_as_nan = joined([where(y > 100 + 10, x * np.nan, x), y + 1], -1)
        rests = joined([-x, y], -1)
        return where(abs(x) < 1.0, rests, where(abs(x) < 2.0, flips, where(x > 0, grows, ends_as_nan)))

    system = held(dl.from_function(lambda h, x: step(h), state_size=2))
    starts = np.stack([np.linspace(-3, 3, 301), np.zeros(301)], axis=1)
    with np.errstate(all="ignore"):
        found = ends(system, starts, 100, 1e300, 2.0**28)
        inside = ~np.isin(found.period, [GONE, 1])
        assert found.period[inside].tolist() == plain_periods(step, found.states)[inside].tolist()
    assert (found.period == 2).any()
    assert (found.period == MOVING).any()


@pytest.mark.parametrize("near", [0.0, 1e-200, 0.01, 0.3, np.inf])
@pytest.mark.parametrize("count", [0, 10, MANY + 1])
def test_what_is_near_an_orbit_is_found_without_the_distance_of_what_is_not(near, count):
    rng = np.random.default_rng(0)
    orbit = rng.standard_normal((500, 2))
    beside = orbit[:7] + np.array([near if near < 1 else 0, 0])
    states = np.concatenate([rng.standard_normal((count, 2)), orbit[:7], beside])
    cloud = Cloud(cKDTree(orbit), near, 0)
    assert cloud.holds(states).tolist() == (cKDTree(orbit).query(states)[0] <= near).tolist()
