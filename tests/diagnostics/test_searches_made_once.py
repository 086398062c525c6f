"""One search for fixed points serves every diagnostic that asks for the same ones, and says what each would find."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.fixed_points import diagnostic, fixed_points
from dynlab.diagnostics.fixed_points.once import once
from dynlab.diagnostics.geometry import geometry
from dynlab.diagnostics.modes import modes
from dynlab.systems import create

INPUTS = np.random.default_rng(0).standard_normal((2, 30, 1))


@pytest.fixture
def system():
    torch.manual_seed(0)
    made = create("vanilla", input_size=1, state_size=3)
    with torch.no_grad():
        made.W.mul_(4)
    return made


@pytest.fixture
def searches(monkeypatch):
    """How often a search was made."""
    made, search = [], diagnostic.search
    monkeypatch.setattr(diagnostic, "search", lambda *given, **named: made.append(1) or search(*given, **named))
    return made


def asked(system, **settings):
    each = (fixed_points, modes, geometry)
    return [diagnose(system, INPUTS, **{"starts": 16} | settings) for diagnose in each]


def test_three_diagnostics_make_one_search_and_find_what_each_finds_alone(system, searches):
    alone = asked(system)
    assert len(searches) == 3
    with once():
        together = asked(system)
    assert len(searches) == 4
    for one, other in zip(alone, together, strict=True):
        assert one.drop_attrs(deep=False).identical(other.drop_attrs(deep=False))
        assert one.attrs["verdict"] == other.attrs["verdict"]


@pytest.mark.parametrize("other", [{"seed": 1}, {"at": "mean"}, {"at": [0.5]}, {"starts": 8}, {"dtype": "float32"}])
def test_who_asks_for_something_else_is_given_another_search(other, system, searches):
    with once():
        asked(system)
        asked(system, **other)
    assert len(searches) == 2


def test_other_inputs_and_another_system_are_something_else(system, searches):
    with once():
        for network, inputs in ((system, INPUTS), (system, INPUTS + 1), (create("logistic"), None)):
            fixed_points(network, inputs, starts=8)
    assert len(searches) == 3


def test_outside_of_it_nothing_is_kept(system, searches):
    with once():
        fixed_points(system, INPUTS, starts=8)
    with once():
        fixed_points(system, INPUTS, starts=8)
    assert len(searches) == 2
