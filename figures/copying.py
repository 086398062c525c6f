"""Copying memory: orthogonal networks and an LSTM against what can be had without memory.

The trainings at the source's delays of 1,000 and 2,000 steps are the queue's. Those at 200, where D_f of asRNN was
learned too, are kept with the settings that name their runs.
"""

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.tasks.copying import baseline
from dynlab.words import capital

from .scripts import Drawn, Panels, Results, Table, kept, script, table_script, trainings

SYMBOLS, DELAYS = 10, (200, 1000, 2000)
CEILING = 5.0  # a larger loss is drawn there
FLOOR = 1e-7  # of the loss that is drawn: in float32 a smaller one is rounding
STEPS_PER_EPOCH = 100
STAYS = 0.9  # of the baseline: what a loss does not fall below that stays there
COPIED = 0.05  # of the baseline: fewer than one symbol in ten is not known
# Names in the queue, and in the record at 200 steps.
NAMES = {
    "exprnn": "expRNN, 190 units",
    "dtriv": "dtriv, 190 units",
    "scornn": "scoRNN, 190 units",
    "asrnn": "asRNN, 138 units",
    "learned": "asRNN, D_f learns",
    "lstm": "LSTM, 68 units",
}
LOOK: dict[str, dict[str, Any]] = {
    "expRNN, 190 units": {"color": style.BLUE, "marker": "o"},
    "dtriv, 190 units": {"color": style.BLACK, "marker": "v"},
    "scoRNN, 190 units": {"color": style.ORANGE, "marker": "s"},
    "asRNN, 138 units": {"color": style.GREEN, "marker": "D"},
    "asRNN, D_f learns": {"color": style.PURPLE, "marker": "x", "ls": "--"},
    "LSTM, 68 units": {"color": style.VERMILION, "marker": "^"},
}
IN_PICTURE = {"asRNN, 138 units": "asRNN, 138 units, D_f frozen at 1e-5: a linear network"}
COPIES, STAYED, HIGHER, HALF = "copies", "stays at the baseline", "diverged", "learns, not to the end"
UNITS = re.compile(r", \d+ units")


class LossCurve(NamedTuple):
    """The training loss of one network at one delay."""

    delay: int
    name: str
    steps: Real
    losses: Real

    @property
    def short(self) -> str:
        """The name without the number of units."""
        return UNITS.sub("", self.name)

    @property
    def guess(self) -> float:
        """The loss without memory."""
        return baseline(SYMBOLS, self.delay)

    @property
    def outcome(self) -> str:
        """Return the network's outcome in words."""
        if self.losses[-1] > self.guess / STAYS**2:
            return HIGHER
        best = self.losses.min() / self.guess
        return COPIES if best < COPIED else STAYED if best > STAYS else HALF

    @property
    def halving(self) -> int | None:
        """After how many steps the loss is first below half the baseline."""
        below = np.flatnonzero(self.losses < self.guess / 2)
        return int(self.steps[below[0]]) if len(below) else None


def curves() -> list[LossCurve]:
    """Return all that were recorded."""
    ds, recorded = kept("copying")["losses"].astype(float), trainings()
    steps = ds[schema.TRAINING_STEP].values.astype(float)
    found = [
        LossCurve(DELAYS[0], name, steps, ds["loss"].sel({schema.NETWORK: name}).values) for name in NAMES.values()
    ]
    for delay, (network, title) in itertools.product(DELAYS[1:], NAMES.items()):
        name = f"copying-{delay}-{network}"
        if name in recorded[schema.TRAINING].values:
            losses = recorded["loss"].sel({schema.TRAINING: name}).dropna(schema.EPOCH).values.astype(float)
            found.append(LossCurve(delay, title, STEPS_PER_EPOCH * np.arange(1, len(losses) + 1.0), losses))
    return found


@script("copying", (10.6, 5.4), ncols=len(DELAYS), sharey=True)
def figure(results: Results, panels: Panels) -> Drawn:
    """Draw the recorded losses, a panel for each delay."""
    found = curves()
    for ax, delay in zip(panels, DELAYS, strict=True):
        ax.axhline(baseline(SYMBOLS, delay), color=style.BLACK, ls=":", lw=1.3, label="baseline: no memory")
        ax.set(yscale="log", xlabel="step of the optimiser", title=f"Recall after {delay:,} steps")
    for one in found:
        high = np.flatnonzero(one.losses > CEILING)
        shown = slice(int(high[0]) + 1 if len(high) else None)  # what diverges leaves at the ceiling
        look = {"label": IN_PICTURE.get(one.name, one.name), "ms": 3, "lw": 1} | LOOK[one.name]
        panels[DELAYS.index(one.delay)].plot(one.steps[shown], np.clip(one.losses[shown], FLOOR, CEILING), **look)
    panels[0].set_ylabel("training cross-entropy per step")
    return Drawn(measured(found), style.entries(panels[0]))


def _dataset(found: list[LossCurve]) -> xr.Dataset:
    """The curves' ends in one Dataset, by delay and network."""
    ends = np.full((2, len(DELAYS), len(NAMES)), np.nan)
    for one in found:
        ends[:, DELAYS.index(one.delay), list(NAMES.values()).index(one.name)] = one.losses.min(), one.losses[-1]
    both, names = ("delay", schema.NETWORK), ("best", "last")
    return schema.dataset(
        {name: schema.variable(both, ends[i], f"{name} training loss per step") for i, name in enumerate(names)},
        system="several",
        settings={"task": "copying", "symbols": SYMBOLS},
        verdict=measured(found),
        method="RMSprop; every batch is drawn anew and seen once; one training each, seed 5544",
        coords={"delay": list(DELAYS), schema.NETWORK: list(NAMES.values())},
        flags={"best": "not run", "last": "not run"},
    )


def measured(found: list[LossCurve]) -> str:
    """Return the outcome of each network at each delay."""
    said = [_outcomes([one for one in found if one.delay == delay]) for delay in DELAYS]
    return (
        f"{'. '.join(said)}. Learned from the source's start D_f = 1e-5 asRNN diverges, as a step of the optimiser "
        "moves each entry by many times its size. In the source's code D_f has the gradient 0 there and stays, so that "
        "its asRNN is a linear orthogonal network. One training each (seed 5544)."
    )


def _outcomes(here: list[LossCurve]) -> str:
    """Write what became of the networks at one delay."""
    outcomes = dict.fromkeys(one.outcome for one in here)
    each = [f"{outcome}: {', '.join(one.short for one in here if one.outcome == outcome)}" for outcome in outcomes]
    return (
        f"Over {here[0].delay:,} steps a network without memory has a loss of {here[0].guess:.4f}. "
        f"{'. '.join(map(capital, each))}"
    )


@table_script("copying")
def table() -> Table:
    """Return the losses and the outcome of each network at each delay."""
    found = curves()
    rows = [
        [
            f"{one.delay:,}",
            one.name,
            f"{one.guess:.4f}",
            f"{one.losses.min():.2g}",
            f"{one.losses[-1]:.2g}",
            "never" if one.halving is None else f"{one.halving:,}",
            f"{int(one.steps[-1]):,}",
            one.outcome,
        ]
        for one in found
    ]
    numeric = ["delay", "without memory", "best loss", "last loss", "half of it after", "steps"]
    headings = ["delay", "network", *numeric[1:], "outcome"]
    return Table("copying", measured(found), headings, rows, numeric, _dataset(found))
