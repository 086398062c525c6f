"""The fixture in a suite of a user's own, in a process of its own."""

import subprocess
import sys
from importlib.metadata import entry_points
from xml.etree import ElementTree

SUITE = """
import torch

def exploding():
    torch.manual_seed(0)
    model = torch.nn.RNN(3, 16)
    with torch.no_grad():
        model.weight_hh_l0.mul_(8)
    return model

def test_keeps(eigenvalue_bounds):
    torch.manual_seed(0)
    eigenvalue_bounds(torch.nn.GRU(3, 8), "noise:1.0", max_modulus=1.0)

def test_explodes(eigenvalue_bounds):
    eigenvalue_bounds(exploding(), "noise:0.1", max_modulus=1.5)
"""


def test_one_passes_one_fails_with_the_table_and_both_are_in_pytests_own_report(tmp_path):
    (tmp_path / "test_network.py").write_text(SUITE)
    installed = any(point.value == "dynlab.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "dynlab.pytest_plugin"]
    options = ["-p", "no:cacheprovider", "--junitxml=report.xml", "-W", "error"]
    command = [sys.executable, "-m", "pytest", *plugin, *options]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert "max_modulus ≤ 1.5" in run.stdout
    assert "violated (" in run.stdout
    tree = ElementTree.parse(tmp_path / "report.xml")
    found = {each.get("name"): float(each.get("value")) for each in tree.iter("property")}
    kept, exploded = (f"test_network.py::test_{name} max_modulus" for name in ("keeps", "explodes"))
    assert set(found) == {kept, exploded}
    assert found[exploded] > 1.5 > 1 > found[kept]
