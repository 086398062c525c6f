"""Planar matrices are exact, the eight panels are the paper's, and a matrix text says what is wrong with it."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import problems
from dynlab.errors import UserError
from dynlab.matrices import parse_matrix, planar_matrix
from dynlab.systems.planar import planar_system


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
    matrix = np.array(planar_matrix("orthogonal", 1), dtype=float)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), rtol=0, atol=1e-15)
    # Uniform over the group: the Q of Q R with a positive diagonal of R.
    triangular = matrix.T @ np.random.default_rng(1).standard_normal((2, 2))
    assert abs(triangular[1, 0]) < 1e-15
    assert (np.diag(triangular) > 0).all()


@pytest.mark.parametrize("kind, kept, share", [("vanilla", 0, 1), ("feedback", 1, 0.25), ("flow", 0, 1)])
def test_systems_are_the_papers_formulas(kind, kept, share):
    system, h = planar_system(planar_matrix("diff"), kind, 0.25), np.random.default_rng(4).standard_normal((5, 2))
    found = system.evolve(torch.from_numpy(h), torch.zeros(0, dtype=torch.float64)).detach()
    expected = kept * h + share * np.tanh(h @ problems.PLANAR["diff"].T)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
