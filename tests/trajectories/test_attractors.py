"""The classifier of ends against orbits whose end is known: closed forms, published values, brute force."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.matrices import planar_matrix
from dynlab.systems import frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.equations import EquationFlow
from dynlab.systems.planar import planar_system
from dynlab.trajectories.attractors import DRIFTS, LEAVES, UNDECIDED, classify
from dynlab.trajectories.cycles import CHAOS, CURVE, CYCLE, TORUS, cycles


def held(system):
    return Held(frozen(system), torch.zeros(system.input_size).double())


def square(half, count):
    line = np.linspace(-half, half, count)
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


def beside(f, g=lambda y: 0.3 * y):
    return dl.from_function(lambda h, x: torch.stack([f(h[..., 0]), g(h[..., 1])], -1), state_size=2)


@pytest.mark.parametrize("r, period", [(3.5697, 64), (3.849, 12), (4.0, 0)])
def test_the_logistic_map_has_the_periods_of_its_cascade(r, period):
    """Periods 2^k up to r = 3.569945672, and 3 · 2^k up to 3.849452."""
    starts = np.stack([np.linspace(0.06, 0.97, 9), np.full(9, 0.1)], axis=1)
    ends = classify(held(beside(lambda h: r * h * (1 - h))), starts)
    one = ends.attractors[ends.labels[0]]
    assert (ends.labels == ends.labels[0]).all()
    assert one.period == period
    if period:
        slopes = np.abs(r * (1 - 2 * one.states[:, 0]))
        assert one.exponents[0] == pytest.approx(np.log(slopes).mean(), abs=1e-8)
    else:
        assert one.form == CHAOS
    if r == 4:
        assert abs(one.exponents[0] - np.log(2)) <= one.exponent_errors[0]


def circles(planes):
    """In each plane r → r + r (1 − r²)/5, turned by an angle of its own."""
    turns = torch.exp(1j * torch.tensor([np.sqrt(2), np.sqrt(3)][:planes], dtype=torch.float64))

    def step(h, x):
        z = torch.view_as_complex(h.unflatten(-1, (planes, 2)).contiguous())
        return torch.view_as_real(turns * z * (1 + (1 - z.abs().square()) / 5)).flatten(-2)

    return dl.from_function(step, state_size=2 * planes)


@pytest.mark.parametrize("planes, form", [(1, CURVE), (2, TORUS)])
def test_a_circle_and_a_product_of_two(planes, form):
    ends = classify(held(circles(planes)), 0.4 * np.random.default_rng(0).normal(size=(8, 2 * planes)))
    assert [one.form for one in ends.attractors] == [form]
    assert (ends.labels == 0).all()
    np.testing.assert_allclose(np.hypot(*ends.attractors[0].states[-9:, :2].T), 1, atol=1e-9)


def test_ends_in_a_relu_network_are_those_of_a_long_run():
    """h ← W relu(h) + b of 4 units, followed for 20,000 steps: what repeats then is a cycle, and nothing else is."""
    rng = np.random.default_rng(1)
    W, b = 1.4 * rng.standard_normal((4, 4)) / 2, rng.standard_normal(4)
    matrix, bias = torch.from_numpy(W), torch.from_numpy(b)
    starts = rng.standard_normal((24, 4))
    ends = classify(held(dl.from_function(lambda h, x: torch.relu(h) @ matrix.T + bias, 4)), starts)
    h = starts.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(20_000):
            h = np.maximum(h, 0) @ W.T + b
        orbit = [h]
        for _ in range(400):
            orbit.append(np.maximum(orbit[-1], 0) @ W.T + b)
    path = np.stack(orbit, axis=1)
    for label, states in zip(ends.labels.tolist(), path, strict=True):
        if not np.isfinite(states).all() or np.abs(states).max() > 1e9:
            assert label in (LEAVES, UNDECIDED)
            continue
        back = np.flatnonzero(np.abs(states[1:] - states[0]).max(axis=1) <= 1e-9 * np.abs(states).max())
        if label >= 0:
            assert ends.attractors[label].period == (back[0] + 1 if len(back) else 0)


def test_orbits_that_grow_evenly_drift_others_leave_and_a_line_of_fixed_points_is_not_isolated():
    ends = classify(held(planar_system(planar_matrix("identity"))), [[1.0, 2.0], [-1.0, 0.5], [0.0, 0.0]])
    assert sorted(ends.labels.tolist()) == [DRIFTS - 1, DRIFTS, 0]
    np.testing.assert_allclose(np.abs(ends.drifts), 0.1, atol=1e-5)  # at the first look
    assert [one.isolated for one in classify(held(beside(lambda h: h)), square(1.0, 4)).attractors] == [False]
    assert classify(held(beside(lambda h: 2 * h)), [[1.0, 0.0]]).labels.tolist() == [LEAVES]


def test_what_comes_to_rest_slowly_does():
    rate = 0.9995
    system = held(beside(lambda h: rate * h))
    known = cycles(system, 1.0, np.array([[0.1, 0.1]]))
    ends = classify(system, [[4.0, 1.0], [-2.0, 3.0]], known=known)
    assert ends.labels.tolist() == [0, 0]
    assert ends.attractors[0].exponents[0] == pytest.approx(np.log(rate), rel=1e-12)


@pytest.mark.parametrize("rate", [1.0, 0.05])
def test_van_der_pols_cycle_in_any_unit_of_time(rate):
    """Its period is 6.66328686 (many sources); the exponent is ∮ (1 − x²) dt / T."""
    flow = EquationFlow("r*y, r*((1 - x^2)*y - x)", r=rate)
    ends = classify(held(flow), [[2.0, 0.0], [0.1, 0.1], [0.0, 0.0]])
    cycle = next(one for one in ends.attractors if one.form == CYCLE)
    assert cycle.period == pytest.approx(6.6632868593 / rate, rel=1e-8)
    assert ends.labels[0] == ends.labels[1] != ends.labels[2]
    growth = np.trapezoid(1 - cycle.states[:, 0] ** 2, dx=cycle.period / (len(cycle.states) - 1)) / cycle.period
    assert cycle.exponents[0] == 0
    assert cycle.exponents[1] == pytest.approx(rate * growth, rel=1e-5)


def test_a_period_of_several_turns_is_that_of_one():
    flow = held(EquationFlow("y, -x + mu*y*(1 - x^2)", mu=1.0))
    (found,) = cycles(flow, 3 * 6.66328686, np.array([[2.0, 0.0]]))
    assert abs(found.period - 6.66328686) < 1e-7
    assert abs(found.multipliers[0] - 8.597e-4) < 1e-6


def test_the_standard_map_on_the_torus_has_two_fixed_points():
    """p' = p + sin θ, θ' = θ + p': rest needs p = 0 and sin θ = 0, and every turn counts as none."""

    def step(h, x):
        p = h[..., 1] + torch.sin(h[..., 0])
        return torch.stack([h[..., 0] + p, p], -1)

    torus = dl.from_function(step, 2, circle=[0, 1])
    ds = dl.fixed_points(torus, seed=0, starts=32)
    found = ds["fixed_point_state"].values
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], [[0, 0], [np.pi, 0]], atol=1e-9)
    assert sorted(ds["kind"].values.tolist()) == ["saddle", "undecided, near center"]
    turned = cycles(held(torus), 1.0, np.array([[0.1 + 4 * np.pi, -2 * np.pi], [0.1, 0.0]]))
    assert turned[0] is turned[1]


