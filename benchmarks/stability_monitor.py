"""What StabilityMonitor costs at its default interval, in parts of a training's processor time, measured in one run.

    python benchmarks/stability_monitor.py

Sizes are those of the benchmarks the sources train on. Both trainings take turns, and the median of the ratios counts.
"""

import logging
import statistics
import time
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn

from dynlab.training import StabilityMonitor

STEPS = 201  # of a training: the monitor measures at the steps 0 and 200
PAIRS = 3
# name: layer, input width, units, steps of a sequence, batch
CASES = {
    "LSTM 64, HAR-2 (128 steps)": (nn.LSTM, 9, 64, 128, 128),
    "GRU 128, sequential MNIST (784 steps)": (nn.GRU, 1, 128, 784, 128),
}


class Classifier(LightningModule):
    def __init__(self, kind: type[nn.RNNBase], width: int, units: int) -> None:
        super().__init__()
        self.layer = kind(width, units, batch_first=True)
        self.head = nn.Linear(units, 2)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return nn.functional.cross_entropy(self.head(self.layer(batch[0])[0][:, -1]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def seconds(case: tuple, steps: int, monitored: bool) -> float:
    kind, width, units, length, batch = case
    torch.manual_seed(0)
    rows = [(torch.randn(batch, length, width), torch.zeros(batch, dtype=torch.long))] * steps
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    callbacks = [StabilityMonitor()] if monitored else []
    trainer = Trainer(max_epochs=1, accelerator="cpu", callbacks=callbacks, enable_model_summary=False, **options)
    module = Classifier(kind, width, units)
    began = time.process_time()
    trainer.fit(module, torch.utils.data.DataLoader(rows, batch_size=None))
    return time.process_time() - began


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for name, case in CASES.items():
        # one measurement for each 200 steps: two within 201 would count it double
        steps = STEPS if case[3] < 500 else STEPS // 4
        ratios, extra = [], []
        for _ in range(PAIRS):
            plain, monitored = seconds(case, steps, False), seconds(case, steps, True)
            measurements = 1 + (steps - 1) // 200
            each = (monitored - plain) / measurements
            extra.append(each)
            ratios.append(each / (200 * plain / steps))
        cost, each = statistics.median(ratios), statistics.median(extra)
        print(f"{name}: {cost:+.2%} of the training, {each:.2f} s for one measurement")


if __name__ == "__main__":
    main()
