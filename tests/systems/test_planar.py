"""Planar matrices are exact, the eight panels are the paper's, and a matrix text says what is wrong with it."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from dynlab.errors import UserError
from dynlab.matrices import MATRICES, parse_matrix, planar_matrix
from dynlab.systems import Euler, Flow
from dynlab.systems.planar import planar_system
from dynlab.systems.vanilla import Vanilla


def floats(matrix):
    return np.array([[float(entry) for entry in row] for row in matrix])


def test_a_text_is_read_exactly():
    assert parse_matrix(" -0.15 , -2 ; 2 , -.15 ") == [[Fraction(-3, 20), -2], [2, Fraction(-3, 20)]]
    assert parse_matrix("1/3,-2/7;1e-3,+2.5E2") == [[Fraction(1, 3), Fraction(-2, 7)], [Fraction(1, 1000), 250]]
    assert parse_matrix("[1 2; 3/4\t-1e1]") == parse_matrix("[[1, 2], [0.75, -10]]") == [[1, 2], [Fraction(3, 4), -10]]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1,2;3", "not square: 2 rows of 2 and 1 entries"),
        ("1,a;3,4", "entry 'a', which is not a number"),
        ("1,1/0;3,4", "no finite number"),
        ("[1 2; 3 4", "entry '.1', which is not a number"),
    ],
)
def test_a_bad_text_is_one_sentence(text, message):
    with pytest.raises(UserError, match=message):
        parse_matrix(text)


def test_orthogonal_matrices_are_orthogonal_and_follow_their_seed():
    matrix = floats(planar_matrix("orthogonal", 1))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), rtol=0, atol=1e-15)
    # Uniform over the group: the Q of Q R with a positive diagonal of R.
    triangular = matrix.T @ np.random.default_rng(1).standard_normal((2, 2))
    assert abs(triangular[1, 0]) < 1e-15
    assert (np.diag(triangular) > 0).all()


@pytest.mark.parametrize("kind, made", [("vanilla", Vanilla), ("feedback", Euler), ("flow", Flow)])
@pytest.mark.parametrize("name", MATRICES)
def test_systems_are_the_papers_formulas(name, kind, made):
    W = floats(planar_matrix(name))
    system = planar_system(planar_matrix(name), kind, 0.25)
    h = np.random.default_rng(4).standard_normal((5, 2))
    nothing = torch.zeros(0, dtype=torch.float64)
    assert isinstance(system, made)
    found = (system.velocity if kind == "flow" else system.step)(torch.from_numpy(h), nothing).detach()
    tanh = np.tanh(h @ W.T)
    np.testing.assert_allclose(found, h + 0.25 * tanh if kind == "feedback" else tanh, rtol=0, atol=1e-15)
