"""Fixed points of a map whose coordinates are measured in other units, and of one without a derivative somewhere."""

import functools

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.fixed_points.starts import unit_of
from dynlab.errors import UserError
from dynlab.systems import from_function
from dynlab.systems.held import Held


def product(h):
    return torch.tanh(2 * h)


def henon(h):
    return torch.stack([1 - 1.4 * h[..., 0].square() + h[..., 1], 0.3 * h[..., 0]], dim=-1)


def sines(h):
    return torch.stack([1.2 * torch.sin(3 * h[..., 0]), torch.tanh(h[..., 0] - 1.5 * h[..., 1])], dim=-1)


def contraction(h):
    return torch.tanh(0.5 * h)


def logistic(h):
    return 3.7 * h * (1 - h)  # most orbits diverge


UNITS = [(1e-8, 1e8), (3e6, 7e-4)]


def listed(ds, units):
    """States in the first unit, kinds and multipliers, in the order of the states."""
    states = ds["fixed_point_state"].values * units
    order = np.lexsort(np.round(states, 6).T)
    return states[order], ds["kind"].values[order].tolist(), ds["eigenvalue"].values[order]


@functools.cache
def plain(step, size):
    return listed(dl.fixed_points(from_function(lambda h, x: step(h), state_size=size), starts=16), np.ones(size))


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("step, size", [(product, 2), (henon, 2), (sines, 2), (contraction, 1), (logistic, 1)])
def test_a_change_of_units_of_single_coordinates_gives_the_same_points(step, size, units):
    d = torch.tensor(units[:size], dtype=torch.float64)
    other = dl.fixed_points(from_function(lambda h, x: step(h * d) / d, state_size=size), starts=16)
    states, kinds, eigenvalues = plain(step, size)
    found = listed(other, d.numpy())
    np.testing.assert_allclose(found[0], states, atol=1e-9)
    assert found[1] == kinds
    np.testing.assert_allclose(found[2], eigenvalues, atol=1e-7)
    assert set(other["status"].values) == {"fixed point"}


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e30])
def test_the_roots_of_a_quadratic_map_are_found_at_every_scale(scale):
    ds = dl.fixed_points(from_function(lambda h, x: h + 0.1 * (h * h / scale - scale), state_size=1), starts=16)
    np.testing.assert_allclose(np.sort(ds["fixed_point_state"].values[:, 0]) / scale, [-1, 1], rtol=1e-12)
    assert sorted(ds["stable"].values.tolist()) == [0, 1]


def without_derivative(h, x):
    """|h|^(3/2) sign h, for which autograd has 0 · ∞ at 0: the fixed points are −1, 0 and 1."""
    return 1.0 * h * h.abs() ** 0.5


@pytest.mark.parametrize("size", [1, 2])
def test_a_point_without_a_derivative_is_listed_and_left_undecided(size):
    ds = dl.fixed_points(from_function(without_derivative, state_size=size), starts=16)
    at_zero = (ds["fixed_point_state"].values == 0).any(axis=1)
    assert np.isnan(ds["eigenvalue"].values[at_zero]).all()
    assert (ds["stable"].values[at_zero] == -1).all()
    ends = ds["fixed_point_state"].values[~at_zero]
    np.testing.assert_allclose(np.abs(ends), 1, atol=1e-12)
    assert len(ends) == 2**size


def test_diagnostics_of_a_map_without_a_derivative_say_so_or_leave_the_point_out():
    system = from_function(without_derivative, state_size=2)
    assert dl.modes(system).attrs["verdict"]
    assert dl.basins(system, grid=5, extent=0.9).attrs["verdict"]
    with pytest.raises(UserError, match="is no number"):
        dl.phase_plane(system)


@pytest.mark.parametrize("weights, total", [([[2.0, 0.5], [-0.3, 1.5]], 1), ([[0.3, 0.0], [0.1, -0.4]], 1)])
def test_the_sum_of_indices_of_a_bounded_map_is_one(weights, total):
    rnn = torch.nn.RNN(1, 2).double()
    with torch.no_grad():
        [p.zero_() for p in rnn.parameters()]
        rnn.weight_hh_l0.copy_(torch.tensor(weights))
    ds = dl.fixed_points(dl.from_module(rnn), starts=16)
    indices = np.sign(np.prod(1 - ds["eigenvalue"].values, axis=1).real)
    assert int(ds["index_sum"]) == indices.sum() == total


def test_no_sum_of_indices_is_said_of_a_map_that_is_not_known_to_be_bounded():
    assert "index_sum" not in dl.fixed_points(from_function(lambda h, x: torch.cos(h), state_size=1), starts=16)


