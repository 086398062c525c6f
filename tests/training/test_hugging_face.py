"""The stability monitor in Hugging Face's trainer: what Lightning's measures, and a training that is left as it was."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab.errors import UserError
from dynlab.training.stability_watch import LARGEST_EXPONENT, LOG_GRADIENT, SPECTRAL_RADIUS

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

STEPS = 12
pytestmark = pytest.mark.filterwarnings("ignore")


class Model(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.recurrent, self.head = recurrent, nn.Linear(5, 1)

    def forward(self, x, labels):
        found = self.head(self.recurrent(x)[0][:, -1]) if self.recurrent else self.head(x[:, 0, :1].expand(-1, 5))
        return {"loss": ((found - labels) ** 2).mean(), "logits": found}


def fitted(folder, *callbacks, recurrent=True):
    torch.manual_seed(0)
    model = Model(nn.GRU(3, 5, batch_first=True) if recurrent else None)
    rows = torch.randn(24, STEPS, 3, generator=torch.Generator().manual_seed(1))
    options = {"max_steps": 8, "per_device_train_batch_size": 4, "report_to": [], "save_strategy": "no"}
    arguments = transformers.TrainingArguments(folder, use_cpu=True, disable_tqdm=True, **options)
    examples = [{"x": row, "labels": row.sum()[None]} for row in rows]
    trainer = transformers.Trainer(model, arguments, train_dataset=examples, callbacks=list(callbacks))
    trainer.train()
    return model, trainer


def test_it_logs_what_the_diagnostics_measure_and_leaves_the_training_as_it_was(tmp_path):
    from dynlab.training.hugging_face import TrainerStabilityMonitor

    kept = []

    class Recorder(TrainerStabilityMonitor):
        def _measured(self, module, inputs):
            kept.append((dl.from_module(module), inputs))
            return super()._measured(module, inputs)

    with_it, trainer = fitted(tmp_path, Recorder(every_n_steps=3))
    logged = [entry for entry in trainer.state.log_history if LOG_GRADIENT in entry]
    assert [entry["step"] for entry in logged] == [1, 4, 7]
    for entry, (system, inputs) in zip(logged, kept, strict=True):
        assert inputs.shape == (2, STEPS, 3)
        exact = dl.gradient(system, inputs.numpy())["log_norm"].sel(time=1).values.mean()
        assert entry[LOG_GRADIENT] == pytest.approx(exact, abs=1e-6)
        assert np.isfinite([entry[SPECTRAL_RADIUS], entry[LARGEST_EXPONENT]]).all()
    without, _ = fitted(tmp_path)
    for one, other in zip(with_it.parameters(), without.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not any(part._forward_pre_hooks for part in with_it.modules())


def test_a_model_without_a_recurrent_layer_is_told_so(tmp_path):
    from dynlab.training.hugging_face import TrainerStabilityMonitor

    with pytest.raises(UserError, match="found no RNN"):
        fitted(tmp_path, TrainerStabilityMonitor(), recurrent=False)
