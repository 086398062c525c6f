"""What every test leaves behind: no open figures."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