def test_a_map_whose_orbits_grow_without_end_gives_no_coordinate_a_size():
    """h ← 1 − 1.5 h: from every small state an orbit is as far out after as many steps."""
    growing = from_function(lambda h, x: 1 - 1.5 * h, state_size=3)
    assert unit_of(Held(growing, torch.zeros(0, dtype=torch.float64))) == 1
    assert dl.fixed_points(growing)["fixed_point_state"].values == pytest.approx(np.full((1, 3), 0.4))


@pytest.mark.parametrize("far", [1e7, -3e8, 1e9])
def test_points_far_from_0_beside_their_distances_are_as_many_as_near_it(far):
    ds = dl.fixed_points(from_function(lambda h, x: far + torch.tanh(2 * (h - far)), state_size=1), starts=16)
    roots = np.array([-0.9575040240772687, 0.9575040240772687, 0.0])  # stable ones first
    np.testing.assert_allclose(ds["fixed_point_state"].values[:, 0] - far, roots, atol=1e-15 * abs(far))
    assert ds["stable"].values.tolist() == [1, 1, 0]


@pytest.mark.parametrize("size", [1e100, 1e160, 1e300])
def test_states_whose_squares_overflow_have_their_fixed_point(size):
    ds = dl.fixed_points(from_function(lambda h, x: h / 2 + size, state_size=2), starts=16)
    np.testing.assert_allclose(ds["fixed_point_state"].values, [[2 * size, 2 * size]], rtol=1e-15)
    assert ds["stable"].values.tolist() == [1]


@pytest.mark.parametrize("unit", [1e-14, 1e-30, 1e-100])
def test_a_function_with_powers_is_the_same_in_a_tiny_unit(unit):
    def scaled(h, x):
        return torch.stack([unit - 1.4 * h[..., 0] ** 2 / unit + h[..., 1], 0.3 * h[..., 0]], -1)

    found = dl.fixed_points(from_function(scaled, state_size=2))
    roots = np.roots([1.4, 0.7, -1])  # x = 1 − 1.4 x² + 0.3 x
    states = found.fixed_point_state.values[np.argsort(found.fixed_point_state.values[:, 0])] / unit
    np.testing.assert_allclose(states, np.stack([np.sort(roots), 0.3 * np.sort(roots)], axis=1), rtol=1e-12)


def test_where_a_small_orbit_ends_is_not_said_to_be_0():
    small = from_function(lambda h, x: 1e-12 * torch.tanh(2e12 * h), state_size=1)
    said = dl.lyapunov(small, steps=400, initial_state=[3e-13]).attrs["verdict"]
    assert "ends at the stable fixed point at (9.575e−13)" in said  # 0 is unstable


