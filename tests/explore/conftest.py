"""The explorer's own modules under node, where there is one."""

import pytest
from node import in_node_of

from dynlab.explore.page import FOLDER


@pytest.fixture(scope="session")
def in_node():
    """Run a JavaScript expression of the explorer's `modules` and `given`, and give what it gives."""
    return in_node_of(FOLDER)
