"""SECURITY.md states the limits that the code has, all of them."""

import importlib
import re
from pathlib import Path

import pytest

from dynlab import reading

STATED = re.findall(
    r"^\|[^|]+\| (\d+) \| `([\w.]+)` \|$", (Path(__file__).parents[1] / "SECURITY.md").read_text(), re.M
)


def in_the_code(name):
    if name in reading.DEFAULTS:
        return reading.DEFAULTS[name]
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("limit, name", STATED, ids=[name for _, name in STATED])
def test_a_limit_is_the_one_of_the_code(limit, name):
    assert int(limit) == in_the_code(name)


def test_both_limits_of_the_environment_are_stated():
    assert set(reading.DEFAULTS) <= {name for _, name in STATED}
