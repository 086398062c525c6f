"""Quadratic Lyapunov functions against closed forms: P, the set in which they are proved to fall, and its rate."""

import numpy as np
import pytest

from dynlab import lyapunov_function, simulate
from dynlab.systems import create, from_function
from dynlab.systems.textbook import Linear, LinearMap
from problems import made

pytest.importorskip("flint")
SEARCHED = 1.03  # the search ends where a radius that fails is at most so many times one that is proved


def test_the_logistic_map_has_the_set_that_its_slope_allows():
    """At r = 2.5, h* = 0.6 and J = −0.5; the slope's modulus is below 1 for 0.3 < h < 0.7; V falls for |x| < 0.2."""
    ds = lyapunov_function(create("logistic", r=2.5), starts=16)
    row = ds.isel(fixed_point=int(np.argmax(ds.status.values == "proved")))
    assert float(row.fixed_point_state[0]) == pytest.approx(0.6, abs=1e-15)
    assert float(row.weights[0, 0]) ** 2 == pytest.approx(1 / (1 - 0.25), rel=1e-13)
    assert 0.1 / SEARCHED <= float(row.semi_axis[0]) <= 0.1
    reach = float(row.sampled_radius / row.weights[0, 0])
    step = float(row.level[1] / row.level[0])
    assert 0.2 / step <= reach <= 0.2
    assert sorted(ds.status.values) == ["not stable", "proved"]


def test_without_proofs_v_is_sampled_out_to_where_it_grows():
    """h/2 + c h³ brings h nearer to 0 for c h² < 1/2, however small that is; a function has no ball arithmetic."""
    cubic = 1e4
    ds = lyapunov_function(from_function(lambda h, x: h / 2 + cubic * h**3, state_size=1), starts=8, prove=False)
    row = ds.isel(fixed_point=int(np.argmax(ds.status.values == "sampled, not proved")))
    reach, border = float(row.sampled_radius / row.weights[0, 0]), (0.5 / cubic) ** 0.5
    assert border / float(row.level[1] / row.level[0]) <= reach <= border
    assert np.isnan(float(row.radius))


@pytest.mark.parametrize(
    "make, matrix", [(LinearMap, [[0.3, 4.0], [0.0, -0.4]]), (Linear, [[-1.0, 10.0], [0.0, -2.0]])]
)
def test_a_linear_system_falls_everywhere_at_its_norm_and_a_flow_at_its_logarithmic_norm(make, matrix):
    ds = lyapunov_function(make(matrix), starts=4)
    T, A = ds.weights.values[0], np.array(matrix)
    P, turned = T.T @ T, T @ A @ np.linalg.inv(T)
    is_flow = make is Linear
    residual = A.T @ P + P @ A + np.eye(2) if is_flow else A.T @ P @ A - P + np.eye(2)
    assert np.abs(residual).max() < 1e-12 * np.abs(P).max()
    norm = np.linalg.eigvalsh((turned + turned.T) / 2).max() if is_flow else np.linalg.norm(turned, 2)
    assert float(ds.rate[0]) == pytest.approx(norm, rel=1e-9)
    assert float(ds.radius[0]) > 1e8
    assert float(ds.sampled_rate[0]) <= float(ds.rate[0]) * (1 + 1e-14) or is_flow


def test_every_start_in_the_set_falls_at_every_step():
    """States on the border and within, by simulation: never above the proved rate."""
    system = made("gru", input_size=1, hidden_size=3)
    ds = lyapunov_function(system, starts=32)
    row = ds.isel(fixed_point=int(np.argmax(ds.status.values == "proved")))
    T, rest = row.weights.values, row.fixed_point_state.values
    generator = np.random.default_rng(0)
    u = generator.standard_normal((200, 3))
    u *= float(row.radius) * generator.uniform(0.01, 1, (200, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
    starts = rest + np.linalg.solve(T, u.T).T
    orbits = simulate(system, initial_state=starts, steps=5).trajectory.values
    sizes = np.linalg.norm((orbits - rest) @ T.T, axis=-1)
    assert (sizes[:, 1:] <= float(row.rate) * sizes[:, :-1] + 1e-14).all()
