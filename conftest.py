"""What every test and every example of a docstring starts with: the same state of torch's generator."""

import pytest
import torch

# text that generated modules take up
collect_ignore = ["dynlab/diagnostics/lyapunov/loops.py", "dynlab/trajectories/loops.py"]


@pytest.fixture(autouse=True)
def same_weights():
    """A failure is one on every machine, in every order and on every worker, or on none."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed is slow: it keeps a traceback for each absent device
