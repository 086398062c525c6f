"""The explorer on matrices that a stranger types: defective, singular, rounded; and at a kink."""

from fractions import Fraction

import numpy as np
import pytest
from planar_states import PLAIN, as_complex, true_eigenvalues

DESCRIBED = "given.map((state) => cell.describe(state, cell.makeCell(state), [0, 0], 0))"


def linear(W, **others):
    return PLAIN | {"W": W, "step": 0.1, "starts": [[0.3, -0.2]], "activation": "identity"} | others


def with_defects():
    """λ I + s N with N² = 0, in decimals: defective there, and not in binary digits."""
    generator = np.random.default_rng(0)
    for _ in range(40):
        value, p, s = (Fraction(int(each), 10) for each in (generator.integers(-20, 10), *generator.integers(1, 20, 2)))
        yield linear([float(each) for each in (value + s * p, -s * p * p, s, value - s * p)])


STRANGE = [
    linear(W)
    for W in (
        [0.3, -0.09, 1, -0.3],
        [0.1, 0.2, 0.3, 0.6],
        [-0.1, 0.3, 0.2, -0.6],
        [0, 1, 0, 0],
        [0, -1, 1, 0],
        [0.6, -0.8, 0.8, 0.6],
        [-1, 1, 1, -1.00000000001],
        [-20, 0, 0, -0.05],
    )
] + [linear([-1, 2, -2, -1], gamma=0.15, leak=0.85), *with_defects()]


def test_eigenvalues_are_those_of_the_decimals(in_node):
    for state, each in zip(STRANGE, in_node(DESCRIBED, STRANGE, "cell"), strict=True):
        truth = true_eigenvalues(state)
        found = as_complex(each["eigenvalues"])
        assert (np.abs(found - truth) <= np.array(each["errors"])).all(), state["W"]
        assert (np.array(each["errors"]) <= 1e-15 * np.abs(truth)).all()


def test_an_orthogonal_map_at_its_critical_step(in_node):
    """h + ε W h with W = [[−γ, −γ], [γ, −γ]] has |1 + ελ| = 1 at ε = 1/γ: λ = −γ ± i γ."""
    states = [linear([0, -0.5, 0.5, 0], gamma=0.5, step=step) for step in (1.99, 2, 2.01)]
    points = in_node(DESCRIBED, states, "cell")
    assert [point["map"]["name"] for point in points] == ["stable focus", "center", "unstable focus"]
    assert [point["criticalStep"] for point in points] == pytest.approx([2] * 3, rel=1e-14)


@pytest.mark.parametrize("W, bias", [([3, 0, 0, 3], [0, 0]), ([0.5, -0.8, 0.8, 0.5], [0, 0]), ([1, 0, 0, 0.5], [0, 1])])
def test_no_kind_is_said_at_a_kink(W, bias, in_node):
    """At [3, 0, 0, 3] an orbit grows where it starts with positive coordinates, and falls to 0 elsewhere."""
    state = linear(W, bias=bias, leak=1, activation="relu", gated=False, gateBias=0)
    points = in_node("portrait.portrait(given).points", state, "portrait")
    assert {(point["flow"]["name"], point["map"]["name"]) for point in points} == {
        ("undecided, at a kink of ReLU", "undecided, at a kink of ReLU")
    }
    assert {point["criticalStep"] for point in points} == {"NaN"}
