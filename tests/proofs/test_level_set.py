"""The search of the largest radius at which a growing bound is below its limit."""

import numpy as np
import pytest

pytest.importorskip("flint")

from dynlab.proofs.level_set import CLOSE, LARGEST, Bracket

BOUNDS = {  # of a radius, with the root of bound = 1
    "a straight line": (lambda r: 0.9 + 1e4 * r, 1e-5),
    "steeper far out": (lambda r: 0.99 + 50 * r + 5e4 * r**2, (-50 + np.sqrt(50**2 + 4 * 5e4 * 0.01)) / 1e5),
    "flat far out": (lambda r: 0.5 + 3 * np.tanh(1e3 * r), np.arctanh(1 / 6) / 1e3),
    "a cube": (lambda r: 0.2 + 8e-4 * r**3, 10.0),
    "not continuous from 3 on": (lambda r: 0.5 + 0.1 * r if r < 3 else np.inf, 3.0),
    "a step": (lambda r: 0.5 if r < 0.02 else 40.0, 0.02),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("first", [1e-3, 1.0, 20.0])
def test_the_bracket_closes_about_the_root(name, first):
    bound, root = BOUNDS[name]
    bracket, radius = Bracket(1.0, bound(0.0)), first
    while bracket.is_wide:
        bracket.add(radius, bound(radius))
        radius = bracket.next()
    assert bracket.good < root * (1 + 1e-12)
    assert root * (1 - 1e-12) < bracket.bad <= CLOSE * bracket.good
    assert bracket.tried <= (10 if "straight" in name or "steeper" in name else 24)


def test_where_the_limit_is_never_reached_the_radius_grows_to_the_largest_in_a_few_tries():
    bracket, radius = Bracket(1.0, 0.5), 1.0
    while radius <= LARGEST:
        bracket.add(radius, 0.6)
        radius = bracket.next()
    assert bracket.tried <= 6
