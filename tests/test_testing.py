"""`dynlab.testing`: an assertion that passes, fails with a table and leaves the module alone; and its fixture."""

from importlib.metadata import entry_points
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import testing

pytest_plugins = ["pytester"]
BOUNDS = {"max_modulus": 1.5, "max_log_gradient": 20.0, "max_exponent": 0.0}


SUITE = """
import dynlab as dl, numpy as np

def test_keeps(eigenvalue_bounds):
    eigenvalue_bounds(dl.from_function(lambda h, x: 0.5 * h, state_size=2), np.zeros((5, 0)), max_modulus=1.5)

def test_explodes(eigenvalue_bounds):
    eigenvalue_bounds(dl.from_function(lambda h, x: 2.0 * h, state_size=2), np.zeros((5, 0)), max_modulus=1.5)
"""


def rnn(gain=1.0):
    torch.manual_seed(0)
    model = nn.RNN(3, 16)
    with torch.no_grad():
        model.weight_hh_l0.mul_(gain)
    return model


def test_a_network_that_explodes_fails_with_the_table():
    testing.assert_eigenvalue_bounds(rnn(), "noise:0.1", **BOUNDS)
    with pytest.raises(AssertionError) as failure:
        testing.assert_eigenvalue_bounds(rnn(gain=8.0), "noise:0.1", **BOUNDS)
    row = next(line for line in str(failure.value).splitlines() if line.startswith("max_modulus ≤ 1.5"))
    ds = testing.measure_bounds(rnn(gain=8.0), "noise:0.1", **BOUNDS)
    assert f"{float(ds['measured'][0]):.6g}" in row
    assert "violated (" in row


def test_a_larger_module_is_driven_by_the_real_inputs_of_its_layer_and_not_changed():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(2, 3)
            self.rnn = nn.GRU(3, 5, batch_first=True)

        def forward(self, x):
            return self.rnn(self.encoder(x))[0]

    model = Model().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    batch = torch.randn(4, 7, 2)
    ds = testing.assert_eigenvalue_bounds(model, layer="rnn", batch=batch, max_modulus=2.0)
    direct = dl.spectrum(dl.from_module(model.rnn), model.encoder(batch).detach())["spectral_radius"]
    assert float(ds["measured"][0]) == pytest.approx(float(direct.max()), rel=1e-6)  # the encoder ran in float32
    assert model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_at_the_bound_passes_unless_strict_and_undecided_fails():
    identity = dl.from_function(lambda h, x: 1.0 * h, state_size=2)
    testing.assert_eigenvalue_bounds(identity, np.zeros((5, 0)), max_modulus=1.0)
    with pytest.raises(AssertionError, match="within its error of its bound"):
        testing.assert_eigenvalue_bounds(identity, np.zeros((5, 0)), max_modulus=1.0, strict=True)
    with pytest.raises(AssertionError, match="no spread between samples"):
        testing.assert_eigenvalue_bounds(rnn(), "noise:1.0", samples=1, max_exponent=0.0)


def test_one_passes_one_fails_with_the_table_and_both_are_in_pytests_own_report(pytester):
    pytester.makepyfile(test_network=SUITE)
    installed = any(point.value == "dynlab.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "dynlab.pytest_plugin"]
    run = pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider", "--junitxml=report.xml", "-W", "error")
    run.assert_outcomes(passed=1, failed=1)
    run.stdout.fnmatch_lines(["*max_modulus ≤ 1.5*violated (*"])
    report = ElementTree.parse("report.xml")
    found = {each.get("name"): float(each.get("value")) for each in report.iter("property")}
    place = "test_network.py::test_{} max_modulus"
    assert found == {place.format("keeps"): 0.5, place.format("explodes"): 2.0}
