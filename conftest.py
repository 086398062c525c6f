"""What every test and every example of a docstring starts with: the same state of torch's generator."""

import pytest
import torch


@pytest.fixture(autouse=True)
def same_weights():
    """A failure is one on every machine, in every order and on every worker, or on none."""
    torch.manual_seed(0)
