"""Lightning's part of a run: its trainer, its loggers and its checkpoints."""

import logging
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from dynlab.tasks import Task
from dynlab.training.batches import Batches
from dynlab.training.module import Training
from dynlab.training.network import Network, sweep
from dynlab.training.run import STEPS, TENSORBOARD, Run, Writes
from dynlab.training.saving import History, WholeCheckpoints, savers
from dynlab.training.settings import PRECISIONS
from dynlab.training.stability_monitor import StabilityMonitor

DENORMAL = 1e-40  # in float32
EXPECTED = (
    "Checkpoint directory .* exists and is not empty",  # that of a resumed run
    "The loaded checkpoint was produced with Lightning",  # of another version
    "Be aware that when using `ckpt_path`, callbacks used to create",  # a run that wrote other files beside
    ".*LeafSpec.* is deprecated",  # Lightning 2.6 still makes what torch 2.13 deprecates
    "You defined a `validation_step` but have no `val_dataloader`",  # a run on the whole training split
    "The AccumulateGrad node's stream does not match",  # what is recorded for a GPU runs on a stream of its own
    "The number of training batches",  # is smaller than the interval between logs
)


def fit(
    network: Network,
    task: Task,
    run: Run,
    facts: dict[str, Any],
    folder: Path,
    writes: Writes,
    device: str,
    resume_from: Path | None,
    progress: bool,
    say: Callable[[str], None] | None,
) -> None:
    """Train the network, from `resume_from` where that is given, and leave the checkpoints in the folder."""
    settings = run.settings
    batches = Batches(task, settings)
    training = Training(network, task, settings, batches, facts)
    validation = None if task.validation is None else sweep(task, task.validation, settings.carry)
    callbacks = [History(folder, say, writes.test_every_epoch), *savers(folder, task, writes)]
    if writes.monitor_every is not None:  # the network that learns, beside which an average of its weights may stand
        callbacks.append(StabilityMonitor(writes.monitor_every, layer="network.system"))
    if progress:
        callbacks.append(RichProgressBar(console_kwargs={"stderr": True}))
    kind, _, index = device.partition(":")
    with _quiet(), _arithmetic(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        trainer = Trainer(
            accelerator=kind,
            devices=[int(index)] if index and kind != "cpu" else 1,
            deterministic=settings.deterministic or None,
            precision=PRECISIONS[settings.precision],
            max_epochs=settings.epochs,
            gradient_clip_val=settings.clip or None,
            callbacks=callbacks,
            plugins=[WholeCheckpoints()],
            logger=[CSVLogger(folder, STEPS), TensorBoardLogger(folder, TENSORBOARD)],
            log_every_n_steps=writes.log_every,
            default_root_dir=folder,
            enable_progress_bar=progress,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        handler = signal.getsignal(signal.SIGINT)
        try:
            trainer.fit(training, batches, validation, ckpt_path=resume_from, weights_only=True)
        except SystemExit as stopped:  # Lightning ends an interrupted one so, and deaf to SIGINT
            signal.signal(signal.SIGINT, handler)
            if trainer.interrupted:
                raise KeyboardInterrupt from stopped
            raise


@contextmanager
def _arithmetic() -> Iterator[None]:
    """Keep cuDNN to float32, whose factors it rounds to ten bits otherwise, and take denormal numbers for 0.

    A gradient that vanishes on its way back through a thousand steps goes through them, and a processor takes some
    twenty times as long for each.
    """
    rounded, flushed = torch.backends.cudnn.allow_tf32, float(torch.full((), DENORMAL) * 1) == 0
    before = torch.are_deterministic_algorithms_enabled()  # which the trainer asks for where the settings do
    torch.backends.cudnn.allow_tf32 = False
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.allow_tf32 = rounded
        torch.set_flush_denormal(flushed)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Lightning says to everybody: which devices there are, that a folder is not empty, its tips."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "|".join(EXPECTED))
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
