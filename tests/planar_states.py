"""States of the explorer's page with random matrices, and what tests make of them."""

from fractions import Fraction

import mpmath
import numpy as np

COUNT = 300
DIGITS = 60  # of what is true
STEPS = 50
ORBIT = 1e-10  # times the larger of 1 and how an error grows along the orbit
PLAIN = {"gamma": 0, "leak": 0, "bias": [0, 0], "input": [0, 0], "activation": "tanh"}
PLAIN |= {"half": 2, "steps": STEPS, "past": False, "integrator": "euler"}


def random_states(count, seed, **others):
    """A state of the page for each of `count` matrices; a third of whole numbers, which make degenerate kinds."""
    generator = np.random.default_rng(seed)
    matrices = generator.normal(scale=1.5, size=(count, 4)).round(6)
    matrices[::3] = generator.integers(-2, 3, size=matrices[::3].shape)
    matrices[:3] = [[-1, 0, 0, -1], [0, 0, 0, 0], [-2, 0, 0, -2]]
    steps = generator.choice([0.05, 0.1, 0.5, 1.0], size=count)
    starts = generator.uniform(-1, 1, size=(count, 1, 2))
    return [
        PLAIN | {"W": row.tolist(), "step": float(step), "starts": start.tolist()} | others
        for row, step, start in zip(matrices, steps, starts, strict=True)
    ]


def exact(state):
    a, b, c, d = (Fraction(repr(entry)) for entry in state["W"])
    return [[a, b], [c, d]]


def array(state):
    return np.reshape(state["W"], (2, 2))


def as_complex(pairs):
    return np.array([complex(*map(float, pair)) for pair in pairs])


def true_eigenvalues(state):
    """By mpmath from the decimals, of decreasing modulus, then decreasing real part, + of a pair first."""
    a, b, c, d = (Fraction(repr(each)) for each in state["W"])
    less = Fraction(repr(state["gamma"])) + Fraction(repr(state["leak"]))
    trace, determinant = a + d - 2 * less, (a - less) * (d - less) - b * c
    with mpmath.workdps(DIGITS):
        spread = trace**2 - 4 * determinant
        root = mpmath.sqrt(mpmath.mpf(spread.numerator) / spread.denominator)
        half = mpmath.mpf(trace.numerator) / trace.denominator
        found = [(half + root) / 2, (half - root) / 2]
        if spread > 0:
            found.sort(key=lambda each: (-abs(each), -each))
        return np.array([complex(each) for each in found])
