"""Measurements of a run epoch by epoch, in ``metrics.csv`` and in words."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from lightning.pytorch import Callback, Trainer

from dynlab.files import write_text
from dynlab.training.module import VALIDATION_LOSS, VALIDATION_METRIC
from dynlab.training.network import evaluate
from dynlab.training.run import METRICS_FILE, Diverged


class History(Callback):
    """Writes ``metrics.csv``, a row an epoch, says each row, and stops a training that has diverged."""

    def __init__(self, folder: Path, say: Callable[[str], None] | None, test: bool) -> None:
        self.path = folder / METRICS_FILE
        self.say = say
        self.test = test
        self.rows: list[dict[str, float]] = []

    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        task = pl_module.task
        row = {"epoch": trainer.current_epoch + 1, "loss": pl_module.take_mean_loss()}
        names = {VALIDATION_LOSS: "validation_loss", VALIDATION_METRIC: f"validation_{task.metric}"}
        metrics = trainer.callback_metrics
        row |= {name: float(metrics[key]) for key, name in names.items() if key in metrics}
        if self.test:
            network, learning = pl_module.trained, pl_module.trained.training
            found = evaluate(network, task, task.test, pl_module.settings.carry)
            network.train(learning)
            row |= {f"test_{key}": value for key, value in found.items()}
        if not math.isfinite(row["loss"]):
            raise Diverged(
                f"The training diverged in epoch {row['epoch']}: the loss is {row['loss']}; lower --lr or set --clip. "
                "For an ernn-exact set activation=tanh and rank=none, with which every step has an equilibrium."
            )
        self.rows.append(row)
        write_text(self.path, pd.DataFrame(self.rows).to_csv(index=False, na_rep="nan", lineterminator="\n"))
        if self.say is not None:
            said = [f"{name.replace('_', ' ')} {value:#.4g}" for name, value in row.items() if name != "epoch"]
            self.say(f"epoch {row['epoch']} of {trainer.max_epochs}: {', '.join(said)}")

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = list(state_dict["rows"])
