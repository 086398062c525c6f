"""Orbits on closed curves whose shape is known, and orbits on none."""

import numpy as np
import pytest

from dynlab.numerics.closed_path import closed_curves

GOLDEN = (np.sqrt(5) - 1) / 2


def turned(turn, steps=2048):
    return 2 * np.pi * turn * np.arange(steps)


def circle(angle):
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


@pytest.mark.parametrize("turn", [GOLDEN, 0.003 * GOLDEN])
@pytest.mark.parametrize("flat", [1.0, 0.05])
def test_a_rotation_of_a_circle_or_an_ellipse(turn, flat):
    assert closed_curves(circle(turned(turn)) * [1.0, flat]).pieces == 1


def test_two_curves_in_turn():
    """One circle after the other, on each a rotation."""
    sides = np.where(np.arange(2048) % 2, 1, -1)[:, None]
    assert closed_curves(circle(turned(GOLDEN / 2)) * 0.3 + np.array([1.0, 0.0]) * sides).pieces == 2


def henon():
    states = [np.array([0.1, 0.1])]
    for _ in range(2048):
        x, y = states[-1]
        states.append(np.array([1 - 1.4 * x**2 + y, 0.3 * x]))
    return np.array(states[100:])


def graph_without_length():
    """y(θ) = Σ 2^−k cos(2^k θ), whose length grows with every term, above a rotation of θ."""
    angle = turned(GOLDEN, 4096)
    return np.stack([np.cos(angle), np.sin(angle), sum(2.0**-k * np.cos(4**k * angle) for k in range(9))], axis=1)


@pytest.mark.parametrize(
    "orbit",
    [
        0.9995 ** np.arange(2048)[:, None] * circle(turned(GOLDEN)),
        henon(),
        graph_without_length(),
        np.stack([np.cos(turned(GOLDEN)), np.cos(turned(np.sqrt(2)))], axis=1),
        np.random.default_rng(0).normal(size=(1024, 2)),
    ],
    ids=["spiral", "chaos", "fractal", "torus", "noise"],
)
def test_no_curve_is_seen_where_there_is_none(orbit):
    assert closed_curves(orbit) is None
