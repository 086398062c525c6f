"""Every diagnostic keeps the contract of Datasets, and every one has a picture that reads nothing else."""

import inspect
import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr

from dynlab import io, schema
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.errors import UserError, lookup
from dynlab.plots import PLOTS
from dynlab.systems import create
from dynlab.systems.planar import planar_matrix, planar_system


def vanilla():
    torch.manual_seed(0)
    return create("vanilla", input_size=2, state_size=5).double()


def ernn():
    torch.manual_seed(0)
    return create("ernn", input_size=2, state_size=5, length=20, rank=None, activation="tanh").double()


def inputs():
    return np.random.default_rng(0).normal(size=(3, 12, 2))


DIFF = {"parameter": "step_size", "lowest": 0.02, "highest": 0.2, "values": 8}
PLANE = {"parameters": ("step_size", "W[0,0]"), "lowest": (0.02, -1.0), "highest": (0.2, 0.2), "grid": 4}
BOUNDS = {"max_modulus": 1.0, "min_log_gradient": -3.0, "max_exponent": 0.0}
# What makes a diagnostic quick here, by the names of its arguments.
QUICK = {"starts": 8, "grid": 6, "steps": 200, "samples": 16}
# Where another system than a vanilla RNN is asked about, or arguments are required.
CALLS = {
    "phase_plane": lambda: ([planar("diff")], {"matrix": planar_matrix("diff"), "steps": 10}),
    "ernn_manifold": lambda: ([ernn(), inputs()], {}),
    "tangent_map": lambda: ([vanilla(), np.zeros(5)], {"grid": 5}),
    "ernn_convergence": lambda: ([ernn(), inputs()], {}),
    "lyapunov": lambda: ([vanilla(), inputs()], {}),
    "covariant_vectors": lambda: ([vanilla(), inputs()], {}),
    "eigenvalue_bounds": lambda: ([vanilla(), inputs()], BOUNDS),
    "bifurcation": lambda: ([planar("diff")], DIFF),
    "parameter_plane": lambda: ([planar("diff")], PLANE),
    "ernn_spectrum": lambda: ([ernn(), inputs()], {}),
    "lyapunov_function": lambda: ([planar("diff", "flow")], {"starts": 8}),
    "energy": lambda: ([planar("zero")], {"steps": 20}),
    "stability": lambda: ([ernn(), inputs()], {}),
}


def planar(name, kind="feedback"):
    return planar_system(planar_matrix(name), kind)


def call(name):
    """The call of a diagnostic: that of the table, else of a small vanilla RNN, driven where it takes inputs."""
    if name in CALLS:
        return CALLS[name]()
    takes = inspect.signature(lookup(DIAGNOSTICS, name, "diagnostic")).parameters
    driven = [inputs()] if "inputs" in takes else []
    return [vanilla(), *driven], {key: value for key, value in QUICK.items() if key in takes}


@pytest.fixture(scope="module")
def results():
    return {}


def result(results, name) -> xr.Dataset:
    return first_call(results, name)[0]


def first_call(results, name) -> tuple[xr.Dataset, torch.nn.Module, dict[str, torch.Tensor]]:
    """The result, the system that was given, in float32 and training, and the weights that it had before."""
    if name not in results:
        positional, keywords = call(name)
        system = positional[0].float().train()
        before = {key: value.clone() for key, value in system.state_dict().items()}
        results[name] = lookup(DIAGNOSTICS, name, "diagnostic")(*positional, **keywords), system, before
    return results[name]


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_names_units_and_attributes_are_those_of_the_schema(results, name):
    ds = result(results, name)
    assert set(map(str, ds.dims)) <= set(schema.DIMENSIONS)
    for variable in ds.data_vars.values():
        assert variable.attrs["long_name"]
        assert variable.attrs["units"] in schema.UNITS
    assert {"dynlab_version", "system", "settings", "created", "verdict", "method"} <= set(ds.attrs)
    assert json.loads(ds.attrs["settings"])["dtype"] == "float64"
    assert ds.attrs["verdict"].endswith((".", "!"))


@pytest.mark.parametrize("name", DIAGNOSTICS)
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_the_result_survives_its_file(results, name, suffix, tmp_path):
    ds = result(results, name)
    xr.testing.assert_identical(io.open(io.save(ds, tmp_path / f"result{suffix}")), ds)


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_whatever_is_not_finite_has_its_reason(results, name):
    document = io.as_document(result(results, name))
    json.dumps(document, allow_nan=False)
    assert io.NOT_FINITE not in document["flags"].values()


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_the_same_call_gives_the_same_numbers(results, name):
    (system, *others), keywords = call(name)
    again = lookup(DIAGNOSTICS, name, "diagnostic")(system.float(), *others, **keywords)
    xr.testing.assert_equal(again, result(results, name))


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_the_system_that_was_given_is_not_changed(results, name):
    _, system, before = first_call(results, name)
    assert system.training
    for key, value in system.state_dict().items():
        assert value.dtype == before[key].dtype
        assert torch.equal(value, before[key])


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_its_plot_draws_on_the_axes_it_is_given_and_labels_them(results, name):
    draw = lookup(PLOTS, f"plot_{name}", "plot")
    figure, ax = plt.subplots()
    assert draw(result(results, name), ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    plt.close(figure)
    assert draw(result(results, name)).figure is not figure
    plt.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_of_the_wrong_dataset_says_what_it_lacks(name):
    empty = schema.dataset({}, system="vanilla", settings={})
    with pytest.raises(UserError, match="lacks"):
        lookup(PLOTS, name, "plot")(empty)
