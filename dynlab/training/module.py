"""The network as Lightning trains it; the only file that subclasses Lightning's module."""

import shlex
from collections.abc import Mapping
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dynlab import checkpoints
from dynlab.errors import UserError
from dynlab.tasks import Task
from dynlab.training.batches import Batches
from dynlab.training.network import Network, loss_of, metric_of
from dynlab.training.settings import PLATEAU, Settings

VALIDATION_LOSS, VALIDATION_METRIC = "validation_loss", "validation_metric"


class Training(LightningModule):
    """A network in training.

    Parameters
    ----------
    network : Network
    task : Task
    settings : Settings
    batches : Batches
        The training data, whose position goes into the checkpoints: Lightning itself forgets it between epochs.
    facts : dict
        On the training, JSON-able, for the checkpoints.
    """

    loss_sum: Tensor
    sequences: Tensor
    lowest: Tensor
    halvings: Tensor

    def __init__(
        self, network: Network, task: Task, settings: Settings, batches: Batches, facts: dict[str, Any]
    ) -> None:
        super().__init__()
        self.network = network
        self.task = task
        self.settings = settings
        self.batches = batches
        self.facts = facts
        self.average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(settings.ema)) if settings.ema else None
        # the mean loss of an epoch, kept here so that a resumed epoch has its first part too
        self.register_buffer("loss_sum", torch.zeros((), dtype=torch.float64))
        self.register_buffer("sequences", torch.zeros((), dtype=torch.int64))
        # of the schedule that watches the validation
        self.register_buffer("lowest", torch.full((), torch.inf, dtype=torch.float64))
        self.register_buffer("halvings", torch.zeros((), dtype=torch.int64))
        self._state: Tensor | None = None  # that the next windows of the streams start at
        self._held_state: Tensor | None = None
        self._generator_state: Tensor | None = None

    @property
    def trained(self) -> Network:
        """The network that is validated and saved: the average of the weights where there is one."""
        return self.network if self.average is None else cast(Network, self.average.module)

    def take_mean_loss(self) -> float:
        """The mean training loss since it was last taken."""
        mean = float(self.loss_sum / self.sequences)
        self.loss_sum.zero_()
        self.sequences.zero_()
        return mean

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        inputs, targets = batch
        answers, last = self.network.carried(inputs, self._start(self._state, index, inputs))
        self._state = last.detach()
        loss = loss_of(self.task, answers, targets, self.settings)
        self.loss_sum += len(inputs) * loss.detach()
        self.sequences += len(inputs)
        rate = self.trainer.optimizers[0].param_groups[0]["lr"]
        self.log_dict({"loss": loss.detach(), "learning_rate": rate}, prog_bar=True, batch_size=len(inputs))
        penalty = self.network.system.penalty() if self.settings.penalty else None
        return loss if penalty is None else loss + self.settings.penalty * penalty

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        inputs, targets = batch
        answers, self._held_state = self.trained.carried(inputs, self._start(self._held_state, index, inputs))
        self.log_dict(
            {
                VALIDATION_LOSS: loss_of(self.task, answers, targets),
                VALIDATION_METRIC: metric_of(self.task, answers, targets),
            },
            prog_bar=True,
            batch_size=len(inputs),
        )

    def _start(self, state: Tensor | None, index: int, inputs: Tensor) -> Tensor | None:
        """Return where a batch starts: at what the one before it ended in, where states are carried."""
        return state[: len(inputs)] if state is not None and index and self.settings.carry else None

    def configure_optimizers(self) -> Any:
        system = self.network.system
        optimizer = self.settings.make_optimizer(
            self.network.parameters(), system.constrained_parameters(), system.decaying_parameters()
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: self.settings.rate(step, len(self.batches)) * 0.5 ** int(self.halvings)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def optimizer_step(self, *arguments: Any, **named: Any) -> None:
        super().optimizer_step(*arguments, **named)
        self.network.system.after_optimizer_step()
        if self.average is not None:
            self.average.update_parameters(self.network)

    def on_train_epoch_end(self) -> None:
        """Halve the learning rates where the validation has not got better; before the checkpoint is written."""
        if self.settings.schedule != PLATEAU:
            return
        found = self.trainer.callback_metrics[VALIDATION_LOSS]
        if found < self.lowest:
            self.lowest.copy_(found)
            return
        self.halvings += 1
        for group in self.trainer.optimizers[0].param_groups:
            group["lr"] *= 0.5

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["dynlab"] = checkpoints.document(
            self.trained.system,
            self.trained.readout,
            {"name": self.task.name} | self.task.settings,
            self.facts | {"epoch": self.current_epoch + 1},
        )
        checkpoint["batches"] = self.batches.state_dict()
        checkpoint["processes"] = [{"generator": torch.get_rng_state(), "state": self._state}]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        check_of_run(checkpoint, self.facts["command"])
        for saver in self.trainer.checkpoint_callbacks:  # of a run that was moved
            if saver.state_key in checkpoint["callbacks"]:
                checkpoint["callbacks"][saver.state_key]["dirpath"] = getattr(saver, "dirpath", None)
        self.batches.load_state_dict(checkpoint["batches"])
        here = checkpoint["processes"][0]
        self._generator_state, self._state = here["generator"], here["state"]

    def on_train_start(self) -> None:
        """Give dropout the generator's state that the checkpoint holds, after all that may have drawn from it."""
        if self._generator_state is not None:
            torch.set_rng_state(self._generator_state)


def check_of_run(stored: Mapping[str, Any], command: str) -> None:
    """Compare the command among a checkpoint's facts, with all settings that decide the result, with a run's own.

    Raises
    ------
    UserError
        If they differ.
    """
    theirs = stored["dynlab"]["training"]["command"]
    if sorted(shlex.split(theirs)) != sorted(shlex.split(command)):
        raise UserError(f"The checkpoint is of another run, `{theirs}`; start this one anew with --overwrite.")
