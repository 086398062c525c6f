"""The textbook systems of the explorer: the maps and the flow are dynlab's, and the pictures show what is known."""

import numpy as np

import dynlab as dl
from dynlab.systems import create

PICTURES = "textbook.textbookPictures(...given).map((each) => Array.from(each.values))"


def pictures(in_node, name, *values):
    return [np.reshape(each, (-1, 2)) for each in in_node(PICTURES, [name, values], "textbook")]


def test_the_cobweb_follows_the_orbit_and_the_diagram_shows_the_fixed_point_and_the_cycle(in_node):
    steps, diagram = pictures(in_node, "logistic", 3.7)
    orbit = dl.simulate(create("logistic", r=3.7), initial_state=[[0.2]], steps=20)["trajectory"].values[0, :, 0]
    assert np.allclose(steps[1:40:2, 1], orbit[1:21], atol=1e-10)
    assert np.allclose(steps[2:40:2], orbit[1:20, None], atol=1e-10)  # the corners lie on the diagonal
    at = {r: diagram[np.isclose(diagram[:, 0], r), 1] for r in (2.0, 3.2)}
    assert np.allclose(at[2.0], 0.5)  # 1 − 1/r
    cycle = np.array([4.2 - np.sqrt(0.84), 4.2 + np.sqrt(0.84)]) / 6.4  # (r + 1 ± √((r + 1)(r − 3)))/2 r
    assert np.abs(at[3.2][:, None] - cycle).min(axis=1).max() < 1e-9


def test_henons_attractor_is_invariant_under_dynlabs_map(in_node):
    attractor, _ = pictures(in_node, "henon", 1.4, 0.3)
    following = dl.simulate(create("henon"), initial_state=attractor[:200], steps=1)["trajectory"].values[:, 1]
    assert np.allclose(attractor[1:201], following, atol=1e-13)


def test_lorenz_settles_on_its_fixed_point(in_node):
    attractor, _ = pictures(in_node, "lorenz", 10, 14.0, 8 / 3)
    assert np.allclose(np.abs(attractor[-1]), [np.sqrt(8 / 3 * 13), 13], atol=1e-6)
