"""CONTRIBUTING's worked examples, carried out to the letter in a copy of the package: each is its file and one line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# What follows the last word before a block of Python: a file of its own, or a line of a table in another.
FILE = re.compile(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
LINE = re.compile(r"One line in (?:`(\w+)` of )?`([\w/]+\.pyi?)`:\n\n```python\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"^(dynlab \w.*|pytest tests/conformance .*)$", re.MULTILINE)
# One process for all, as torch is long to load: a line of CONTRIBUTING after the other.
CARRY_OUT = """
import contextlib, shlex, sys
from dynlab.cli.main import run
import dynlab, pytest
assert dynlab.__file__.startswith(sys.argv[1]), dynlab.__file__
for line in sys.argv[2:]:
    words, _, into = line.partition(" > ")
    name, *words = shlex.split(words)
    with open(into, "w") if into else contextlib.nullcontext(sys.stdout) as out, contextlib.redirect_stdout(out):
        code = run(words) if name == "dynlab" else pytest.main(["-q", "-o", "addopts=--import-mode=importlib", *words])
    assert code == 0, (line, code)
"""


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory):
    """A copy of the package with the examples in it, and what the commands below them print."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [table for table, *_ in LINE.findall(page)] == ["SYSTEMS", "", "", "Measure"]
    copy = tmp_path_factory.mktemp("copy")
    for folder in ("dynlab", "cli", "figures", "tests/conformance", "docs"):
        shutil.copytree(ROOT / folder, copy / folder)
    for folder in ("cli", "figures"):
        shutil.move(copy / folder, copy / "dynlab" / folder)
    for name in (
        "setup.cfg",
        "tests/conftest.py",
        "tests/pictures.py",
        "tests/small_results.py",
        "tests/public_names.py",
    ):
        shutil.copy(ROOT / name, copy / name)
    lines = LINE.findall(page)
    for path, text in FILE.findall(page):
        if path not in [table for _, table, _ in lines]:
            inside(copy, path).write_text(text, encoding="utf-8")
    for table, path, line in lines:
        text = inside(copy, path).read_text(encoding="utf-8")
        start = re.search(rf'^ *"?{table}\b.*[=:] {{\n' if table else r"^(?=from)", text, re.MULTILINE).end()
        inside(copy, path).write_text(text[:start] + line + text[start:], encoding="utf-8")
    code = [sys.executable, "-W", "error", "-c", CARRY_OUT, str(copy), *COMMANDS.findall(page)]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(code, cwd=copy, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy, done.stdout


def inside(copy, path):
    return copy / "dynlab" / path if path.startswith("cli/") else copy / path


@pytest.mark.slow
def test_every_conformance_test_of_both_passes_and_one_is_trained_proved_and_looked_at(carried_out):
    copy, said = carried_out
    leaky, speed = (int(number) for number in re.findall(r"^(\d+) passed", said, re.MULTILINE))
    assert min(leaky, speed) >= 8  # which the tables alone parametrise
    assert (copy / "runs" / "leaky" / "network.pt").is_file()
    assert "Ball arithmetic proves 1 of 1" in said
    assert "the states move by" in said
