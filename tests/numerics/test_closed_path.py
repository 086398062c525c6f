"""Orbits on closed curves whose shape is known, and orbits on none."""

import numpy as np
import pytest

from dynlab.numerics.closed_path import closed_curves

GOLDEN = (np.sqrt(5) - 1) / 2


def turned(turn, steps=2048):
    return 2 * np.pi * turn * np.arange(steps)


def circle(angle):
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def in_turn():
    """A rotation on one circle, and on another beside it, step by step."""
    sides = np.where(np.arange(2048) % 2, 1, -1)[:, None]
    return circle(turned(GOLDEN / 2)) * 0.3 + np.array([1.0, 0.0]) * sides


def graph_without_length():
    """y(θ) = Σ 2^−k cos(2^k θ), whose length grows with every term, above a rotation of θ."""
    angle = turned(GOLDEN, 4096)
    return np.stack([np.cos(angle), np.sin(angle), sum(2.0**-k * np.cos(4**k * angle) for k in range(9))], axis=1)


@pytest.mark.parametrize(
    "orbit, pieces",
    [
        (circle(turned(GOLDEN)), 1),
        (circle(turned(0.003 * GOLDEN)) * [1.0, 0.05], 1),
        (in_turn(), 2),
        (0.9995 ** np.arange(2048)[:, None] * circle(turned(GOLDEN)), None),
        (graph_without_length(), None),
        (np.stack([np.cos(turned(GOLDEN)), np.cos(turned(np.sqrt(2)))], axis=1), None),
        (np.random.default_rng(0).normal(size=(1024, 2)), None),
    ],
    ids=["circle", "ellipse", "two circles", "spiral", "fractal", "torus", "noise"],
)
def test_closed_curves_are_seen_and_nothing_else(orbit, pieces):
    found = closed_curves(orbit)
    assert (found and found[0]) == pieces
