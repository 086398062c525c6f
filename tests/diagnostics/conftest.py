"""What several tests of diagnostics share."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def benchmark_of():
    """A module of the folder benchmarks by its name."""

    def loaded(name):
        path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # its dataclasses look themselves up there
        spec.loader.exec_module(module)
        return module

    return loaded
