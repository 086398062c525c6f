"""The eight panels: each is the portrait of its system."""

import numpy as np
import pytest

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.systems.planar import PANELS


@pytest.fixture(scope="module")
def panels():
    return phase_panels()


def test_each_panel_is_its_portrait(panels):
    panel = PANELS[-1]
    alone = planar_portrait(panel.matrix, panel.kind, panel.seed)
    one = panels.sel(panel=panel.letter)
    count = alone.sizes["fixed_point"]
    for name in ("trajectory", "velocity", "long_orbit"):
        np.testing.assert_array_equal(one[name].values, alone[name].values)
    assert one["map_kind"].values[:count].tolist() == alone["map_kind"].values.tolist()


def test_the_orthogonal_panels_are_a_rotation_and_a_reflection(panels):
    """Unlike in the paper's text, whose determinants are given the other way round; none decided by rounded entries."""
    for letter, determinant in (("c", 1), ("d", -1)):
        multipliers = panels["map_eigenvalue"].sel(panel=letter).values[0]
        assert multipliers.prod() == pytest.approx(determinant, abs=1e-14)
        assert panels["map_stable"].sel(panel=letter).values[0] == -1
