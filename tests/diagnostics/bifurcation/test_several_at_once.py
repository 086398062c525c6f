"""Several things that change at one parameter: each is listed, or the verdict says that they were not told apart."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.systems import from_function


class Written(torch.nn.Module):
    """A map whose coordinates are a function of the state and of the parameter p."""

    def __init__(self, coordinates):
        super().__init__()
        self.p, self.coordinates = 0.0, coordinates

    def forward(self, state, input):
        return torch.stack(self.coordinates(self.p, *state.unbind(-1)), dim=-1)


def followed(coordinates, size, lowest=-0.1, highest=0.1):
    system = from_function(Written(coordinates), size)
    return bifurcation(
        system, parameter="p", lowest=lowest, highest=highest, values=0, max_period=1, searches=2, starts=8
    )


def turned(p, x, y, angle=1.0):
    size = 1 + p - x * x - y * y
    return [size * (np.cos(angle) * x - np.sin(angle) * y), size * (np.sin(angle) * x + np.cos(angle) * y)]


def on(ds, state):
    """The bifurcations whose state is near this one: kinds, parameters, and their errors."""
    here = np.abs(ds["bifurcation_state"].values - state).max(axis=1) < 1e-2
    return [ds[f"bifurcation_{name}"].values[here] for name in ("kind", "parameter", "parameter_error")]


# At p = 0 two fixed points ±√p are born in a fold, and the other multipliers, −(1 + p) and (1 + p) e^{±i}, touch the
# unit circle there and cross it nowhere.
@pytest.mark.parametrize(
    "coordinates, size",
    [
        (lambda p, x, y: [x + p - x * x, -(1 + p) * y + y**3], 2),
        (lambda p, x, y, z: [x + p - x * x, *turned(p, y, z)], 3),
    ],
)
def test_a_fold_at_which_other_multipliers_touch_the_circle_is_degenerate(coordinates, size):
    ds = followed(coordinates, size)
    kinds, values, errors = on(ds, np.zeros(size))
    assert set(kinds) == {"degenerate"}
    assert (np.abs(values) <= errors + 1e-12).all()


def test_a_flip_close_beside_a_fold_is_listed_on_both_branches_and_what_is_stable_between_them():
    """−(1 + p − 1e-6) at the fixed points ±√p: the upper one is stable up to p = 1e-6 alone."""
    ds = followed(lambda p, x, y: [x + p - x * x, -(1 + p - 1e-6) * y + y**3], 2)
    kinds, values, errors = on(ds, np.zeros(2))
    assert sorted(kinds) == ["flip", "flip", "fold"]
    np.testing.assert_allclose(values[kinds == "flip"], 1e-6, atol=1e-12)
    assert (np.abs(values[kinds == "fold"]) <= errors[kinds == "fold"]).all()


@pytest.mark.parametrize("units", [[1e4], [1.0, 1e6], [1e-6]], ids=str)
def test_a_pitchfork_of_large_or_small_states_is_one(units):
    """h = c tanh(p h/c): two states ±c u with p = artanh(u)/u are born at p = 1, beside a coordinate at rest."""

    def coordinates(p, *h):
        return [*(0.5 * x for x in h[:-1]), units[-1] * torch.tanh(p * h[-1] / units[-1])]

    system = from_function(Written(coordinates), len(units))
    ds = bifurcation(
        system, parameter="p", lowest=0.5, highest=1.5, values=0, max_period=1, largest_state=1e2 * units[-1]
    )
    assert ds["bifurcation_kind"].values.tolist() == ["pitchfork"]
    assert ds["bifurcation_criticality"].values.tolist() == ["supercritical"]
    p, u = ds["branch_parameter"].values, ds["branch_state"].values[:, -1] / units[-1]
    np.testing.assert_allclose(np.tanh(p * u), u, atol=1e-9)
    assert np.abs(u).max() > 0.5


@pytest.mark.parametrize("turns, kind", [(2, "degenerate"), (3, "Neimark–Sacker"), (4, "Neimark–Sacker")])
def test_strong_resonances(turns, kind):
    """Multipliers (1 + p) e^{±2πi/m} of 0: at 1:2 they are one real double eigenvalue, −1."""
    ds = followed(lambda p, x, y: turned(p, x, y, 2 * np.pi / turns), 2)
    kinds, values, errors = on(ds, np.zeros(2))
    assert kinds.tolist() == [kind]
    assert abs(values[0]) <= errors[0] + 1e-12
    if kind != "degenerate":
        assert ds["bifurcation_criticality"].values[ds["bifurcation_kind"].values == kind].tolist() == ["undecided"]


def test_a_branch_that_turns_back_at_a_kink_is_born_there():
    """|h| = p: for p > 0 a stable and an unstable fixed point, for p < 0 none."""
    system = from_function(lambda h, x: h + 0.5 * (x - h.abs()), state_size=1, input_size=1)
    ds = bifurcation(system, parameter="input[0]", lowest=-1, highest=1, values=0)
    assert "A stable and an unstable fixed point appear at input[0]" in ds.attrs["verdict"]
