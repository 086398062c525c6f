"""Lightning's part of a run: its trainer, its checkpoints, and what it says."""

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy, Strategy

from dynlab.training.batches import Batches, Sweep
from dynlab.training.history import Bar, History
from dynlab.training.module import Training
from dynlab.training.network import sweep
from dynlab.training.prepare import Prepared
from dynlab.training.run import checked_against_run
from dynlab.training.saving import Kept, WholeCheckpoints, savers
from dynlab.training.settings import PRECISIONS
from dynlab.training.stability_monitor import StabilityMonitor
from dynlab.training.step_log import StepLog

DENORMAL = 1e-40  # in float32


def fit(prepared: Prepared, resume_from: Path | None) -> None:
    """Train the network, from `resume_from` where that is given, and leave the checkpoints in the folder."""
    task, settings = prepared.task, prepared.settings
    batches = Batches(task, settings)
    training = Training(prepared.network, task, settings, batches, prepared.facts)
    held = task.validation
    validation = None if held is None else sweep(task, held, settings.carry)
    history = History(prepared.folder, task, settings.epochs, prepared.say, prepared.writes.test_every_epoch)
    bar = [Bar(history, len(batches))] if prepared.progress else []
    every = prepared.writes.monitor_every
    # the network that learns, beside which an average of its weights may stand
    monitor = None if every is None else StabilityMonitor(every, layer="network.system")
    steps = StepLog(prepared.folder, prepared.writes.log_every, monitor, prepared.say)
    kept = [Kept(prepared.folder, prepared.writes.keep_every)] if prepared.writes.keep_every is not None else []
    with _quiet(), _all_digits(), _no_denormals(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        trainer = Trainer(
            accelerator=prepared.accelerator,
            devices=prepared.devices,
            strategy=_strategy(prepared.processes),
            precision=PRECISIONS[settings.precision],
            max_epochs=settings.epochs,
            gradient_clip_val=settings.clip or None,
            callbacks=[history, *bar, *([monitor] if monitor else []), steps, *kept, *savers(prepared)],
            plugins=[WholeCheckpoints()],
            logger=False,
            default_root_dir=prepared.folder,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
        )
        _until_interrupted(trainer, training, batches, validation, resume_from)


def _strategy(processes: int) -> Strategy | str:
    """Lightning's, for processes that are started already; a system may have parameters that a step does not use."""
    if processes == 1:
        return "auto"
    # buffers are the same in all processes, since what changes them is
    return DDPStrategy(
        cluster_environment=LightningEnvironment(), find_unused_parameters=True, forward_sync_buffers=False
    )


def _until_interrupted(
    trainer: Trainer, training: Training, batches: Batches, validation: Sweep | None, resume_from: Path | None
) -> None:
    """Fit; Lightning ends an interrupted one with SystemExit(1) and a deaf SIGINT, which is undone here."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        with checked_against_run(resume_from, lambda: training.has_stepped):
            trainer.fit(training, batches, validation, ckpt_path=resume_from, weights_only=True)
    except SystemExit as stopped:
        signal.signal(signal.SIGINT, handler)
        if trainer.interrupted:
            raise KeyboardInterrupt from stopped
        raise


@contextmanager
def _all_digits() -> Iterator[None]:
    """Keep cuDNN, which rounds the factors of float32 products to ten bits otherwise, to float32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


@contextmanager
def _no_denormals() -> Iterator[None]:
    """Take numbers below float32's least normal one, 1.2e-38, for 0.

    A gradient that vanishes on its way back through a thousand steps goes through them, and a processor takes some
    twenty times as long for each.
    """
    before = float(torch.full((), DENORMAL) * 1) == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Lightning says to everybody: which devices there are, that a folder is not empty, its tips."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            # the folder of a resumed run is not empty, as it must be
            warnings.filterwarnings("ignore", "Checkpoint directory .* exists and is not empty")
            # of a checkpoint by another version, or by a run that wrote other files beside; what matters is checked
            warnings.filterwarnings("ignore", "The loaded checkpoint was produced with Lightning")
            warnings.filterwarnings("ignore", "Be aware that when using `ckpt_path`, callbacks used to create")
            # Lightning 2.6 still makes what torch 2.13 deprecates
            warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated", FutureWarning)
            # a run on the whole training split holds nothing out
            warnings.filterwarnings("ignore", "You defined a `validation_step` but have no `val_dataloader`")
            # what is recorded for a GPU runs on a stream of its own
            warnings.filterwarnings("ignore", "The AccumulateGrad node's stream does not match")
            # every process validates on everything
            warnings.filterwarnings("ignore", "It is recommended to use `self.log.*sync_dist=True")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
