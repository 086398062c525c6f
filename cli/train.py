"""`dynlab train`: a system on a task, so that a checkpoint exists."""

from __future__ import annotations

import dataclasses
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dynlab.errors import UserError, entry

from .options import COUNT, FOLDER, Command, names_in, setting
from .output import echo, print_json

if TYPE_CHECKING:
    from dynlab.training import Run

SETTINGS = {
    "epochs": (
        int,
        "Passes over the training data. The epoch with the best validation score is kept. [default: 40]",
    ),
    "batch_size": (int, "Sequences per step. [default: 128]"),
    "optimizer": (
        str,
        "adam, adamw, sgd (Nesterov momentum 0.9), gd (plain gradient descent), rmsprop, adagrad. [default: adam]",
    ),
    "lr": (float, "Learning rate. [default: 0.01]"),
    "constrained_lr": (
        float,
        "Learning rate of the parameters of orthogonal and unitary matrices; the authors of expRNN, scoRNN and asRNN "
        "take a tenth of the other one. [default: lr/10]",
    ),
    "constrained_optimizer": (
        str,
        "Optimizer of those parameters, with a --constrained-lr; the authors of fc-urnn and soft-orthogonal take gd. "
        "[default: the same]",
    ),
    "schedule": (
        str,
        "constant, cosine (to 0), halve, tenth, plateau (halve after an epoch whose validation loss is not below all "
        "before it). [default: constant]",
    ),
    "halve_every": (int, "Epochs after which --schedule halve or tenth steps down. [default: 10]"),
    "warmup": (int, "Epochs over which the learning rate grows to that of the schedule. [default: 0]"),
    "weight_decay": (
        float,
        "Weight decay of the optimizer. The parameters of orthogonal and unitary matrices do not decay, and of nnrnn "
        "only T does. [default: 0]",
    ),
    "alpha": (float, "Decay per step of rmsprop's average of squared gradients. [default: 0.99]"),
    "penalty": (
        float,
        "Weight in the loss of the system's own penalty: nnrnn's of moduli, soft-orthogonal's of singular values, "
        "kru's of factors off the unitary ones. [default: 0]",
    ),
    "clip": (float, "Greatest norm of the gradient; 0 does not clip. [default: 0]"),
    "dropout": (float, "Share of the read-out's inputs that is set to 0 in training. [default: 0]"),
    "noise": (float, "Standard deviation of the noise that is added to the training inputs. [default: 0]"),
    "label_smoothing": (float, "Share of a target that is spread over all classes in the cross-entropy. [default: 0]"),
    "loss": (
        str,
        "Loss of a task with values: mse, l1, huber, smooth-l1, elastic-net (l1-share · |e| + (1 − l1-share) · e²/2). "
        "[default: mse]",
    ),
    "cutoff": (float, "The error beyond which huber and smooth-l1 count linearly. [default: 1]"),
    "l1_share": (float, "Share of |e| in elastic-net. [default: 0.5]"),
    "ema": (
        float,
        "Decay per step of the average of the weights that is kept; 0: the weights themselves are kept. [default: 0]",
    ),
    "embedding": (int, "Size of the vectors learned for a task's characters or words. [default: 0]"),
    "carry": (
        bool,
        "Cut a task that is one stream into batch-size parallel streams, and start each window from the last state of "
        "the one before.",
    ),
    "augment": (str, "Augmentations of the task: rotation:0.2. [default: none]"),
    "precision": (str, "float32, or bf16 for the products in training. [default: float32]"),
    "seed": (int, "Seed of the weights, the order of the data and the choice of held-out data. [default: 0]"),
    "threads": (int, "Threads of torch; sums depend on their number in the last bit. [default: 1]"),
    "deterministic": (
        bool,
        "Use deterministic algorithms only, for the same bits on the same GPU (not tested on a GPU).",
    ),
}

