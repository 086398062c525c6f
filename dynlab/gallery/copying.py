"""Copying memory: orthogonal networks and an LSTM against what can be had without memory.

What is drawn was recorded in ``copying.nc`` beside this file while the networks were trained; its attributes say with
which commands. They take some ten minutes each on one core.
"""

import json
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
SYMBOLS, DELAY = 10, 200
FLOOR = 1e-7  # of the loss that is drawn: in float32 a smaller one is rounding
LOOK: dict[str, dict[str, Any]] = {
    "expRNN, 190 units": {"color": style.BLUE, "marker": "o"},
    "dtriv, 190 units": {"color": style.SKY, "marker": "v"},
    "asRNN, 138 units": {"color": style.GREEN, "marker": "D"},
    "LSTM, 68 units": {"color": style.VERMILION, "marker": "^"},
}


def make(fast: bool = False) -> Made:
    """The recorded trainings; fast is every second of their epochs."""
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
            loss = recorded["validation_loss"].sel({schema.NETWORK: name})
            shown = np.maximum(loss.values, FLOOR)
            ax.plot(loss[schema.TRAINING_STEP], shown, label=name, ms=4, lw=1.2, **look)
        ax.set_yscale("log")
        ax.set_xlabel("step of the optimiser")
        ax.set_ylabel("cross-entropy per step, held-out sequences")
        ax.set_title(f"Copying {SYMBOLS} symbols over {DELAY} steps")
        figure.legend(loc="outside lower center", ncols=4)
    return Made(
        "Copying memory (expRNN, asRNN)",
        "Orthogonal networks copy ten symbols over 1,000 steps and more, an LSTM stays at the baseline (figures of the "
        "expRNN and asRNN papers).",
        _measured(recorded, guess),
        figure,
        {"copying": recorded},
    )


def _measured(recorded: xr.Dataset, guess: float) -> str:
    loss = recorded["validation_loss"]
    steps = recorded[schema.TRAINING_STEP].values
    said = []
    for name in LOOK:
        values = loss.sel({schema.NETWORK: name}).values
        below = np.flatnonzero(values < guess / 2)
        when = f"half the baseline after {steps[below[0]]:,} steps" if len(below) else "never half the baseline"
        said.append(f"{name}: best {values.min():.2g}, {when}")
    text = f"With {DELAY} steps, where {guess:.4f} needs no memory: " + "; ".join(said) + "."
    diverged = [name for name in LOOK if loss.sel({schema.NETWORK: name}).values[-1] > guess]
    if diverged:
        text += (
            f" {' and '.join(diverged)} diverges later: it starts with D_f = 1e-5, and as D_f learns here (in the "
            "source's code its gradient is exactly 0 there) its condition number lets gradients grow."
        )
    seeds = json.loads(recorded.attrs["settings"])["seeds"]
    return f"{text} One training each (seed {', '.join(map(str, seeds))})."
