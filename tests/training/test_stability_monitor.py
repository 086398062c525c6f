"""The monitor against the diagnostics, in anybody's LightningModule, and that training does not notice."""

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn

import dynlab as dl
from dynlab.errors import UserError
from dynlab.training.stability_monitor import LARGEST_EXPONENT, LOG_GRADIENT, SPECTRAL_RADIUS, StabilityMonitor

STEPS = 12
pytestmark = pytest.mark.filterwarnings("ignore")


class Users(LightningModule):
    """A module that dynlab has never seen: an encoder, a recurrent layer or a Cell, dropout, a head."""

    def __init__(self, recurrent, features):
        super().__init__()
        self.encode = nn.Linear(3, 4)
        self.body = nn.ModuleDict({"recurrent": recurrent})
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(features, 1)
        self.seen = []

    def forward(self, x):
        recurrent, read, h = self.body["recurrent"], torch.tanh(self.encode(x)), None
        if not isinstance(recurrent, nn.GRUCell):
            return self.head(self.dropout(recurrent(read)[0][:, -1]))
        for input in read.unbind(dim=1):
            h = recurrent(input, h)
        return self.head(self.dropout(h))

    def training_step(self, batch, index):
        loss = (self(batch[0]) - batch[1]).square().mean()
        self.seen.append(float(loss))
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


MODULES = {
    "lstm-stack": lambda: Users(nn.LSTM(4, 5, num_layers=2, batch_first=True), 5),
    "lstm-projected": lambda: Users(nn.LSTM(4, 6, proj_size=3, batch_first=True), 3),
    "bidirectional": lambda: Users(nn.RNN(4, 5, bidirectional=True, batch_first=True), 10),
    "cell": lambda: Users(nn.GRUCell(4, 6), 6),
}
LAYERS = {"bidirectional": "body.recurrent:0r"}
ROWS = torch.randn(24, STEPS, 3, generator=torch.Generator().manual_seed(1))


def fitted(name, *callbacks):
    torch.manual_seed(0)
    module = MODULES[name]()
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=2, accelerator="cpu", callbacks=list(callbacks), enable_model_summary=False, **options)
    data = [(row, row.sum()[None]) for row in ROWS]
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=6))
    return module, trainer


def recording(monitor):
    """A monitor that keeps what was measured, and the module as it was then."""

    class Recorder(monitor):
        kept = ()

        def _measured(self, module, inputs):
            found = super()._measured(module, inputs)
            self.kept = (*self.kept, (dl.from_module(module, self.layer), inputs, found))
            return found

    return Recorder


def log_norm(system, inputs):
    """ln ‖∂h_T/∂h_1‖₂ by automatic differentiation through the steps."""
    start = system.step(torch.zeros(system.state_size, dtype=torch.float64), inputs[0]).detach()

    def last(state):
        for input in inputs[1:]:
            state = system.step(state, input)
        return state

    return float(torch.linalg.matrix_norm(torch.autograd.functional.jacobian(last, start), 2).log())


def assert_measured(kept):
    assert len(kept) == 3  # steps 0, 3 and 6 of 8
    for system, inputs, found in kept:
        assert inputs.shape[:2] == (2, STEPS)
        expected = np.mean([log_norm(system, one) for one in system.drive(inputs)])
        assert found[LOG_GRADIENT] == pytest.approx(expected, abs=1e-6)


def assert_same_training(one, other):
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))
    assert not any(part._forward_pre_hooks for part in one.modules())


@pytest.mark.parametrize("name", MODULES)
def test_it_measures_what_the_diagnostics_measure_and_training_is_the_same_bit_for_bit(name):
    monitor = recording(StabilityMonitor)(every_n_steps=3, layer=LAYERS.get(name))
    with_it, trainer = fitted(name, monitor)
    assert_measured(monitor.kept)
    logged = trainer.callback_metrics
    assert float(logged[LOG_GRADIENT]) == pytest.approx(monitor.kept[-1][2][LOG_GRADIENT], rel=1e-6)
    assert {SPECTRAL_RADIUS, LARGEST_EXPONENT} <= set(logged)
    without, _ = fitted(name)
    assert with_it.seen == without.seen
    assert_same_training(with_it, without)


def test_a_module_without_a_recurrent_layer_is_refused():
    with pytest.raises(UserError, match="found no RNN"):
        StabilityMonitor().setup(None, Users(nn.Linear(4, 5), 5), "fit")
