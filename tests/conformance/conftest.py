"""What the tests of this folder share: one small result of each diagnostic, computed by the first that asks for it."""

import pytest


@pytest.fixture(scope="session")
def results():
    return {}
