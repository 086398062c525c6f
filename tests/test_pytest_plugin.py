"""The fixture in a suite of a user's own, in a process of its own."""

import subprocess
import sys
from importlib.metadata import entry_points
from xml.etree import ElementTree

SUITE = """
import dynlab as dl, numpy as np

def test_keeps(eigenvalue_bounds):
    eigenvalue_bounds(dl.from_function(lambda h, x: 0.5 * h, state_size=2), np.zeros((5, 0)), max_modulus=1.5)

def test_explodes(eigenvalue_bounds):
    eigenvalue_bounds(dl.from_function(lambda h, x: 2.0 * h, state_size=2), np.zeros((5, 0)), max_modulus=1.5)
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
    moduli = {"keeps": 0.5, "explodes": 2.0}
    assert found == {f"test_network.py::test_{name} max_modulus": modulus for name, modulus in moduli.items()}
