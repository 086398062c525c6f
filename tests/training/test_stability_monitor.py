"""The monitor against the diagnostics, in anybody's LightningModule, and that training does not notice it."""

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn

import dynlab as dl
from dynlab.training import StabilityMonitor
from dynlab.training.stability_watch import LARGEST_EXPONENT, LOG_GRADIENT, SPECTRAL_RADIUS

STEPS = 12


class Users(LightningModule):
    """A module that dynlab has never seen: an encoder, a recurrent layer with dropout beside it, a head."""

    def __init__(self, recurrent, features):
        super().__init__()
        self.encode = nn.Linear(3, 4)
        self.body = nn.ModuleDict({"recurrent": recurrent})
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(features, 1)
        self.seen = []

    def forward(self, x):
        shown = self.body["recurrent"](torch.tanh(self.encode(x)))[0]
        return self.head(self.dropout(shown[:, -1]))

    def training_step(self, batch, index):
        loss = (self(batch[0]) - batch[1]).square().mean()
        self.seen.append(float(loss))
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Reader(Users):
    """The same, one step of a Cell after the other."""

    def forward(self, x):
        h = None
        for input in torch.tanh(self.encode(x)).unbind(dim=1):
            h = self.body["recurrent"](input, h)
        return self.head(self.dropout(h))


MODULES = {
    "gru": lambda: Users(nn.GRU(4, 6, batch_first=True), 6),
    "lstm-stack": lambda: Users(nn.LSTM(4, 5, num_layers=2, batch_first=True), 5),
    "lstm-projected": lambda: Users(nn.LSTM(4, 6, proj_size=3, batch_first=True), 3),
    "bidirectional": lambda: Users(nn.RNN(4, 5, bidirectional=True, batch_first=True), 10),
    "cell": lambda: Reader(nn.GRUCell(4, 6), 6),
}
LAYERS = {"bidirectional": "body.recurrent:0r"}


def data():
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(20, STEPS, 3, generator=generator)
    return torch.utils.data.DataLoader(list(zip(rows, rows.sum(dim=(1, 2))[:, None], strict=True)), batch_size=5)


def fitted(name, *callbacks):
    torch.manual_seed(0)
    module = MODULES[name]()
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = Trainer(max_epochs=2, accelerator="cpu", callbacks=list(callbacks), enable_model_summary=False, **options)
    trainer.fit(module, data())
    return module, trainer


class Recorder(StabilityMonitor):
    """Keeps what was measured, and the module as it was then."""

    def __init__(self, **options):
        super().__init__(**options)
        self.kept = []

    def _measured(self, pl_module, inputs):
        found = super()._measured(pl_module, inputs)
        self.kept.append((dl.from_module(pl_module, self.layer), inputs, found))
        return found


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("name", MODULES)
def test_it_measures_what_the_diagnostics_measure(name):
    monitor = Recorder(every_n_steps=3, layer=LAYERS.get(name))
    _, trainer = fitted(name, monitor)
    assert len(monitor.kept) == 3  # steps 0, 3 and 6 of 8
    for system, inputs, found in monitor.kept:
        assert inputs.shape[:2] == (2, STEPS)
        assert found[LOG_GRADIENT] == pytest.approx(
            np.mean([log_norm(system, one) for one in system.drive(inputs)]), abs=1e-6
        )
    logged = trainer.callback_metrics
    assert float(logged[LOG_GRADIENT]) == pytest.approx(monitor.kept[-1][2][LOG_GRADIENT], rel=1e-6)
    assert {SPECTRAL_RADIUS, LARGEST_EXPONENT} <= set(logged)


def log_norm(system, inputs):
    """ln ‖∂h_T/∂h_1‖₂ by automatic differentiation through the steps."""
    start = system.step(torch.zeros(system.state_size, dtype=torch.float64), inputs[0]).detach()

    def last(state):
        for input in inputs[1:]:
            state = system.step(state, input)
        return state

    return float(torch.linalg.matrix_norm(torch.autograd.functional.jacobian(last, start), 2).log())


@pytest.mark.parametrize("name", ["gru", "cell"])
def test_training_is_the_same_bit_for_bit_with_and_without_it(name):
    with_it, _ = fitted(name, StabilityMonitor(every_n_steps=2))
    without, _ = fitted(name)
    assert with_it.seen == without.seen
    for one, other in zip(with_it.parameters(), without.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not any(part._forward_pre_hooks for part in with_it.modules())