# Settings of a preset that go with its system, task, optimizer or schedule where another is chosen.
OF_ANOTHER = {
    "system": ["constrained_lr", "constrained_optimizer", "penalty"],
    "task": ["augment", "embedding", "carry"],
    "optimizer": ["alpha"],
    "schedule": ["halve_every"],
}
WRITES = ("checkpoint_every", "keep_every", "log_every", "monitor_every", "test_every_epoch")
SCORES = ("_accuracy", "_mse", "_bits_per_character", "_bits_per_word", "_perplexity")
SUBJECT = (
    click.Option(
        ["--preset"],
        shell_complete=names_in("dynlab.training.presets:PRESETS"),
        help="A training by name, such as har2-ernn-k1; what else is given changes it.",
    ),
    click.Option(
        ["--system"],
        shell_complete=names_in("dynlab.systems:SYSTEMS"),
        help="The network that is trained: rnn, lstm, ernn … (any that dynlab has).",
    ),
    click.Option(
        ["--task"],
        shell_complete=names_in("dynlab.tasks:TASKS"),
        help="The task that it is trained on: a name that `dynlab list tasks` prints.",
    ),
    click.Option(
        ["--set", "config"],
        type=setting,
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of the system: state_size=80.",
    ),
    click.Option(
        ["--task-set", "task_config"],
        type=setting,
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of the task: delay=200.",
    ),
    click.Option(
        ["--retrain"],
        is_flag=True,
        help="Train on the whole training split, with nothing held out, and keep the last epoch.",
    ),
)
RUN = (
    click.Option(["--device"], default="cpu", help="cpu, cuda, mps."),
    click.Option(["--data-dir"], type=FOLDER, help="Folder of the data sets.  [default: $DYNLAB_DATA]"),
    click.Option(
        ["--output", "-o"], type=FOLDER, metavar="FOLDER", help="Folder to write.  [default: runs/SYSTEM-TASK-seedN]"
    ),
    click.Option(["--resume"], is_flag=True, help="Go on with the interrupted run in --output, bit for bit on a CPU."),
    click.Option(["--overwrite"], is_flag=True, help="Replace the run in --output."),
    click.Option(
        ["--checkpoint-every"], type=COUNT, help="Also save after every N batches, not only after each epoch."
    ),
    click.Option(
        ["--keep-every"],
        type=COUNT,
        help="Keep a checkpoint every N batches as FOLDER/step-000000.ckpt, for --over step.",
    ),
    click.Option(
        ["--log-every"],
        type=COUNT,
        help="Steps between rows of FOLDER/steps and points in FOLDER/tensorboard.  [default: 50]",
    ),
    click.Option(
        ["--monitor-every"],
        type=COUNT,
        help="Steps between two measurements of the gradient, spectral radius and exponent.  [default: none are made]",
    ),
    click.Option(
        ["--test-every-epoch"],
        is_flag=True,
        help="Write the test split's scores to FOLDER/metrics.csv; they do not choose the epoch that is kept.",
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print the facts of the training as one JSON document."),
    click.Option(["--quiet"], is_flag=True, help="No progress on standard error."),
)


OF_SETTINGS = [
    click.Option([f"--{name.replace('_', '-')}"], type=kind, is_flag=kind is bool, default=None, help=text)
    for name, (kind, text) in SETTINGS.items()
]


@click.command(cls=Command, params=[*SUBJECT, *OF_SETTINGS, *RUN])
def train(
    device: str,
    data_dir: Path | None,
    output: Path | None,
    resume: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Train a network and write its checkpoint, FOLDER/network.pt.

    \b
    dynlab train --system lstm --task digits --set hidden_size=64
    dynlab train --preset har2-ernn-k1 --data-dir DATA
    """
    from dynlab import training

    on_terminal = sys.stderr.isatty()
    show: dict[str, Any] = {"data_dir": data_dir, "device": device, "progress": not quiet and on_terminal}
    show["log"] = None if quiet or on_terminal else functools.partial(echo, err=True)
    writes = {name: value for name in WRITES if (value := chosen.pop(name))}
    if resume:
        if writes or overwrite or output is None or any(chosen.values()):
            raise UserError("--resume takes only --output, the run's folder; leave the other options out.")
        result = training.resume(output, **show)
    else:
        run = run_of(**chosen)
        folder = output or Path("runs") / f"{run.system}-{run.task}-seed{run.settings.seed}"
        result = training.train(run, folder, overwrite=overwrite, **writes, **show)
    facts = result.facts
    if as_json:
        print_json({"checkpoint": str(result.checkpoint)} | facts)
    else:
        scores = [f"{key.replace('_', ' ')} {value:.4f}" for key, value in facts.items() if key.endswith(SCORES)]
        epoch = f"{result.checkpoint}: epoch {facts['epoch']}"
        echo(", ".join([epoch, *scores, f"{facts['cell_parameters']} cell parameters."]))


def run_of(
    preset: str | None,
    system: str | None,
    task: str | None,
    config: tuple[tuple[str, Any], ...],
    task_config: tuple[tuple[str, Any], ...],
    retrain: bool,
    **settings: Any,
) -> Run:
    """Return the run that the options describe, over that of the preset, whose system's and task's own go with them."""
    from dynlab.training import PRESETS, Preset, Run, Settings

    base = Preset(system or "", task or "", Settings())
    if preset is not None:
        base = entry(PRESETS, preset, "preset", listed_by="dynlab list presets")
    system, task = system or base.system, task or base.task
    if not system or not task:
        raise UserError("Name what is trained and what on: --system ernn --task har2, or a --preset.")
    changes = {name: value for name, value in settings.items() if value is not None}
    if "augment" in changes:
        changes["augment"] = tuple(part for part in changes["augment"].split(",") if part)
    left = dataclasses.asdict(base.settings) | {"system": base.system, "task": base.task}
    chosen = left | changes | {"system": system, "task": task}
    gone = [name for whose, names in OF_ANOTHER.items() if chosen[whose] != left[whose] for name in names]
    changes = {name: getattr(Settings, name) for name in gone} | changes
    return Run(
        system,
        task,
        dataclasses.replace(base.settings, **changes),
        dict(base.config if system == base.system else {}) | dict(config),
        dict(base.task_settings if task == base.task else {})
        | dict(task_config)
        | ({"retrain": True} if retrain else {}),
    )
