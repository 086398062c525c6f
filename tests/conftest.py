"""All tests leave no figure behind, and are the same everywhere: its name, and what it draws."""

import gc
import sys

import hypothesis
import pytest

hypothesis.settings.register_profile("same", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("same")


def pytest_make_parametrize_id(val):
    """Bytes are no part of a name: those of an archive change with the clock, and no two workers would agree."""
    return "bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Garbage is looked for among what tests make: of the million objects that are collected none is, and all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
