"""The step around a state against its linear map: exact where the step is linear, second order where it is not."""

import numpy as np
import torch

from dynlab.diagnostics.geometry.tangent_map import tangent_map
from dynlab.systems import create, from_function
from dynlab.systems.textbook import LinearMap


def test_a_linear_step_is_its_own_linear_map():
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    values = [1.5, 0.9, -0.4, 0.1]
    ds = tangent_map(LinearMap((rotation @ np.diag(values) @ rotation.T).tolist()), [0.0] * 4)
    assert float(ds["linear_error"].max()) < 1e-14
    assert float(ds["valid_radius"]) == 0.5
    np.testing.assert_allclose(ds["displacement"], ds["linear_displacement"], atol=1e-14)
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
