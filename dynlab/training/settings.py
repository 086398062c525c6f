"""The settings of a training: every number of it in one place, checked before anything starts."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import huber_loss, l1_loss, mse_loss, smooth_l1_loss

from dynlab.errors import UserError, entry
from dynlab.training.optimizers import OPTIMIZERS, SideBySide, optimizer_named

MOST_THREADS = 1024
# What the learning rate of constrained parameters is a part of where none is set: the authors of expRNN, dtriv, scoRNN,
# asRNN and, on permuted MNIST, nnRNN take a tenth.
CONSTRAINED_DIVISOR = 10.0
PLATEAU = "plateau"
PRECISIONS: dict[str, Literal["32-true", "bf16-mixed"]] = {
    "float32": "32-true",
    "bf16": "bf16-mixed",
}  # to Lightning's words
# Settings, whether a value of theirs is allowed, and in words.
RANGES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (("epochs", "batch_size", "halve_every", "threads"), lambda value: value >= 1, "at least 1"),
    (("warmup", "embedding", "seed"), lambda value: value >= 0, "at least 0"),
    (("lr", "constrained_lr", "cutoff"), lambda value: value is None or 0 < value < math.inf, "a positive number"),
    (("weight_decay", "penalty", "clip", "noise"), lambda value: 0 <= value < math.inf, "finite and not negative"),
    (("alpha", "dropout", "label_smoothing", "ema"), lambda value: 0 <= value < 1, "at least 0 and below 1"),
    (("l1_share",), lambda value: 0 <= value <= 1, "from 0 to 1"),
    # the system may end the process that asks for more threads
    (("threads",), lambda value: value <= MOST_THREADS, f"at most {MOST_THREADS:,}"),
)
# Settings that only some values of others read.
WITHOUT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "halve_every": (("schedule",), ("halve", "tenth")),
    "cutoff": (("loss",), ("huber", "smooth-l1")),
    "l1_share": (("loss",), ("elastic-net",)),
    "alpha": (("optimizer", "constrained_optimizer"), ("rmsprop",)),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a training run.

    Attributes
    ----------
    epochs, batch_size : int
    optimizer : str
        A key of `OPTIMIZERS`.
    lr : float
        The learning rate at the start.
    constrained_lr : float or None
        That of the parameters of orthogonal and unitary matrices (`dynlab.systems.System.constrained_parameters`); None
        for a tenth of `lr`, where the optimizer is the same. A schedule scales both.
    constrained_optimizer : str or None
        That of those parameters, a key of `OPTIMIZERS`; None for the same as that of all others, of which they are a
        group of their own.
    schedule : {"constant", "cosine", "halve", "tenth", "plateau"}
        Cosine falls to 0 at the end of the last epoch; halve divides by two after each `halve_every` epochs and tenth
        by ten, plateau by two after each epoch whose validation loss is not below all before it.
    halve_every : int
        Period of halve and tenth.
    warmup : int
        Epochs over which the learning rate grows linearly to that of the schedule; 0 starts with it.
    weight_decay : float
        Decay by the optimizer: added to the gradient by all but ``adamw``, which decouples it. Constrained parameters
        do not decay: they are coordinates around a base, and to decay would be to go back to that base. Where a system
        says that some of its parameters alone decay (`dynlab.systems.System.decaying_parameters`), nothing else does.
    alpha : float
        Decay per step of ``rmsprop``'s average of squared gradients.
    penalty : float
        The weight in the loss of the system's own penalty, `dynlab.systems.System.penalty`; not in what is reported.
    clip : float
        The greatest norm of the gradient of all parameters; 0 does not clip.
    dropout : float
        Dropped share of the output that the read-out sees.
    noise : float
        Deviation of the normal noise that is added to training inputs.
    label_smoothing : float
    loss : str or None
        Loss of a task with values, one of `LOSSES`; None for its own, the mean squared error. What is
        reported is the task's metric all the same.
    cutoff : float
        Threshold of ``huber`` and ``smooth-l1``: errors beyond it count linearly.
    l1_share : float
        Share of the absolute error in ``elastic-net``.
    ema : float
        Decay per step of the average of the weights that is validated and saved; 0 takes the weights themselves.
    embedding : int
        The size of the vectors that are learned for a task's tokens; 0 for a task that has none.
    carry : bool
        For a task whose sequences are windows of one stream: the stream is cut into `batch_size` parallel ones, whose
        windows follow each other from batch to batch, each started at the state that the one before it ended in; the
        gradient ends at the window's start (truncated backpropagation through time).
    augment : tuple of str
        Augmentations of the task, ``NAME`` or ``NAME:STRENGTH``.
    precision : {"float32", "bf16"}
        Type of the products in training; weights, gradients and what is reported stay in float32.
    seed : int
        Seed of the weights, of the order of the data, and of all that is random in them.
    threads : int
        Threads of torch. Sums depend on it in the last bit; one is also the fastest for small networks.
    deterministic : bool
        Let torch take deterministic algorithms alone (`torch.use_deterministic_algorithms`), and refuse an operation
        that has none, for the same bits on the same GPU. It was not run on one here.
    """

    epochs: int = 40
    batch_size: int = 128
    optimizer: str = "adam"
    lr: float = 1e-2
    constrained_lr: float | None = None
    constrained_optimizer: str | None = None
    schedule: str = "constant"
    halve_every: int = 10
    warmup: int = 0
    weight_decay: float = 0.0
    alpha: float = 0.99
    penalty: float = 0.0
    clip: float = 0.0
    dropout: float = 0.0
    noise: float = 0.0
    label_smoothing: float = 0.0
    ema: float = 0.0
    loss: str | None = None
    cutoff: float = 1.0
    l1_share: float = 0.5
    embedding: int = 0
    carry: bool = False
    augment: tuple[str, ...] = ()
    precision: str = "float32"
    seed: int = 0
    threads: int = 1
    deterministic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "augment", tuple(self.augment))  # which is a list in a file
        refuse(
            (not is_within(getattr(self, name)), f"{option(name)} must be {words}, got {getattr(self, name)}.")
            for names, is_within, words in RANGES
            for name in names
        )
        for name, table in TABLES.items():
            if getattr(self, name) is not None:
                entry(table, getattr(self, name), name.replace("_", " "))
        refuse(
            (
                getattr(self, name) != getattr(Settings, name) and not {getattr(self, one) for one in of} & set(values),
                f"{option(name)} does nothing without {option(of[0])} {' or '.join(values)}: leave it out or add that.",
            )
            for name, (of, values) in WITHOUT.items()
        )
        if self._apart and self.constrained_lr is None:
            raise UserError(
                f"--constrained-optimizer {self.constrained_optimizer} has a learning rate of another meaning than "
                f"{self.optimizer}'s: set --constrained-lr too."
            )

    @property
    def constrained_rate(self) -> float:
        """The learning rate of constrained parameters at the start."""
        return self.lr / CONSTRAINED_DIVISOR if self.constrained_lr is None else self.constrained_lr

    @property
    def _apart(self) -> bool:
        """Tell whether constrained parameters have an optimizer of another kind than the others."""
        return self.constrained_optimizer not in (None, self.optimizer)

    def make_optimizer(
        self,
        parameters: Iterable[torch.nn.Parameter],
        constrained: Sequence[torch.nn.Parameter] = (),
        decaying: Sequence[torch.nn.Parameter] | None = None,
    ) -> torch.optim.Optimizer:
        """The optimizer of `parameters`, those among them that are `constrained` in a group of their own.

        Of the others those decay that are `decaying`; None for all.
        """
        apart, decay = ({id(parameter) for parameter in some or ()} for some in (constrained, decaying))
        ordinary = [one for one in parameters if id(one) not in apart]
        at_rate = {"lr": self.lr, "weight_decay": self.weight_decay}
        groups: list[dict[str, Any]] = [{"params": ordinary} | at_rate]
        if decaying is not None and self.weight_decay:
            groups = [
                {"params": [one for one in ordinary if id(one) not in decay]} | at_rate | {"weight_decay": 0.0},
                {"params": list(decaying)} | at_rate,
            ]
        own = [{"params": list(constrained), "lr": self.constrained_rate, "weight_decay": 0.0}] * bool(constrained)
        if not (own and self._apart):
            return optimizer_named(self.optimizer, groups + own, self.alpha)
        return SideBySide(
            optimizer_named(self.optimizer, groups, self.alpha),
            optimizer_named(str(self.constrained_optimizer), own, self.alpha),
        )

    def rate(self, step: int, steps_per_epoch: int) -> float:
        """The learning rates before optimizer step `step`, from 0, in parts of those at the start."""
        grown = min(1.0, (step + 1) / (self.warmup * steps_per_epoch)) if self.warmup else 1.0
        return grown * SCHEDULES[self.schedule](self, step, steps_per_epoch)


