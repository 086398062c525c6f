"""Every diagnostic takes a stack of layers, whose Jacobian has a block for each."""

import inspect

import numpy as np
import pytest
import torch
from public_names import DIAGNOSTICS
from small_results import CALLS, QUICK

import dynlab as dl
from dynlab.systems import create

# What asks for a planar system, an ERNN or the flow of an Euler step.
OTHERS = {"phase_plane", *(f"ernn_{what}" for what in ("manifold", "convergence", "spectrum"))}
OTHERS |= {"energy", "lyapunov_function", "stability"}
INPUTS = np.random.default_rng(0).normal(size=(2, 10, 2))
OWN = {
    "compare": {"inputs": np.random.default_rng(0).normal(size=(6, 20, 2))},
    "box_bounds": {"box": (-1.0, 1.0)},
    "eigenvalue_bounds": {"max_modulus": 2.0},
    "bifurcation": {"parameter": "input[0]", "lowest": -0.5, "highest": 0.5, "values": 2, "searches": 1},
    "parameter_plane": {"parameters": ("input[0]", "input[1]"), "lowest": (0, 0), "highest": (1, 1), "grid": 2},
}


@pytest.mark.parametrize("name", sorted(set(DIAGNOSTICS) - OTHERS))
def test_every_diagnostic_takes_it(name):
    torch.manual_seed(0)
    system = create("lstm", input_size=2, hidden_size=2, num_layers=2).double()
    compute = getattr(dl, name)
    known = {"inputs": INPUTS, "point": np.zeros(system.state_size), "other": system}
    known |= {} if name in CALLS else QUICK
    given = {key: known[key] for key in inspect.signature(compute).parameters if key in known} | OWN.get(name, {})
    assert compute(system, **given).attrs["verdict"].endswith((".", "!"))
