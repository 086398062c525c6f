"""SECURITY.md states the limits that the code has."""

import importlib
import re
from pathlib import Path

import pytest

STATED = re.findall(
    r"^\|[^|]+\| (\d+) \| `([\w.]+)` \|$", (Path(__file__).parents[1] / "SECURITY.md").read_text(), re.M
)


@pytest.mark.parametrize("limit, name", STATED, ids=[name for _, name in STATED])
def test_a_limit_is_the_one_of_the_code(limit, name):
    module, _, attribute = name.rpartition(".")
    assert int(limit) == getattr(importlib.import_module(module), attribute)
