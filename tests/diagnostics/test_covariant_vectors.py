"""Covariant vectors against eigenvectors, power iterations either way, Floquet vectors and the direction of a flow."""

import numpy as np
import pytest
import scipy.linalg
import torch
from products import driven_by

from dynlab import schema
from dynlab.diagnostics.covariant_vectors import covariant_vectors
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap

generator = np.random.default_rng

TRIANGULAR = np.array([[1.3, 2.0, 0.0, 1.0], [0.0, 0.8, 3.0, 0.0], [0.0, 0.0, 0.4, 5.0], [0.0, 0.0, 0.0, 0.1]])


def sine(first, second):
    """Of the angle between the lines along unit vectors, accurate near 0."""
    along_ = (first * second).sum(axis=-1, keepdims=True)
    return np.linalg.norm(second - along_ * first, axis=-1)


def test_of_a_constant_matrix_they_are_its_eigenvectors():
    """Far from normal: the first two stand at 14° of each other, eigenvalues have conditions up to 306."""
    values, vectors = np.linalg.eig(TRIANGULAR)
    order = np.argsort(-np.abs(values))
    ds = covariant_vectors(LinearMap(TRIANGULAR.tolist()), steps=400)
    assert sine(ds["vector"].values[0], vectors[:, order].T).max() < 1e-10
    np.testing.assert_allclose(ds["exponent"][0], np.log(np.abs(values[order])), atol=1e-12)
    np.testing.assert_allclose(ds["local_rate"][0], np.tile(np.log(np.abs(values[order])), (240, 1)), atol=1e-10)
    expected = scipy.linalg.subspace_angles(vectors[:, order[:1]], vectors[:, order[1:]]).min()
    np.testing.assert_allclose(ds["angle"], expected, rtol=1e-10)
    assert (ds["unstable_dimension"].item(), ds["stable_dimension"].item()) == (1, 3)
    assert float(ds["covariance_residual"].max()) < 1e-12


@pytest.mark.parametrize(
    "matrix, determined",
    [
        (scipy.linalg.block_diag([[0.6, -1.2], [1.2, 0.6]], [[0.5]]) @ np.eye(3), [0, 0, 1]),
        ([[0.9, 1.0, 0.0], [0.0, 0.9, 0.0], [0.0, 0.0, 0.2]], [0, 0, 1]),
        (np.diag([2.0, 1.0, 1.0 - 1e-6]), [1, 0, 0]),
    ],
    ids=["complex pair", "defective", "near"],
)
def test_a_vector_that_is_not_told_from_another_is_not_determined(matrix, determined):
    ds = covariant_vectors(LinearMap(np.asarray(matrix).tolist()), steps=2000)
    assert ds["determined"].values.tolist() == [determined]
    known = np.isfinite(ds["mean_local_rate"].values[0])
    assert known.tolist() == [bool(each) for each in determined]
    assert np.isfinite(ds["exponent"]).all()


def test_henons_unstable_vector_is_that_of_a_power_iteration():
    """Any vector carried forward aligns with it, one carried back by the inverse Jacobians with the stable one."""
    transients = {"transient": 500, "backward_transient": 500}
    henon = covariant_vectors(create("henon"), steps=1200, initial_state=[0.1, 0], **transients)
    states, vectors = henon["trajectory"].values[0], henon["vector"].values[0]
    J = np.array([[[-2 * 1.4 * x, 1.0], [0.3, 0.0]] for x, _ in states])
    forward, back = [generator(1).standard_normal(2)], [generator(2).standard_normal(2)]
    for matrix in J[:-1]:
        moved = matrix @ forward[-1]
        forward.append(moved / np.linalg.norm(moved))
    for matrix in J[-2::-1]:
        moved = np.linalg.solve(matrix, back[-1])
        back.append(moved / np.linalg.norm(moved))
    unstable, stable = np.array(forward[60:-60]), np.array(back[::-1][60:-60])
    assert sine(vectors[60:-60, 0], unstable).max() < 1e-10
    assert sine(vectors[60:-60, 1], stable).max() < 1e-10
    angle = np.arcsin(sine(unstable, stable))
    np.testing.assert_allclose(henon["angle"][0, 60:-60], angle, rtol=1e-9)


def test_one_of_lorenzs_vectors_is_the_direction_of_its_flow():
    starts = [[1.0, 1.0, 20.0], [-3.0, 2.0, 25.0]]
    transients = {"transient": 100, "backward_transient": 100}
    lorenz = covariant_vectors(create("lorenz"), seconds=48.0, interval=0.2, initial_state=starts, **transients)
    assert lorenz["determined"].values.all()
    velocity = create("lorenz").double().velocity(torch.as_tensor(lorenz["trajectory"].values), torch.zeros(0))
    direction = velocity / velocity.norm(dim=-1, keepdim=True)
    assert sine(lorenz["vector"].values[:, :, 1], direction.detach().numpy()).max() < 1e-6
    np.testing.assert_allclose(lorenz["exponent"].sum("mode"), -(10 + 1 + 8 / 3), atol=1e-6)
    assert float(lorenz["covariance_residual"].max()) < 1e-9


def test_a_dimension_that_is_lost_takes_no_other_with_it():
    matrices = generator(7).standard_normal((1, 1500, 5, 5))
    matrices[0, 700, :, 2] = 0
    ds = driven_by(covariant_vectors, matrices)
    assert ds["determined"].values.tolist() == [[1, 1, 1, 1, 0]]
    assert np.isnan(ds["exponent"][0, 4])
    assert "rounding drowns" in schema.flags(ds)["exponent"]
    assert float(ds["covariance_residual"][0, :4].max()) < 1e-9
