"""A flow has equilibria and eigenvalues λ, a map fixed points and multipliers μ: in verdicts, variables and legends."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.matrices import planar_matrix
from dynlab.systems import from_function
from dynlab.systems.planar import planar_system

NOISE = np.random.default_rng(0).standard_normal((2, 20, 1))


def network():
    torch.manual_seed(0)
    return dl.create("rnn", input_size=1, hidden_size=2)


def line():
    """Every state (h₁, 0) is at rest: the multipliers are 1 and 0.5."""
    return from_function(lambda h, x: h * torch.tensor([1.0, 0.5], dtype=h.dtype), state_size=2)


def neutral():
    """h ↦ h − h³ in each coordinate: the linearisation decides nothing at its only fixed point."""
    return from_function(lambda h, x: h - h**3, state_size=2)


def planar(text, kind):
    matrix = planar_matrix(text)
    return dl.phase_plane(planar_system(matrix, kind), matrix=matrix, steps=5)


MAPS = {
    "phase, a line": lambda: planar("1,0;0,0.5", "linear"),
    "phase, a plane": lambda: planar("identity", "linear"),
    "phase, undecided": lambda: planar("1,0;0,0.5", "vanilla"),
    "phase, a flip line": lambda: planar("1,0;0,-1", "linear"),
    "fixed points": lambda: dl.fixed_points(network(), NOISE, starts=8),
    "fixed points, a line": lambda: dl.fixed_points(line(), starts=8),
    "fixed points, neutral": lambda: dl.fixed_points(neutral(), starts=8),
    "modes": lambda: dl.modes(network(), NOISE, starts=8),
    "modes, neutral": lambda: dl.modes(neutral(), starts=8),
    "basins": lambda: dl.basins(network(), grid=5),
    "basins, a line": lambda: dl.basins(line(), grid=5),
    "spectrum": lambda: dl.spectrum(network(), NOISE),
    "lyapunov": lambda: dl.lyapunov(network(), NOISE),
    "box bounds": lambda: dl.box_bounds(network(), box=0.5),
    "bifurcation": lambda: dl.bifurcation(network(), parameter="weight_hh*", lowest=0.5, highest=1.5, values=0),
}
FLOWS = {
    "phase": lambda: planar("minus", "flow"),
    "phase, a line": lambda: planar("0,1;0,0", "flow"),
    "phase, undecided": lambda: planar("1e-5,-2e-5;1e-5,-1e-5", "flow"),
    "lyapunov": lambda: dl.lyapunov(
        planar_system(planar_matrix("minus"), "flow"), seconds=20.0, initial_state=[0.5, 0.5]
    ),
}


def words(ds):
    """The verdict, what each variable is called, and what its values say in words."""
    named = [str(array.attrs["long_name"]) for array in ds.variables.values() if "long_name" in array.attrs]
    return " | ".join([ds.attrs["verdict"], *named])


@pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)
def test_a_map_has_fixed_points_and_multipliers(make):
    said = words(make())
    assert "equilibri" not in said
    assert "λ" not in said


@pytest.mark.parametrize("make", FLOWS.values(), ids=FLOWS)
def test_a_flow_has_equilibria_and_eigenvalues(make):
    said = words(make())
    assert "fixed point" not in said
    assert "μ" not in said


@pytest.mark.parametrize("kind, entry", [("linear", "map: line of fixed points"), ("flow", "flow: line of equilibria")])
def test_the_legend_of_a_portrait_names_a_line_as_its_system_does(kind, entry):
    ax = dl.plot_phase_plane(planar("1,0;0,0.5" if kind == "linear" else "0,1;0,0", kind))
    labels = ax.get_legend_handles_labels()[1]
    assert entry in labels
    assert entry.partition(": ")[2].removesuffix(", unstable") in labels
    plt.close("all")


def test_the_legend_of_fixed_points_names_what_they_are_near():
    ds = dl.fixed_points(neutral(), starts=8)
    assert ds["kind"].values.tolist() == ["undecided, multiplier near 1"]
    labels = dl.plot_fixed_points(ds).get_legend_handles_labels()[1]
    assert any("multiplier near 1" in label.replace("\n", " ") for label in labels)
    plt.close("all")
