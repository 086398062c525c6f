"""The eight panels: each is the portrait of its system."""

import numpy as np
import pytest

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.systems.planar import PANELS


@pytest.fixture(scope="module")
def panels():
    return phase_panels()


@pytest.mark.parametrize("panel", PANELS[::5], ids=lambda panel: panel.letter)
def test_each_panel_is_its_portrait(panels, panel):
    alone = planar_portrait(panel.matrix, panel.kind, panel.seed)
    one = panels.sel(panel=panel.letter)
    count = alone.sizes["fixed_point"]
    for name in ("trajectory", "velocity", "long_orbit"):
        np.testing.assert_array_equal(one[name].values, alone[name].values)
    assert one["map_kind"].values[:count].tolist() == alone["map_kind"].values.tolist()
    assert (one["map_kind"].values[count:] == "").all()
    np.testing.assert_array_equal(one["grid_x"].values, alone["x"].values)
    assert one["panel_verdict"].item() == alone.verdict


def test_the_orthogonal_panels_are_a_rotation_and_a_reflection(panels):
    """Unlike in the paper's text, whose determinants are given the other way round; none decided by rounded entries."""
    for letter, determinant in (("c", 1), ("d", -1)):
        multipliers = panels["map_eigenvalue"].sel(panel=letter).values[0]
        assert multipliers.prod() == pytest.approx(determinant, abs=1e-14)
        assert panels["map_stable"].sel(panel=letter).values[0] == -1


def test_the_verdict_joins_the_first_sentences_of_the_last_two_panels(panels):
    said = panels.attrs["verdict"]
    assert said == (
        "(a) to (d) are maps h ← tanh(W h), (e) to (h) flows h′ = tanh(W h), each with Euler's map at ε = 0.1 s. "
        "Without diffusion (g) the flow has a center, Euler's map at ε = 0.1 has an unstable focus, and no step is "
        "small enough to make it stable. With it (h) the flow's focus is stable, Euler's map at ε = 0.1 is not, the "
        "critical step is 0.0746, and the orbits end on an invariant closed curve."
    )
