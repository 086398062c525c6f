"""The dimension of states against stationary covariances, components against numpy, and a cube of fixed points."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import torch

import dynlab as dl
from dynlab import schema
from dynlab.diagnostics.fixed_points.at_points import held_map
from dynlab.diagnostics.geometry import geometry
from dynlab.diagnostics.geometry.participation import jackknife, participation_ratio
from dynlab.diagnostics.geometry.unstable_manifold import STEPS, _followed, growing_modes, unstable_manifolds
from dynlab.errors import UserError
from dynlab.numerics.eigenvectors import real_axes
from dynlab.systems import create, from_function

generator = np.random.default_rng

A = np.array([[0.8, 0.4, 0.0, 0.0], [-0.1, 0.7, 0.3, 0.0], [0.0, 0.0, -0.5, 0.6], [0.2, 0.0, 0.0, 0.3]])
B = np.diag([1.0, 0.5, 2.0, 0.3])


def linear(matrix, drive):
    """h_t = M h_{t−1} + D x_t."""
    M, D = (torch.as_tensor(np.asarray(each, dtype=float)) for each in (matrix, drive))
    return from_function(lambda h, x: h @ M.T.to(h) + x @ D.T.to(h), state_size=M.shape[0], input_size=D.shape[1])


def ratio_of(covariance):
    return np.trace(covariance) ** 2 / np.trace(covariance @ covariance)


# --- The dimension ---
def test_an_isotropic_gaussian_has_all_its_dimensions():
    """From N states E tr S² = n + n (n + 1)/N, so that the ratio is n/(1 + (n + 1)/N) to first order."""
    n, samples, steps = 6, 64, 100
    ds = geometry(linear(np.zeros((n, n)), np.eye(n)), generator(0).standard_normal((samples, steps, n)), starts=2)
    error = float(ds["participation_ratio_error"])
    expected = n / (1 + (n + 1) / (samples * steps))
    assert error < 0.01
    assert float(ds["participation_ratio"]) == pytest.approx(expected, abs=4 * error)
    np.testing.assert_allclose(ds["explained_variance"].sum(), 1, atol=1e-14)


@pytest.fixture(scope="module")
def autoregressive():
    return geometry(linear(A, B), generator(1).standard_normal((128, 400, 4)), transient=100, starts=2)


def test_a_linear_system_has_the_covariance_of_lyapunovs_equation(autoregressive):
    covariance = scipy.linalg.solve_discrete_lyapunov(A, B @ B.T)
    error = float(autoregressive["participation_ratio_error"])
    assert error < 0.02
    assert float(autoregressive["participation_ratio"]) == pytest.approx(ratio_of(covariance), abs=4 * error)
    shares = np.linalg.eigvalsh(covariance)[::-1] / np.trace(covariance)
    errors = autoregressive["explained_variance_error"].values
    assert (errors < 0.01).all()
    assert (np.abs(autoregressive["explained_variance"].values - shares) < 4 * errors).all()


def test_the_standard_error_is_the_spread_between_repetitions():
    covariance = scipy.linalg.solve_discrete_lyapunov(A, B @ B.T)
    root = np.linalg.cholesky(covariance)
    found = []
    for repetition in range(200):
        states = generator(repetition).standard_normal((20, 15, 4)) @ root.T
        found.append((ratio_of(np.cov(states.reshape(-1, 4).T, bias=True)), jackknife(states).ratio))
    ratios, errors = np.array(found).T
    assert ratios.std(ddof=1) / errors.mean() == pytest.approx(1, abs=0.15)


def test_the_jackknife_leaves_out_one_sequence_at_a_time():
    states = generator(2).standard_normal((5, 7, 3)) @ np.diag([3.0, 2.0, 1.0]) + 4
    without = [ratio_of(np.cov(np.delete(states, s, axis=0).reshape(-1, 3).T)) for s in range(5)]
    expected = np.sqrt(4 / 5 * ((without - np.mean(without)) ** 2).sum())
    assert jackknife(states).ratio == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1e-170, 1.0, 1e100])
def test_states_on_a_line_have_one_dimension(size):
    line = np.outer(np.arange(1, 6), [1, 0, 0, 0, 0])
    ds = geometry(linear(np.zeros((3, 3)), np.ones((3, 5)) * [[1], [-2], [2]]), 1e-9 * line[None], starts=2)
    assert float(ds["participation_ratio"]) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.abs(ds["direction"].values[0]), np.array([1, 2, 2]) / 3, atol=1e-12)
    assert participation_ratio(size * np.array([1.0, 1.0, 0.0])) == pytest.approx(2, abs=1e-15)


# --- Components and projections ---
def test_components_are_those_of_numpy():
    system = create("vanilla", input_size=2, state_size=5).double()
    inputs = generator(3).standard_normal((4, 30, 2))
    ds = geometry(system, inputs, components=5, starts=2)
    states = dl.simulate(system, inputs)["trajectory"].values
    counted = states[:, 1:].reshape(-1, 5)
    _, sizes, axes = np.linalg.svd(counted - counted.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(ds["explained_variance"], sizes**2 / (sizes**2).sum(), rtol=1e-11)
    overlap = ds["direction"].values @ axes.T
    np.testing.assert_allclose(np.abs(overlap), np.eye(5), atol=1e-12)
    expected = (states - counted.mean(axis=0)) @ axes.T * np.sign(np.diag(overlap))
    np.testing.assert_allclose(ds["trajectory"], expected, atol=1e-13)
    back = ds["trajectory"].values @ ds["direction"].values + ds["origin"].values
    np.testing.assert_allclose(back, states, atol=1e-14)


def test_a_rotation_of_the_state_space_changes_nothing():
    rotation = torch.as_tensor(np.linalg.qr(generator(4).standard_normal((6, 6)))[0])
    W = torch.as_tensor(generator(5).standard_normal((6, 6)))
    V = torch.as_tensor(generator(6).standard_normal((6, 2)))

    def step(h, x):
        return torch.tanh(h @ W.T + x @ V.T)

    inputs = generator(7).standard_normal((3, 50, 2))
    plain = geometry(from_function(step, 6, 2), inputs, starts=32)
    turned = geometry(from_function(lambda h, x: step(h @ rotation, x) @ rotation.T, 6, 2), inputs, starts=32)
    np.testing.assert_allclose(turned["participation_ratio"], plain["participation_ratio"], rtol=1e-10)
    np.testing.assert_allclose(turned["participation_ratio_error"], plain["participation_ratio_error"], rtol=1e-8)
    signs = np.sign((turned["direction"].values @ rotation.numpy() * plain["direction"].values).sum(axis=1))
    np.testing.assert_allclose(turned["trajectory"], signs * plain["trajectory"], atol=1e-9)
    # starts are random in other coordinates: the origin is a fixed point of both
    (here,), (there,) = (
        np.flatnonzero(np.linalg.norm(ds["fixed_point_state"], axis=1) < 1e-9) for ds in (plain, turned)
    )
    ours, theirs = plain.isel(fixed_point=here), turned.isel(fixed_point=there)
    np.testing.assert_allclose(theirs["fixed_point_position"], signs * ours["fixed_point_position"], atol=1e-9)
    np.testing.assert_allclose(theirs["fixed_point_distance"], ours["fixed_point_distance"], atol=1e-9)
    lengths = [np.linalg.norm(np.nan_to_num(ds["unstable_direction"].values), axis=-1) for ds in (ours, theirs)]
    assert lengths[0].any()
    np.testing.assert_allclose(lengths[1], lengths[0], atol=1e-9)


# --- Directions in which orbits leave ---
def test_the_directions_of_a_saddle_are_its_eigenvectors():
    """Right eigenvectors of [[2, 1], [0, ½]] are (1, 0) and (−2/3, 1) up to length."""
    ds = geometry(linear([[2.0, 1.0], [0.0, 0.5]], np.eye(2)), generator(8).standard_normal((2, 5, 2)), starts=4)
    found = ds["unstable_direction"].values[0] @ ds["direction"].values
    np.testing.assert_allclose(np.abs(found[0]), [1, 0], atol=1e-14)
    assert np.isnan(found[1]).all()
    assert "do not certainly grow" in schema.flags(ds)["unstable_direction"]


def test_a_growing_pair_is_the_ellipse_that_the_map_turns_through():
    S = np.array([[3.0, 1.0], [0.5, 1.0]])
    M = S @ (1.1 * np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])) @ np.linalg.inv(S)
    ds = geometry(linear(M, np.eye(2)), generator(9).standard_normal((2, 5, 2)), starts=4)
    a, b = ds["unstable_direction"].values[0] @ ds["direction"].values
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-14)
    assert a @ b == pytest.approx(0, abs=1e-14)
    assert np.linalg.norm(b) < 1
    angle = np.linspace(0, 6, 25)[:, None]
    image = (np.cos(angle) * a + np.sin(angle) * b) @ M.T / 1.1
    # on the same ellipse: with (a b) as a basis its image lies on the unit circle
    np.testing.assert_allclose(np.linalg.norm(np.linalg.solve(np.stack([a, b]).T, image.T), axis=0), 1, atol=1e-13)


def test_the_axes_of_an_ellipse_do_not_depend_on_the_phase():
    vector = np.array([1 + 2j, 0.3 - 1j, -2j])
    for phase in (0.3, 2.0, -1.1):
        turned = real_axes(vector * np.exp(1j * phase))
        np.testing.assert_allclose(np.abs(turned @ real_axes(vector).T), np.diag(np.sum(turned**2, axis=1)), atol=1e-14)


def test_a_defective_pair_has_no_direction_of_its_own():
    ds = geometry(linear([[1.5, 1.0], [0.0, 1.5]], np.eye(2)), generator(10).standard_normal((2, 5, 2)), starts=4)
    assert ds["unstable_directions"].item() == 2
    assert np.isnan(ds["unstable_direction"]).all()


@pytest.fixture(scope="module")
def cube():
    network = dl.load("gru-flipflop")
    return geometry(network, dl.driving_inputs(None, network, samples=8).inputs, starts=96)


def test_three_bits_are_a_cube(cube):
    growing, counts = np.unique(cube["unstable_directions"], return_counts=True)
    assert dict(zip(growing.tolist(), counts.tolist(), strict=True)) == {0: 8, 1: 12, 2: 6, 3: 1}
    assert "27 fixed points (8 stable, 12 with 1 growing direction" in cube.attrs["verdict"]
    assert "24 end at a stable fixed point" in cube.attrs["verdict"]
    assert (cube["residual"] < 1e-12).all()


def test_each_edge_of_the_cube_is_left_along_it(cube):
    position, growing = cube["fixed_point_position"].values, cube["unstable_directions"].values
    corners = position[growing == 0]
    ends = set()
    for saddle in np.flatnonzero(growing == 1):
        direction = cube["unstable_direction"].values[saddle, 0]
        first, second = np.argsort(np.linalg.norm(corners - position[saddle], axis=1))[:2]
        edge = corners[first] - corners[second]
        assert abs(edge @ direction) > 0.95 * np.linalg.norm(edge) * np.linalg.norm(direction)
        assert np.linalg.norm(direction) > 0.9  # of 1: the three components hold the edge
        ends.add((min(first, second), max(first, second)))
        # and the curves along which orbits leave it end at these two corners
        assert set(cube["leads_to"].values[saddle].tolist()) == {first, second}
        np.testing.assert_allclose(cube["unstable_manifold"][saddle, :, 0], position[[saddle, saddle]], atol=1e-12)
        ended = cube["unstable_manifold"].values[saddle, :, -1]
        np.testing.assert_allclose(ended, position[cube["leads_to"].values[saddle]], atol=1e-2)
    assert len(ends) == 12
    assert np.bincount(np.array(list(ends)).ravel()).tolist() == [3] * 8


# --- Unstable manifolds ---
def bent(multiplier, u):
    """The linear saddle (λ u, v/2) seen through (u, v) → (u, v + u²): its unstable manifold is the parabola v = u²."""

    def step(h, x):
        image = u(multiplier * h[..., 0])
        return torch.stack([image, 0.5 * (h[..., 1] - h[..., 0].square()) + image.square()], dim=-1)

    return from_function(step, 2, 1)


@pytest.mark.parametrize("multiplier", [1.6, 1.01, -1.3])
def test_a_manifold_is_the_curve_that_is_known(multiplier):
    system = bent(multiplier, torch.tanh)
    found = dl.fixed_points(system, starts=np.zeros((1, 2)))
    held = held_map(system, found)
    starts = np.array([[[1e-4, 0.0], [1.0001e-4, 0.0]], [[-1e-4, 0.0], [-1.0001e-4, 0.0]]])
    traced = np.concatenate(_followed(held, starts, 10.0, STEPS)[0])
    np.testing.assert_allclose(traced[..., 1], traced[..., 0] ** 2, atol=1.1e-8)  # it starts 1e-8 below
    curves = unstable_manifolds(held, found, growing_modes(held, found), 10.0).curves[0]
    ends = np.abs(curves[:, -1, 0])
    # up to the roots of abs(u) = tanh(abs(λ) abs(u)), on either side
    root = scipy.optimize.brentq(lambda r: np.tanh(abs(multiplier) * r) - r, 1e-3, 1.0)
    np.testing.assert_allclose(ends, root, atol=1e-5)
    np.testing.assert_allclose(np.sign(curves[:, -1, 0]), np.sign(curves[:, 1, 0]))
    np.testing.assert_allclose(curves[..., 1], curves[..., 0] ** 2, atol=2e-3)  # chords of the curve
    lengths = np.linalg.norm(np.diff(curves, axis=1), axis=2)
    np.testing.assert_allclose(lengths, lengths.mean(axis=1, keepdims=True) * np.ones(63), rtol=0.05)


def test_manifolds_lead_from_each_saddle_to_its_two_neighbours():
    """tanh(2 h) in each of two units: four memories (± r, ± r), four saddles between neighbours, on straight lines."""
    ds = geometry(from_function(lambda h, x: torch.tanh(2 * h) + 0 * x, 2, 2), np.zeros((2, 20, 2)), starts=64)
    states = ds["fixed_point_state"].values
    saddles = np.flatnonzero(ds["unstable_directions"] == 1)
    assert len(saddles) == 4
    for saddle in saddles:
        ends = states[ds["leads_to"].values[saddle]]
        np.testing.assert_allclose(ends.mean(axis=0), states[saddle], atol=1e-12)
        curve = ds["unstable_manifold"].values[saddle] @ ds["direction"].values + ds["origin"].values
        across = np.abs(states[saddle]).argmax()
        np.testing.assert_allclose(curve[..., across], states[saddle, across], atol=1e-12)
    others = ds["unstable_directions"].values != 1
    assert np.isnan(ds["unstable_manifold"].values[others]).all()
    assert (ds["leads_to"].values[others] == -1).all()


def test_a_manifold_that_leaves_is_cut():
    ds = geometry(linear([[2.0, 0.0], [0.0, 0.5]], np.eye(2)), np.zeros((2, 9, 2)), starts=4, initial_state=[0.5, 0.5])
    assert np.isfinite(ds["unstable_manifold"]).all()
    states = ds["unstable_manifold"].values @ ds["direction"].values + ds["origin"].values
    assert 1 < np.abs(states).max() <= 3 * 256
    np.testing.assert_allclose(states[0, :, :, 1], 0, atol=1e-12)


def test_a_curve_is_followed_as_far_as_is_asked():
    """Its last start is at 1e-4 λ^{2·3/4}, as 4 starts lie between one and its second image, and 10 steps go on."""
    system = linear([[1.2, 0.0], [0.0, 0.5]], np.eye(2))
    ds = geometry(system, np.zeros((2, 9, 2)), starts=4, initial_state=[0.5, 0.5], curve_steps=10)
    states = ds["unstable_manifold"].values @ ds["direction"].values + ds["origin"].values
    np.testing.assert_allclose(np.abs(states[0, :, -1, 0]), 1e-4 * 1.2**11.5, rtol=1e-9)
    assert "within 10 steps" in ds.attrs["verdict"]
    with pytest.raises(UserError, match="curve_steps=0"):
        geometry(system, np.zeros((2, 9, 2)), curve_steps=0)


# --- What is left out, and what is refused ---
def test_a_sequence_that_leaves_the_bound_is_left_out_and_said_so():
    system = from_function(lambda h, x: h * h + x, 2, 2)
    inputs = 0.1 * generator(11).standard_normal((4, 30, 2))
    inputs[2] = 5.0
    ds = geometry(system, inputs, starts=4)
    alone = geometry(system, inputs[[0, 1, 3]], starts=4)
    assert float(ds["participation_ratio"]) == float(alone["participation_ratio"])
    assert np.isnan(ds["trajectory"]).any(("time", "axis")).values.tolist() == [False, False, True, False]
    assert "1 of 4 sequences that leave the bound left out" in ds.attrs["verdict"]
    assert "exceed 1e+08" in schema.flags(ds)["trajectory"]
    none = geometry(system, inputs[[2]], starts=4)
    assert "no dimension is known" in none.attrs["verdict"]
    assert "no sequence stays" in schema.flags(none)["participation_ratio"]


def test_one_sequence_has_no_error_and_one_state_no_second_component():
    ds = geometry(create("logistic", r=3.7), np.zeros((1, 40, 0)), initial_state=[0.3], starts=4)
    assert ds.sizes[schema.AXIS] == 1
    assert float(ds["participation_ratio"]) == 1
    assert np.isnan(ds["participation_ratio_error"])
    assert "fewer than two" in schema.flags(ds)["participation_ratio_error"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"components": 0}, "At least one principal component"),
        ({"transient": 5}, "from 0 to below that, got 5"),
        ({"transient": -1}, "got -1"),
        ({"at": "median"}, "'zero', 'mean'"),
        ({"inputs": np.zeros((2, 5, 3))}, "inputs of shape"),
        ({"inputs": None}, "Give inputs"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, words):
    given = {"inputs": np.zeros((2, 5, 2))} | arguments
    with pytest.raises(UserError, match=words):
        geometry(linear(np.eye(2) / 2, np.eye(2)), **given)


def test_a_flow_is_wrapped_first():
    with pytest.raises(UserError, match="Euler"):
        geometry(create("lorenz"), np.zeros((1, 3, 0)))


@pytest.mark.parametrize("samples, steps", [(3, 2), (4, 5)])
def test_the_jackknife_is_the_same_from_covariances_and_from_products_of_states(samples, steps):
    states = np.random.default_rng(0).standard_normal((samples, steps, 21))
    found = jackknife(states)
    alone = []
    for sample in range(samples):
        left = np.delete(states, sample, axis=0).reshape(-1, 21)
        alone.append(np.linalg.eigvalsh(np.cov(left.T, bias=True))[::-1].clip(min=0))
    shares = np.array([each / each.sum() for each in alone])
    ratios = 1 / (shares**2).sum(axis=1)
    for error, values in ((found.ratio, ratios), (found.shares, shares)):
        expected = np.sqrt((samples - 1) / samples * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
        np.testing.assert_allclose(error, expected, atol=1e-12)