def test_a_pendulum_that_turns_over_comes_to_rest_below_and_a_steady_turn_is_no_drift():
    """θ' = θ + v', v' = 0.9 v − 0.1 sin θ; and θ' = θ + 1, whose orbits fill the circle."""

    def step(h, x):
        v = 0.9 * h[..., 1] - 0.1 * torch.sin(h[..., 0])
        return torch.stack([h[..., 0] + v, v], -1)

    ends = classify(held(dl.from_function(step, 2, circle=[0])), [[0.5, 0.0], [3.0, 4.0], [0.0, -9.0]])
    assert [one.kind for one in ends.attractors] == ["stable focus"]
    assert ends.labels.tolist() == [0, 0, 0]
    turning = dl.from_function(lambda h, x: torch.stack([h[..., 0] + 1, h[..., 1] / 2], -1), 2, circle=[0])
    ends = classify(held(turning), [[0.5, 0.1]])
    assert [one.form for one in ends.attractors] == [CURVE]


@pytest.mark.parametrize("speed, ends", [(0.25, {"cycle"}), (0.0, {"cycle"}), (2.5, set())])
def test_an_undamped_pendulum_swings_on_a_closed_orbit_and_one_that_turns_over_on_none(speed, ends):
    """From ±3π/2, where its linearisation has no rate; it turns over where y²/2 − cos x > 1."""
    starts = [[1.5 * np.pi, speed], [-1.5 * np.pi, -speed]]
    found = classify(Held(dl.EquationFlow("y, -sin(x)"), torch.zeros(0).double()), starts)
    assert {found.attractors[label].form for label in found.labels.tolist() if label >= 0} == ends
    assert {attractor.stable for attractor in found.attractors} <= {-1}