def _elastic_net(answers: Tensor, targets: Tensor, settings: Settings) -> Tensor:
    """α abs(e) + (1 − α) e²/2, whose derivative by the error e is α sgn(e) + (1 − α) e."""
    absolute, squared = l1_loss(answers, targets), mse_loss(answers, targets)
    return settings.l1_share * absolute + (1 - settings.l1_share) * squared / 2


# Means over all that is answered, of tasks with values. The derivative by the error e: of huber e clipped at ±cutoff,
# of smooth-l1 e/cutoff clipped at ±1.
LOSSES: dict[str, Callable[[Tensor, Tensor, Settings], Tensor]] = {
    "mse": lambda answers, targets, settings: mse_loss(answers, targets),
    "l1": lambda answers, targets, settings: l1_loss(answers, targets),
    "huber": lambda answers, targets, settings: huber_loss(answers, targets, delta=settings.cutoff),
    "smooth-l1": lambda answers, targets, settings: smooth_l1_loss(answers, targets, beta=settings.cutoff),
    "elastic-net": _elastic_net,
}

# Parts of the rate at the start, from the settings, the step and the steps of an epoch.
SCHEDULES: dict[str, Callable[[Settings, int, int], float]] = {
    "constant": lambda asked, step, each: 1.0,
    "cosine": lambda asked, step, each: 0.5 * (1 + math.cos(math.pi * min(1.0, step / (asked.epochs * each)))),
    "halve": lambda asked, step, each: 0.5 ** (step // (asked.halve_every * each)),
    "tenth": lambda asked, step, each: 0.1 ** (step // (asked.halve_every * each)),
    PLATEAU: lambda asked, step, each: 1.0,  # the training halves, when it has seen the validation
}
# Settings that name an entry of a table.
TABLES: dict[str, Mapping[str, Any]] = {
    "optimizer": OPTIMIZERS,
    "constrained_optimizer": OPTIMIZERS,
    "precision": PRECISIONS,
    "schedule": SCHEDULES,
    "loss": LOSSES,
}


def option(name: str) -> str:
    """The command line's option of a setting."""
    return "--" + name.replace("_", "-")


def refuse(cases: Iterable[tuple[object, str]]) -> None:
    """Raise the sentence of the first case that is so."""
    for is_so, sentence in cases:
        if is_so:
            raise UserError(sentence)
