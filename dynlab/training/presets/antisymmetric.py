"""Tables 1 and 2 of the AntisymmetricRNN paper: pixels of MNIST and CIFAR-10, and rows of CIFAR-10 with noise after.

Chang, Chen, Haber and Chi, "AntisymmetricRNN", ICLR 2019. Appendix C gives the optimizers, the batch, the iterations
and the grids of ε, γ, σ_w and the learning rate, not which of them a row has: what stands here is one point of those
grids, the same for every row. The baselines of Table 1 are quoted there from their own papers and have the settings of
their authors' code, as far as that says them; but the LSTM, which has those of the paper's own rows.
"""

from collections.abc import Mapping
from typing import Any

from dynlab.training.presets.preset import Preset
from dynlab.training.settings import Settings

# 50,000 iterations of 128 in epochs of 60,000 and 50,000 sequences, 10,000 on noise-padded CIFAR-10.
EPOCHS = {"smnist": 107, "pmnist": 107, "scifar": 128, "noisy-cifar": 26}
WHOLE = {"retrain": True}  # standard splits, no mention of a validation set
# What of the published grids a row has beside the optimizer and the learning rate.
GRIDS = {"lstm": "", "antisymmetric": ", ε, γ, σ_w", "antisymmetric-gated": ", ε, γ, σ_w", "residual-gated": ", ε, σ_w"}
POINT = "one point of the published grids, not the row's own"
# What a task leaves open.
TASK_CHOSEN = {
    "pmnist": ". The permutation is expRNN's",
    "noisy-cifar": ". How the rows are scaled (standardised), and that an image keeps its noise",
}
# The bases' Cayley step of 1e-6: a step in the coordinates here is four times as long in the source's measure.
BASES_LR = 1e-6 / 4
QUOTED = "quoted from its own paper"
RMSPROP: dict[str, Any] = {"optimizer": "rmsprop", "alpha": 0.9}  # of both baselines' code

REPORTED = {
    ("smnist", "lstm"): "97.3 %",
    ("pmnist", "lstm"): "92.6 %",
    ("smnist", "fc-urnn-116"): "92.8 %",
    ("pmnist", "fc-urnn-116"): "92.1 %",
    ("smnist", "fc-urnn-512"): "96.9 %",
    ("pmnist", "fc-urnn-512"): "94.1 %",
    ("smnist", "soft-orthogonal"): "94.1 %",
    ("pmnist", "soft-orthogonal"): "91.4 %",
    ("smnist", "kru"): "96.4 %",
    ("pmnist", "kru"): "94.5 %",
    ("smnist", "antisymmetric"): "98.0 %",
    ("pmnist", "antisymmetric"): "95.8 %",
    ("smnist", "antisymmetric-gated"): "98.8 %",
    ("pmnist", "antisymmetric-gated"): "93.1 %",
    ("scifar", "lstm"): "59.7 %",
    ("noisy-cifar", "lstm"): "11.6 %",
    ("scifar", "residual-gated"): "54.6 %",
    ("noisy-cifar", "residual-gated"): "46.2 %",
    ("scifar", "antisymmetric"): "58.7 %",
    ("noisy-cifar", "antisymmetric"): "48.3 %",
    ("scifar", "antisymmetric-gated"): "62.2 %",
    ("noisy-cifar", "antisymmetric-gated"): "54.7 %",
}


def _own(task: str, row: str, config: Mapping[str, Any]) -> Preset:
    settings = Settings(epochs=EPOCHS[task], batch_size=128, optimizer="adagrad", lr=0.1)
    chosen = (
        f"the optimizer (Adagrad){GRIDS[row]} and the learning rate: {POINT}. Its iterations are {EPOCHS[task]} whole "
        f"epochs{TASK_CHOSEN.get(task, '')}"
    )
    if row == "lstm" and task.endswith("mnist"):
        chosen = f"Quoted from Arjovsky et al., 2016, and trained as the paper's own rows. Chosen: {chosen}"
    return _row(task, row, row, config, settings, chosen)


def _row(task: str, row: str, system: str, config: Mapping[str, Any], settings: Settings, chosen: str) -> Preset:
    table = 1 if task.endswith("mnist") else 2
    source = f"AntisymmetricRNN, Table {table}"
    return Preset(system, task, settings, config, WHOLE, source, REPORTED[task, row], chosen)


def _flow(units: int) -> dict[str, Any]:
    return {"state_size": units, "step_size": 0.01, "gamma": 0.01, "sigma_w": 1.0}


def _table(task: str, units: int) -> dict[str, Preset]:
    """The rows that the paper trained itself."""
    return {
        "lstm": _own(task, "lstm", {"hidden_size": 128, "forget_bias": 1.0}),
        "antisymmetric": _own(task, "antisymmetric", _flow(units)),
        "antisymmetric-gated": _own(task, "antisymmetric-gated", _flow(units)),
    }


def _baselines(task: str) -> dict[str, Preset]:
    """Wisdom's full-capacity uRNN, Vorontsov's soft-orthogonal RNN and Jose's KRU."""
    full = (
        f"{QUOTED}, with its code's settings, which hold 5,000 images out and stop after 5 epochs without progress. "
        "Here all 60,000 are learned for its longest, 200. Its code scales the unitary matrix's gradient element by "
        "element first. Its paper and this do not"
    )
    soft = (
        f"{QUOTED}, with its code's defaults. φ on MNIST, m, batch and epochs are not given. p moves at the rate of "
        "the rest, there at five times that. The norm of the gradient is clipped, there what flows back at each step. "
        "There the matrices decay, the recurrent one as a whole, here all but its bases"
    )
    kru = f"{QUOTED}, of which no setting is known here: φ, λ, the optimizer, its rate, clipping, batch and epochs"
    return {
        f"fc-urnn-{units}": _row(
            task,
            f"fc-urnn-{units}",
            "fc-urnn",
            {"hidden_size": units},
            Settings(epochs=200, batch_size=50, lr=lr, constrained_lr=1e-6, constrained_optimizer="gd", **RMSPROP),
            full,
        )
        for units, lr in ((116, 1e-3), (512, 1e-4))
    } | {
        "soft-orthogonal": _row(
            task,
            "soft-orthogonal",
            "soft-orthogonal",
            {"state_size": 128, "margin": 0.1},
            Settings(
                epochs=107,
                batch_size=128,
                lr=1e-4,
                constrained_lr=BASES_LR,
                constrained_optimizer="gd",
                weight_decay=2e-4,  # its code's 1e-4 is of the sum of squares
                clip=100.0,
                **RMSPROP,
            ),
            soft,
        ),
        "kru": _row(
            task,
            "kru",
            "kru",
            {"hidden_size": 512},
            Settings(epochs=107, batch_size=128, optimizer="rmsprop", lr=1e-3, penalty=1e-3, clip=1.0),
            kru,
        ),
    }


def _ablation(task: str) -> dict[str, Preset]:
    config = {"state_size": 196, "step_size": 0.01, "sigma_w": 1.0}
    return {"residual-gated": _own(task, "residual-gated", config)}


ROWS = {
    "smnist": _table("smnist", 128) | _baselines("smnist"),
    "pmnist": _table("pmnist", 128) | _baselines("pmnist"),
    "scifar": _table("scifar", 256) | _ablation("scifar"),
    "noisy-cifar": _table("noisy-cifar", 256) | _ablation("noisy-cifar"),
}
ANTISYMMETRIC = {f"antisymmetricrnn-{task}-{row}": one for task, rows in ROWS.items() for row, one in rows.items()}
