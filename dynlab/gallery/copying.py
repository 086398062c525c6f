"""Copying memory: orthogonal networks and an LSTM against what can be had without memory.

What is drawn was recorded in ``copying.nc`` beside this file by `record`, from the runs of `COMMANDS`. They take some
ten minutes each on one core.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from dynlab import io, schema
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.tasks.copying import baseline

RECORDED = Path(__file__).parent / "copying.nc"
SYMBOLS, DELAY, SEED = 10, 200, 5544  # the asRNN tables' seed
FLOOR = 1e-7  # of the loss that is drawn: in float32 a smaller one is rounding
PRESET = f"dynlab train --preset asrnn-copying-1000-{{}} --task-set delay={DELAY} -o FOLDER"
COMMANDS = {
    "expRNN, 190 units": (
        "dynlab train --system exprnn --set state_size=190 --set init=henaff --task copying "
        f"--task-set delay={DELAY} --task-set train_size=12800 --task-set fresh=true --task-set retrain=true "
        "--epochs 40 --batch-size 128 --optimizer rmsprop --lr 0.0002 --constrained-lr 2e-05 --alpha 0.9 "
        f"--seed {SEED} -o FOLDER"
    ),
    "dtriv, 190 units": PRESET.format("exprnn"),
    "scoRNN, 190 units": PRESET.format("scornn"),
    "asRNN, 138 units": PRESET.format("asrnn"),
    "asRNN, D_f learns": PRESET.format("asrnn") + " --set learn_saturation=true",
    "LSTM, 68 units": PRESET.format("lstm"),
}
LOOK: dict[str, dict[str, Any]] = {
    "expRNN, 190 units": {"color": style.BLUE, "marker": "o"},
    "dtriv, 190 units": {"color": style.SKY, "marker": "v"},
    "scoRNN, 190 units": {"color": style.ORANGE, "marker": "s"},
    "asRNN, 138 units": {"color": style.GREEN, "marker": "D"},
    "asRNN, D_f learns": {"color": style.PURPLE, "marker": "x", "ls": "--"},
    "LSTM, 68 units": {"color": style.VERMILION, "marker": "^"},
}


def record(runs: Mapping[str, Path]) -> xr.Dataset:
    """What ``copying.nc`` holds, read from the folders of the runs of `COMMANDS`, by their names."""
    rows = [np.loadtxt(runs[name] / "steps.csv", delimiter=",", skiprows=1, usecols=(0, 1)).T for name in COMMANDS]
    steps = rows[0][0].astype(int)
    loss = "cross-entropy per step of 128 sequences, before they are learned from"
    return schema.dataset(
        {"loss": schema.variable((schema.NETWORK, schema.TRAINING_STEP), [losses for _, losses in rows], loss)},
        system="several",
        settings={"commands": COMMANDS, "task": "copying", "symbols": SYMBOLS, "delay": DELAY, "seeds": [SEED]},
        method="Lightning, RMSprop; every batch is drawn anew and seen once",
        coords={schema.NETWORK: list(COMMANDS), schema.TRAINING_STEP: steps},
    )


def make(fast: bool = False) -> Made:
    """The recorded trainings; fast is every second of their points."""
    recorded = io.open(RECORDED)
    if fast:
        recorded = recorded.isel({schema.TRAINING_STEP: slice(1, None, 2)})
    guess = baseline(SYMBOLS, DELAY)
    with style.style():
        figure, ax = plt.subplots(figsize=(7.4, 4.4))
        ax.axhline(guess, color=style.BLACK, ls=":", lw=1.3)
        ax.annotate(
            f"without memory: {guess:.4f}",
            (0.99, guess),
            (0, 3),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        for name, look in LOOK.items():
            shown = np.maximum(recorded["loss"].sel({schema.NETWORK: name}), FLOOR)
            ax.plot(shown[schema.TRAINING_STEP], shown, label=name, ms=3, lw=1, **look)
        ax.set(yscale="log", xlabel="step of the optimiser", ylabel="cross-entropy per step, sequences not seen before")
        ax.set_title(f"Copying {SYMBOLS} symbols over {DELAY} steps")
        figure.legend(loc="outside lower center", ncols=3)
    return Made(
        "Copying memory (expRNN, asRNN)",
        "Orthogonal networks copy ten symbols over 1,000 steps and more, an LSTM stays at the baseline (figures of the "
        "expRNN and asRNN papers).",
        _measured(recorded, guess),
        figure,
        {"copying": recorded},
    )


def _measured(recorded: xr.Dataset, guess: float) -> str:
    losses = {name: recorded["loss"].sel({schema.NETWORK: name}).values for name in LOOK}
    steps = recorded[schema.TRAINING_STEP].values
    said = []
    for name, values in losses.items():
        below = np.flatnonzero(values < guess / 2)
        when = f"half the baseline after {steps[below[0]]:,} steps" if len(below) else "never half the baseline"
        said.append(f"{name}: best {values.min():.2g}, {when}")
    text = f"Over {DELAY} steps a loss of {guess:.4f} needs no memory. " + ". ".join(said) + "."
    diverged = [name for name, values in losses.items() if values[-1] > 10 * guess]
    if diverged:
        text += (
            f" Diverged: {' and '.join(diverged)}, from the source's start D_f = 1e-5, where an optimiser's step moves "
            "each entry by many times its size. In the source's code D_f has the gradient 0 there and stays, so that "
            "its asRNN, drawn too, is a linear orthogonal network."
        )
    seeds = json.loads(recorded.attrs["settings"])["seeds"]
    return f"{text} One training each (seed {', '.join(map(str, seeds))})."
