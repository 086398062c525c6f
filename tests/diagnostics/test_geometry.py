"""The dimension of states, components and manifolds against closed forms; a step beside its linear map."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import torch

import dynlab as dl
from dynlab.diagnostics.fixed_points.verification import held_map
from dynlab.diagnostics.geometry import geometry
from dynlab.diagnostics.geometry.tangent_map import tangent_map
from dynlab.diagnostics.geometry.unstable_manifold import growing_modes, unstable_manifolds
from dynlab.systems import create, from_function
from dynlab.systems.textbook import LinearMap
from problems import Field, Rule, driven_linear

generator = np.random.default_rng

A = np.array([[0.8, 0.4, 0.0, 0.0], [-0.1, 0.7, 0.3, 0.0], [0.0, 0.0, -0.5, 0.6], [0.2, 0.0, 0.0, 0.3]])
B = np.diag([1.0, 0.5, 2.0, 0.3])


def test_a_linear_system_has_the_covariance_of_lyapunovs_equation():
    autoregressive = geometry(driven_linear(A, B), generator(1).standard_normal((64, 300, 4)), transient=100, starts=2)
    covariance = scipy.linalg.solve_discrete_lyapunov(A, B @ B.T)
    ratio = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    error = float(autoregressive["participation_ratio_error"])
    assert error < 0.02
    assert float(autoregressive["participation_ratio"]) == pytest.approx(ratio, abs=4 * error)
    shares = np.linalg.eigvalsh(covariance)[::-1] / np.trace(covariance)
    errors = autoregressive["explained_variance_error"].values
    assert (errors < 0.01).all()
    assert (np.abs(autoregressive["explained_variance"].values - shares) < 4 * errors).all()


def test_a_growing_pair_is_the_ellipse_that_the_map_turns_through():
    S = np.array([[3.0, 1.0], [0.5, 1.0]])
    M = S @ (1.1 * np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])) @ np.linalg.inv(S)
    ds = geometry(driven_linear(M, np.eye(2)), generator(9).standard_normal((2, 5, 2)), starts=4)
    a, b = ds["unstable_direction"].values[0] @ ds["direction"].values
    assert [np.linalg.norm(a), a @ b] == pytest.approx([1, 0], abs=1e-14)
    assert np.linalg.norm(b) < 1
    angle = np.linspace(0, 6, 25)[:, None]
    image = (np.cos(angle) * a + np.sin(angle) * b) @ M.T / 1.1
    # on the same ellipse: with (a b) as a basis its image lies on the unit circle
    np.testing.assert_allclose(np.linalg.norm(np.linalg.solve(np.stack([a, b]).T, image.T), axis=0), 1, atol=1e-13)


def test_three_bits_are_a_cube_each_of_whose_edges_is_left_along_it():
    network = dl.load("gru-flipflop")
    cube = geometry(network, dl.driving_inputs(None, network, samples=8).inputs, starts=96)
    assert np.bincount(cube["unstable_directions"]).tolist() == [8, 12, 6, 1]
    position, growing = cube["fixed_point_position"].values, cube["unstable_directions"].values
    corners = position[growing == 0]
    ends = set()
    for saddle in np.flatnonzero(growing == 1):
        direction = cube["unstable_direction"].values[saddle, 0]
        first, second = np.argsort(np.linalg.norm(corners - position[saddle], axis=1))[:2]
        edge = corners[first] - corners[second]
        assert abs(edge @ direction) > 0.95 * np.linalg.norm(edge) * np.linalg.norm(direction)
        ends.add((min(first, second), max(first, second)))
        # and the curves along which orbits leave it end at these two corners
        assert set(cube["leads_to"].values[saddle].tolist()) == {first, second}
        np.testing.assert_allclose(cube["unstable_manifold"][saddle, :, 0], position[[saddle, saddle]], atol=1e-12)
        ended = cube["unstable_manifold"].values[saddle, :, -1]
        np.testing.assert_allclose(ended, position[cube["leads_to"].values[saddle]], atol=1e-2)
    assert np.bincount(np.array(list(ends)).ravel()).tolist() == [3] * 8


# The unstable manifold of 0 is the parabola v = u²: of (tanh λu, v/2) seen through (u, v) → (u, v + u²), and of a flow
# with u' = u − u³ and (v − u²)' = −(v − u²). It ends where abs(u) = tanh(abs(λ) abs(u)), of the flow at ±1.
ROOTS = {r: scipy.optimize.brentq(lambda u, r=r: np.tanh(r * u) - u, 1e-3, 1.0) for r in (1.6, 1.3)}
PARABOLAS = [
    (Rule(2, lambda s, u, v: (torch.tanh(1.6 * u), 0.5 * (v - u * u) + torch.tanh(1.6 * u) ** 2)), ROOTS[1.6]),
    (Rule(2, lambda s, u, v: (torch.tanh(-1.3 * u), 0.5 * (v - u * u) + torch.tanh(1.3 * u) ** 2)), ROOTS[1.3]),
    (Field(2, lambda s, u, v: (u - u**3, 2 * u * (u - u**3) - (v - u * u))), 1.0),
]


@pytest.mark.parametrize("system, root", PARABOLAS)
def test_an_unstable_manifold_is_the_curve_that_is_known(system, root):
    found = dl.fixed_points(system, starts=np.array([[0.0, 0.0], [root, root**2], [-root, root**2]]))
    held = held_map(system, found)
    curves, leads_to = unstable_manifolds(held, found, growing_modes(held, found), 10.0)
    (saddle,) = np.flatnonzero(found["unstable_directions"] == 1)
    np.testing.assert_allclose(np.abs(curves[saddle, :, -1, 0]), root, atol=1e-5)
    np.testing.assert_allclose(curves[saddle, ..., 1], curves[saddle, ..., 0] ** 2, atol=2e-3)  # chords of the curve
    lengths = np.linalg.norm(np.diff(curves[saddle], axis=1), axis=2)
    np.testing.assert_allclose(lengths, lengths.mean(axis=1, keepdims=True) * np.ones(63), rtol=0.05)
    if isinstance(system, Field):
        assert sorted(leads_to[saddle].tolist()) == sorted(np.flatnonzero(found["stable"] == 1).tolist())


def test_a_linear_step_is_its_own_linear_map():
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    values = [1.5, 0.9, -0.4, 0.1]
    ds = tangent_map(LinearMap((rotation @ np.diag(values) @ rotation.T).tolist()), [0.0] * 4)
    assert float(ds["linear_error"].max()) < 1e-14
    assert float(ds["valid_radius"]) == 0.5
    np.testing.assert_allclose(np.abs(ds["direction"].values @ rotation), np.eye(4)[:2], atol=1e-13)
    # on the plane of its first two eigenvectors the step is diagonal
    x, y = np.meshgrid(ds["x"], ds["y"])
    np.testing.assert_allclose(ds["displacement"], np.stack([0.5 * x, -0.1 * y], axis=-1), atol=1e-14)
    np.testing.assert_allclose(np.abs(ds["mode_direction"][:2]), np.eye(2), atol=1e-13)


def test_the_error_is_that_of_the_second_order():
    """Of h + h²/2, at p in the first coordinate: (h − p)²/2 exactly, so that the error is abs(h − p)²/2 over it."""
    system = from_function(lambda h, x: h + h.square() / 2, state_size=2)
    ds = tangent_map(system, [0.3, -0.2], reach=0.2, grid=9)
    x, y = np.meshgrid(ds["x"], ds["y"])
    distance = np.hypot(x, y)
    expected = np.divide(np.hypot(x**2, y**2) / 2, distance, out=np.zeros_like(x), where=distance > 0)
    np.testing.assert_allclose(ds["linear_error"], expected, atol=1e-14)


def test_of_a_flow_it_is_the_velocity_and_its_jacobian():
    """Lorenz's at the origin: σ (y − x), (ρ − z) x − y and x y − β z, with λ known of its first two units."""
    flow = create("lorenz")
    ds = tangent_map(flow, [0.0, 0.0, 0.0], reach=0.1, grid=5)
    sigma, rho = 10.0, 28.0
    values = np.linalg.eigvals([[-sigma, sigma], [rho, -1.0]])
    np.testing.assert_allclose(np.sort(ds["eigenvalue"])[[0, 2]], np.sort(values), rtol=1e-12)
    places = np.einsum("yxa,as->yxs", np.stack(np.meshgrid(ds["x"], ds["y"]), axis=-1), ds["direction"].values)
    moved = flow.double().velocity(torch.as_tensor(places), torch.zeros(0)).numpy() @ ds["direction"].values.T
    np.testing.assert_allclose(ds["displacement"], moved, atol=1e-12)
    assert ds["displacement"].attrs["units"] == "1/s"
