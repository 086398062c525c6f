"""Every diagnostic keeps the contract of Datasets, and every one has a picture that reads nothing else."""

import inspect
import json

import matplotlib.pyplot as plt
import pytest
import torch
import xarray as xr
from public_names import DIAGNOSTICS, PLOTS
from small_results import call, first_call

import dynlab as dl
from dynlab import io, schema
from dynlab.errors import UserError


def result(results, name) -> xr.Dataset:
    return first_call(results, name)[0]


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
def test_the_result_survives_its_file(results, name, tmp_path):
    ds = result(results, name)
    xr.testing.assert_identical(io.open(io.save(ds, tmp_path / "result.nc")), ds)


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_the_same_call_gives_the_same_numbers(results, name):
    (system, *others), keywords = call(name)
    again = getattr(dl, name)(system.float(), *others, **keywords)
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
    draw = getattr(dl, f"plot_{name}")
    figure, ax = plt.subplots()
    assert draw(result(results, name), ax=ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert draw(result(results, name)).figure is not figure


# What one of a kind cannot be, and a whole number and a number beside.
ODD = [object(), {"a": 1}]
OF_KIND = {int: [2.5, "x", True, None, float("nan")], float: ["x", None, [1.0]], bool: ["x", 1], str: [1, None]}
NOT_ASKED = [("lyapunov_function", "inputs")]  # of a system that takes none


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_a_value_of_another_kind_is_refused_in_one_sentence(name):
    """Before anything is computed: a hundredth of what an answer takes."""
    compute = getattr(dl, name)
    takes = inspect.signature(compute, eval_str=True).parameters
    positional, keywords = call(name)
    given = dict(zip(takes, positional, strict=False)) | keywords
    for key, parameter in takes.items():
        for value in [*ODD, *OF_KIND.get(parameter.annotation, [])] if (name, key) not in NOT_ASKED else []:
            with pytest.raises(UserError) as refused:
                compute(**given | {key: value})
            assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_of_the_wrong_dataset_says_what_it_lacks(name):
    empty = schema.dataset({}, system="vanilla", settings={})
    with pytest.raises(UserError, match="lacks"):
        getattr(dl, name)(empty)
