"""The least distance over orthogonal changes of basis: against closed forms, and against all of the plane's turns."""

import numpy as np

from dynlab.numerics.orthogonal_similarity import orthogonal_similarity

ROUNDING = 1e-13


def turn(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def test_of_symmetric_matrices_it_is_the_distance_of_ordered_eigenvalues():
    generator = np.random.default_rng(0)
    one, other = (each + each.mT for each in generator.standard_normal((2, 5, 7, 7)))
    found = orthogonal_similarity(one, other, 0)
    expected = np.linalg.norm(np.linalg.eigvalsh(one) - np.linalg.eigvalsh(other), axis=-1)
    np.testing.assert_allclose(found.distance, expected, rtol=1e-9)
    np.testing.assert_allclose(found.distance_bound, expected, rtol=1e-12)


def test_in_the_plane_no_turn_and_no_reflection_comes_nearer():
    one, other = np.random.default_rng(1).standard_normal((2, 30, 2, 2))
    turns = np.stack([turn(angle) for angle in np.linspace(0, 2 * np.pi, 2001)])
    every = np.concatenate([turns, turns @ np.diag([1.0, -1.0])])
    images = every @ other[:, None] @ every.mT
    least = np.linalg.norm(one[:, None] - images, axis=(-2, -1)).min(axis=1)
    found = orthogonal_similarity(one, other, 0)
    assert (found.distance <= least + ROUNDING).all()
    assert (found.distance >= least - 1e-4).all()
