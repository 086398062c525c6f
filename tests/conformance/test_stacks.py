"""Every diagnostic takes a stack of layers, whose Jacobian has a block for each."""

import inspect

import numpy as np
import pytest
import torch
from small_results import CALLS, QUICK

from dynlab import schema
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.errors import lookup
from dynlab.systems import create

# What asks for a planar system, an ERNN or the flow of an Euler step.
OTHERS = {"phase_plane", *(f"ernn_{what}" for what in ("manifold", "convergence", "spectrum"))}
OTHERS |= {"energy", "lyapunov_function", "stability"}
OWN = {
    "tangent_map": lambda system: ([system, np.zeros(system.state_size)], {"grid": 5}),
    "compare": lambda system: ([system, system, np.random.default_rng(0).normal(size=(6, 20, 2))], {}),
    "box_bounds": lambda system: ([system], {"box": (-1.0, 1.0)}),
    "eigenvalue_bounds": lambda system: ([system, inputs()], {"max_modulus": 2.0}),
    "bifurcation": lambda system: ([system], {"parameter": "input[0]", "lowest": -0.5, "highest": 0.5, "values": 2}),
    "parameter_plane": lambda system: (
        [system],
        {"parameters": ("input[0]", "input[1]"), "lowest": (-0.5, -0.5), "highest": (0.5, 0.5), "grid": 2},
    ),
}


def inputs():
    return np.random.default_rng(0).normal(size=(2, 10, 2))


@pytest.mark.parametrize("name", sorted(set(DIAGNOSTICS) - OTHERS))
def test_every_diagnostic_takes_it(name):
    torch.manual_seed(0)
    system = create("lstm", input_size=2, hidden_size=2, num_layers=2).double()
    compute = lookup(DIAGNOSTICS, name, "diagnostic")
    takes = inspect.signature(compute).parameters
    if name in OWN:
        positional, keywords = OWN[name](system)
    else:
        positional = [system, inputs()] if "inputs" in takes else [system]
        keywords = {key: value for key, value in QUICK.items() if key in takes} if name not in CALLS else {}
    ds = compute(*positional, **keywords)
    schema.check(ds, needs=list(ds.data_vars))
    assert ds.attrs["verdict"].endswith((".", "!"))
