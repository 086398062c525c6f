"""What the tests of training share."""

import pytest
from runs import Stopped

from dynlab.training.module import Training


@pytest.fixture
def stop_at(monkeypatch):
    """Make the training stop before its step of that number."""
    original = Training.training_step

    def prepare(number):
        steps = iter(range(10**6))

        def step(self, batch, index):
            if next(steps) == number:
                raise Stopped
            return original(self, batch, index)

        monkeypatch.setattr(Training, "training_step", step)

    yield prepare
    monkeypatch.setattr(Training, "training_step", original)