@pytest.mark.parametrize("most", [1e-6, 1e6, 1e12])
def test_a_population_that_dies_out_below_a_fifth_of_its_most_has_three_points_however_it_is_counted(most):
    few = 0.2 * most  # what begins below ends at 0, and what begins far above diverges
    ds = dl.fixed_points(from_function(lambda h, x: h + 0.1 * h * (h / few - 1) * (1 - h / most), state_size=1))
    order = np.argsort(ds["fixed_point_state"].values[:, 0])
    np.testing.assert_allclose(ds["fixed_point_state"].values[order, 0] / most, [0, 0.2, 1], rtol=1e-12)
    np.testing.assert_allclose(ds["eigenvalue"].values[order, 0].real, [0.9, 1.08, 0.6], rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_two_circles_that_attract_only_from_nearby_are_two_in_any_unit(unit):
    def turned(h, x):
        radius = (h / unit).norm(dim=-1, keepdim=True)
        return h * (1 - 0.05 * (radius - 1) * (radius - 4))

    ds = dl.fixed_points(from_function(turned, state_size=2))
    assert ds["continuum_dimension"].values.tolist() == [0, 1, 1]


def host_and_parasite(a):
    """Nicholson and Bailey: N' = 2 N e^(−aP), P' = N (1 − e^(−aP))."""

    def step(h, x):
        escaped = torch.exp(-a * h[..., 1])
        return torch.stack([2 * h[..., 0] * escaped, h[..., 0] * (1 - escaped)], dim=-1)

    p = np.log(2) / a
    return step, 2, [[0.0, 0.0], [2 * p, p]]


def threshold(low, high):
    """Allee's effect: h + h (h/low − 1)(1 − h/high)/10."""
    return (lambda h, x: h + 0.1 * h * (h / low - 1) * (1 - h / high)), 1, [[0.0], [low], [high]]


def bent(at):
    """A unit that is linear up to a threshold far from the origin: h = (h − at)·10 + h/2."""
    return (lambda h, x: 0.5 * h + 10 * torch.relu(h - at)), 1, [[0.0], [10 * at / 9.5]]


def predators(scale):
    """Rosenzweig and MacArthur's prey and predators, Euler's step of 0.01."""

    def step(h, x):
        prey, eaten = h[..., 0], h[..., 0] * h[..., 1] / (h[..., 0] + 2 * scale)
        return h + 0.01 * torch.stack([prey * (1 - prey / (5 * scale)) - eaten, 0.5 * eaten - 0.2 * h[..., 1]], dim=-1)

    prey = 4 / 3 * scale
    return step, 2, [[0.0, 0.0], [5 * scale, 0.0], [prey, (1 - prey / (5 * scale)) * (2 * scale + prey)]]


@pytest.mark.parametrize(
    "made",
    [
        *(host_and_parasite(a) for a in (0.068, 6.8e-4, 6.8e-7)),
        *(threshold(*ends) for ends in ((0.1, 1.0), (10.0, 100.0), (2e4, 1e6))),
        *(bent(at) for at in (0.5, 5.0, 50.0)),
        *(predators(scale) for scale in (1.0, 1e6)),
    ],
)
def test_points_far_outside_of_the_box_of_random_starts_are_found(made):
    step, size, expected = made
    ds = dl.fixed_points(from_function(step, state_size=size))
    found = ds["fixed_point_state"].values[ds["status"].values == "fixed point"]
    assert len(found) == len(expected)
    off = np.abs(found[:, None] - np.array(expected)).max(axis=-1)
    assert (off.min(axis=0) <= 1e-7 * np.max(expected)).all()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("omega, gain", [(0.05, 0.5), (0.02, 0.9), (0.05, 0.9), (0.3, 0.9), (0.012, 0.123)])
def test_a_jump_is_no_fixed_point(omega, gain, seed):
    """The circle map folded mod 1: h is fixed where sin 2πh = 2πΩ/K, and nowhere near its jump."""

    def step(h, x):
        return torch.remainder(h + omega - gain / (2 * np.pi) * torch.sin(2 * np.pi * h), 1.0)

    ds = dl.fixed_points(from_function(step, state_size=1), seed=seed)
    sine = 2 * np.pi * omega / gain
    first = np.arcsin(sine) / (2 * np.pi) if sine < 1 else np.nan
    expected = [first, 0.5 - first] if sine < 1 else []
    found = np.sort(ds["fixed_point_state"].values[ds["status"].values == "fixed point", 0])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_points_that_are_known_exactly_are_two_though_a_derivative_is_infinite():
    ds = dl.fixed_points(from_function(lambda h, x: h.abs().sqrt(), state_size=1))
    np.testing.assert_allclose(np.sort(ds["fixed_point_state"].values[:, 0]), [0, 1], atol=1e-12)
    assert ds.attrs["verdict"].startswith("2 fixed points (1 stable and 1 undecided)")


@pytest.mark.parametrize("little", [1e-9, 1e-8])
def test_a_small_root_beside_ordinary_ones_is_not_the_size_of_all(little):
    """Orbits of every small size end near 1e-9: that is not what all states are measured in."""

    def growth(x):
        return x + 0.3 * x * (x - 1) * (3 - x) + little

    for f, size in (
        (lambda h, x: growth(h), 1),
        (lambda h, x: torch.stack([growth(h[..., 0]), h[..., 1] / 2], -1), 2),
    ):
        found = dl.fixed_points(from_function(f, state_size=size))
        roots = np.roots([-0.3, 1.2, -0.9, little])
        np.testing.assert_allclose(np.sort(found["fixed_point_state"].values[:, 0]), np.sort(roots), rtol=1e-6)


def test_a_point_is_verified_in_its_own_size_and_not_in_the_unit_of_others():
    """h + 0.1 h sin(ln abs(h)): 0, and exp(k π) both ways, up to where the unit of all is 1e12."""
    ds = dl.fixed_points(from_function(lambda h, x: h + 0.1 * h * torch.sin(torch.log(h.abs() + 1e-30)), state_size=1))
    states, distances = np.abs(ds["fixed_point_state"].values[:, 0]), ds["fsolve_distance"].values
    verified = ds["status"].values == "fixed point"
    assert (distances[verified] <= 1e-7 * np.maximum(1, states[verified])).all()
    away = states[verified & (states > 0)]
    nearest = np.exp(np.pi * np.round(np.log(away) / np.pi))
    np.testing.assert_allclose(away, nearest, rtol=1e-9)
