"""Training in bfloat16: every system takes its steps, and what is kept stays in float32."""

import math

import pytest
import torch
from training.test_systems import TRAINED

from dynlab import checkpoints
from dynlab.training import Run, Settings, train


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_every_system_learns_in_bf16(name, tmp_path):
    config, options = TRAINED[name]
    settings = Settings(epochs=1, batch_size=512, precision="bf16", **options)
    facts = train(Run(name, "digits", settings, config), tmp_path / "run").facts
    assert math.isfinite(facts["test_loss"])
    kept = checkpoints.read(tmp_path / "run" / "network.pt").system.state_dict()
    # the bases of moving orthogonal matrices are kept in float64
    assert not any(one.dtype == torch.bfloat16 for one in kept.values())


def test_bf16_is_another_training(tmp_path):
    def losses(precision):
        settings = Settings(epochs=1, batch_size=512, precision=precision)
        return train(Run("vanilla", "digits", settings, {"state_size": 8}), tmp_path / precision).facts["test_loss"]

    assert losses("bf16") != losses("float32")
