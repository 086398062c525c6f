"""Every variable says what it is and in which units; every Dataset says how it came about."""

import datetime

import pytest

from dynlab import __version__, schema
from dynlab.errors import UserError


def test_attributes_are_those_of_the_contract(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    ds = schema.dataset({}, system="lstm", settings={"seed": 1}, source={"file": "a.pt", "sha256": "0" * 64})
    assert ds.attrs["dynlab_version"] == __version__
    assert datetime.datetime.fromisoformat(ds.attrs["created"]).timestamp() == 86400
    assert schema.settings(ds) == {"seed": 1}
    assert {"system", "source"} <= set(ds.attrs)
    assert "source" not in schema.dataset({}, system="lstm", settings={}).attrs


def test_a_plot_says_which_variable_it_lacks():
    ds = schema.dataset({"a": schema.variable((), 1.0, "a")}, system="lstm", settings={})
    with pytest.raises(UserError, match=r"lacks b; it has a"):
        schema.check(ds, needs=["a", "b"])
