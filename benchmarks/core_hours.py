"""How many core-hours a preset's training takes here: CPU seconds of an iteration times the iterations of its recipe.

    DYNLAB_DATA=~/data python benchmarks/core_hours.py ernn-smnist-antisymmetric

One thread makes 20 iterations as `dynlab train` makes them, after two that are not counted. The hours of presets with
the same network and batches follow too, as MNIST's pixels take as long in another order; optimizers cost little beside.
"""

import dataclasses
import sys
import time
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer

from dynlab.cli.main import keep_memory
from dynlab.training import PRESETS, Preset, Run
from dynlab.training.batches import Batches
from dynlab.training.module import Training
from dynlab.training.prepare import prepare

UNCOUNTED, TIMED, HOUR = 2, 20, 3600.0
SIZES = ("state_size", "hidden_size", "rank", "inner_steps")  # of a network, which its time depends on


class Clock(Callback):
    """Notes the CPU time at the end of each iteration."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_train_batch_end(self, *_: Any) -> None:
        self.times.append(time.process_time())


def measured(preset: Preset) -> tuple[float, int]:
    """Return the CPU seconds of an iteration, and the iterations of an epoch."""
    settings = preset.settings
    if settings.schedule == "plateau":  # which waits for a validation
        settings = dataclasses.replace(settings, schedule="constant")
    run = Run(preset.system, preset.task, settings, preset.config, preset.task_settings)
    task, network, facts = prepare(run)
    batches, clock = Batches(task, settings), Clock()
    torch.set_num_threads(settings.threads)
    torch.set_flush_denormal(True)
    silent = ("logger", "enable_progress_bar", "enable_model_summary", "enable_checkpointing")
    steps, clip = UNCOUNTED + TIMED, settings.clip or None
    trainer = Trainer(
        accelerator="cpu", max_steps=steps, gradient_clip_val=clip, callbacks=[clock], **dict.fromkeys(silent, False)
    )
    trainer.fit(Training(network, task, settings, batches, facts), batches)
    return (clock.times[-1] - clock.times[UNCOUNTED - 1]) / TIMED, len(batches)


def alike(preset: Preset) -> tuple[Any, ...]:
    """Return what the time of an iteration depends on."""
    sizes = [preset.config.get(name) for name in SIZES]
    return preset.system, preset.task.replace("pmnist", "smnist"), preset.settings.batch_size, *sizes


if __name__ == "__main__":
    keep_memory()
    chosen = PRESETS[sys.argv[1]]
    seconds, iterations = measured(chosen)
    print(f"{seconds:.3f} s an iteration, {iterations} in an epoch")
    for name, one in PRESETS.items():
        if alike(one) == alike(chosen):
            print(f"{name}: {seconds * iterations * one.settings.epochs / HOUR:.2g} core-hours")
