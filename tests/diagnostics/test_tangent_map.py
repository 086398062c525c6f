"""The step around a state against its linear map: exact where the step is linear, second order where it is not."""

import numpy as np
import pytest
import torch

from dynlab import schema
from dynlab.diagnostics.geometry.tangent_map import tangent_map
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.systems import create, from_function
from dynlab.systems.planar import planar_system
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


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_error_halves_with_the_distance(activation):
    torch.manual_seed(0)
    system = create("vanilla", input_size=1, state_size=5, activation=activation).double()
    point = np.random.default_rng(1).standard_normal(5)
    errors = [float(tangent_map(system, point, reach=r)["linear_error"].max()) for r in (2e-3, 1e-3, 5e-4)]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(slopes, 1, atol=0.01)


def test_the_radius_is_where_the_error_reaches_a_tenth():
    ds = tangent_map(from_function(lambda h, x: h + h.square() / 2, 2), [0.0, 0.0], reach=1.0, grid=101)
    # on an axis the error is abs(h)/2, which is largest there: 0.1 at a distance of 0.2
    assert float(ds["valid_radius"]) == pytest.approx(0.2, abs=1e-6)
    assert "up to a distance of 0.2" in ds.attrs["verdict"]


def test_the_radius_is_no_grid_step_too_large_and_corners_count():
    system = from_function(lambda h, x: h + h.square() / 2, 2)
    coarse = tangent_map(system, [0.0, 0.0], reach=1.0, grid=5)  # nearest states at 0.5, where the error is 0.25
    assert float(coarse["valid_radius"]) == pytest.approx(0.2, abs=1e-6)
    # h ← h + (h₁ h₂, 0): the error is |h₁ h₂|/|h|, r/2 at most, on the diagonals: 0.095 at r = 0.19, 0.134 in corners
    corners = tangent_map(
        from_function(lambda h, x: h + h[..., :1] * h[..., 1:] * h.new_tensor([1.0, 0.0]), 2), [0.0, 0.0], reach=0.19
    )
    assert float(corners["linear_error"].max()) == pytest.approx(0.19 / np.sqrt(2))
    assert float(corners["valid_radius"]) == 0.19


def test_a_plane_has_its_own_coordinates_and_a_defective_matrix_no_second_vector():
    ds = tangent_map(planar_system(planar_matrix("plus")), [0.0, 0.0])
    np.testing.assert_array_equal(ds["direction"], np.eye(2))
    assert "no fixed point" in tangent_map(planar_system(planar_matrix("plus")), [1.0, 0.0]).attrs["verdict"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"point": [0.0]}, "point must be 2 finite numbers"),
        ({"point": [0.0, np.nan]}, "point must be 2 finite numbers"),
        ({"at": [1.0]}, "input to hold must be 0 finite values"),
        ({"reach": 0.0}, "positive reach"),
        ({"grid": 1}, "at least 2 states"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, words):
    with pytest.raises(UserError, match=words):
        tangent_map(create("henon"), **({"point": [0.0, 0.0]} | arguments))


def test_it_needs_a_map_of_two_dimensions():
    with pytest.raises(UserError, match="Euler"):
        tangent_map(create("lorenz"), [0.0] * 3)
    with pytest.raises(UserError, match="two dimensions"):
        tangent_map(create("logistic"), [0.5])
    assert schema.SAMPLE not in tangent_map(create("henon"), [0.0, 0.0]).dims


def test_at_a_kink_no_eigenvalue_is_believed():
    """ReLU(2 h) at 0: autograd's J is 0, and the step doubles what is positive."""
    system = create("vanilla", input_size=0, state_size=2, bias=False, activation="relu").double()
    with torch.no_grad():
        system.W.copy_(2 * torch.eye(2))
    ds = tangent_map(system, [0.0, 0.0])
    assert np.isinf(ds["eigenvalue_error"]).all()
    assert "undecided, at a kink" in ds.attrs["verdict"]
    assert float(ds["linear_error"].max()) == pytest.approx(2.0)
    assert float(ds["valid_radius"]) == 0
