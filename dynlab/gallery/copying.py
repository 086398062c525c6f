"""Copying memory: orthogonal networks and an LSTM against what can be had without memory.

The trainings at the source's delays of 1,000 and 2,000 steps are the queue's, in ``trainings.nc``. Those at 200, where
D_f of asRNN was learned too, were recorded in ``copying.nc`` beside this file from the runs that its settings name.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import io, schema
from dynlab.gallery.har2 import RECORDED as TRAININGS
from dynlab.gallery.made import Made, Table
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.tasks.copying import baseline
from dynlab.training.queue.table import COPYING
from dynlab.wording import capital, joined, percent

RECORDED = Path(__file__).parent / "copying.nc"
SYMBOLS, DELAYS = 10, (200, 1000, 2000)
CEILING = 5.0  # a larger loss is drawn there
FLOOR = 1e-7  # of the loss that is drawn: in float32 a smaller one is rounding
OFFSET: dict[str, Any] = {"textcoords": "offset points"}
MIDDLE = OFFSET | {"va": "center"}
STEPS_PER_EPOCH = 100
STAYS = 0.9  # of the baseline: what a loss does not fall below that stays there
COPIED = 0.05  # of the baseline: fewer than one symbol in ten is not known
TITLE = "Copying memory (asRNN)"
CLAIM = (
    "Orthogonal networks and asRNN copy ten symbols over 1,000 and 2,000 steps, and an LSTM stays at the baseline "
    "(so it argues; the source draws training losses in two figures, and prints no numbers of them)."
)
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
COPIES, STAYED, HIGHER, NOT_RUN = "copies", "stays at the baseline", "diverged", "not run"
HALF = "learns, not to the end"
DID = {
    COPIES: f"Loss below {percent(COPIED)} of it (copies)",
    HALF: "Learns in part",
    STAYED: f"Stays above {percent(STAYS)} of it",
    HIGHER: "Diverges",
    NOT_RUN: "Not run",
}
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
        """What the network did, in words."""
        if not len(self.losses):
            return NOT_RUN
        if self.losses[-1] > self.guess / STAYS**2:
            return HIGHER
        best = self.losses.min() / self.guess
        return COPIES if best < COPIED else STAYED if best > STAYS else HALF

    @property
    def halved(self) -> str:
        """After how many steps the loss is first below half the baseline."""
        below = np.flatnonzero(self.losses < self.guess / 2)
        return f"{int(self.steps[below[0]]):,}" if len(below) else "never" if len(self.losses) else ""


def curves() -> list[LossCurve]:
    """All that were recorded; without losses where a training of the queue is not finished."""
    return list(_recorded()) + list(_queued(io.open(TRAININGS)))


def _recorded() -> Iterator[LossCurve]:
    ds = io.open(RECORDED)
    steps = ds[schema.TRAINING_STEP].values.astype(float)
    for name in NAMES.values():
        yield LossCurve(DELAYS[0], name, steps, ds["loss"].sel({schema.NETWORK: name}).values.astype(float))


def _queued(trainings: xr.Dataset) -> Iterator[LossCurve]:
    for delay in DELAYS[1:]:
        for network in COPYING:
            name = f"copying-{delay}-{network}"
            losses = np.zeros(0)
            if name in trainings[schema.TRAINING].values:
                losses = trainings["loss"].sel({schema.TRAINING: name}).dropna(schema.EPOCH).values.astype(float)
            yield LossCurve(delay, NAMES[network], STEPS_PER_EPOCH * np.arange(1, len(losses) + 1.0), losses)


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The recorded losses, a panel for each delay; there is nothing to compute again, and nothing to leave out."""
    found = curves()
    delays = [delay for delay in DELAYS if sum(bool(len(one.losses)) for one in found if one.delay == delay) > 1]
    with style.style((10.6, 5.4)) as size:
        figure, panels = plt.subplots(1, len(delays), figsize=size, sharey=True)
        for ax, delay in zip(panels, delays, strict=True):
            _draw([one for one in found if one.delay == delay], ax)
        panels[0].set_ylabel("training cross-entropy per step")
        handles, labels = panels[0].get_legend_handles_labels()
        style.caption(figure, TITLE, _caption(found), dict(zip(labels, handles, strict=True)))
    return Made(TITLE, CLAIM, measured(found), figure, {"copying": dataset(found)})


def _draw(found: list[LossCurve], ax: Axes) -> None:
    guess, delay = found[0].guess, found[0].delay
    ax.axhline(guess, color=style.BLACK, ls=":", lw=1.3)
    ax.annotate(
        f"baseline: {guess:.4f}",
        (0.99, guess),
        (0, 3),
        xycoords=ax.get_yaxis_transform(),
        ha="right",
        **OFFSET,
    )
    for one in found:
        high = np.flatnonzero(one.losses > CEILING)
        shown = slice(int(high[0]) + 1 if len(high) else None)
        losses = np.clip(one.losses[shown], FLOOR, CEILING)
        ax.plot(one.steps[shown], losses, label=one.name, ms=3, lw=1, **LOOK[one.name])
        if len(high):
            colour = LOOK[one.name]["color"]
            ax.annotate(f"→ stays above {CEILING:g}", (one.steps[high[0]], CEILING), (4, 0), color=colour, **MIDDLE)
    ax.set(yscale="log", xlabel="step of the optimiser", title=f"Recall after {delay:,} steps")
    if any((one.losses <= FLOOR).any() for one in found):
        ax.annotate("drawn at 10⁻⁷:\nthat or less", (0.02, FLOOR), (0, 4), xycoords=ax.get_yaxis_transform(), **OFFSET)


def dataset(found: list[LossCurve]) -> xr.Dataset:
    """The curves' ends in one Dataset, by delay and network."""
    shape = len(DELAYS), len(NAMES)
    values: Mapping[str, Real] = {name: np.full(shape, np.nan) for name in ("best", "last")}
    for one in found:
        if len(one.losses):
            where = DELAYS.index(one.delay), list(NAMES.values()).index(one.name)
            values["best"][where], values["last"][where] = one.losses.min(), one.losses[-1]
    both = ("delay", schema.NETWORK)
    return schema.dataset(
        {name: schema.variable(both, array, f"{name} training loss per step") for name, array in values.items()},
        system="several",
        settings={"task": "copying", "symbols": SYMBOLS},
        verdict=measured(found),
        method="RMSprop; every batch is drawn anew and seen once; one training each, seed 5544",
        coords={"delay": list(DELAYS), schema.NETWORK: list(NAMES.values())},
        flags={"best": NOT_RUN, "last": NOT_RUN},
    )


def _caption(found: list[LossCurve]) -> str:
    """What each network did, and after which delays."""
    said = [f"{words}: {_networks(found, outcome)}." for outcome, words in DID.items() if _networks(found, outcome)]
    return (
        f"The task is to recall {SYMBOLS} symbols; the baseline is the least loss without memory. {' '.join(said)} "
        "asRNN multiplies by D_f before tanh, and divides after it."
    )


def _networks(found: list[LossCurve], outcome: str) -> str:
    """Which networks have that outcome, each with its delays where these are not all: "LSTM, scoRNN (200)"."""
    delays: dict[str, list[str]] = {}
    for one in found:
        if one.outcome == outcome:
            delays.setdefault(one.short.replace(", D_f learns", " with learned D_f"), []).append(f"{one.delay:,}")
    return ", ".join(
        name if len(those) == len(DELAYS) else f"{name} ({joined(those)})" for name, those in delays.items()
    )


def measured(found: list[LossCurve]) -> str:
    """What each network did at each delay."""
    said = []
    for delay in DELAYS:
        here = [one for one in found if one.delay == delay]
        outcomes = dict.fromkeys(one.outcome for one in here)
        each = [f"{outcome}: {', '.join(one.short for one in here if one.outcome == outcome)}" for outcome in outcomes]
        said.append(
            f"Over {delay:,} steps a network without memory has a loss of {here[0].guess:.4f}. "
            f"{'. '.join(map(capital, each))}"
        )
    return (
        f"{'. '.join(said)}. Learned from the source's start D_f = 1e-5 asRNN diverges, as a step of the optimiser "
        "moves each entry by many times its size. In the source's code D_f has the gradient 0 there and stays, so that "
        "its asRNN is a linear orthogonal network. One training each (seed 5544)."
    )


def table(recompute: bool = False) -> Table:
    """The curves in numbers."""
    found = curves()
    rows = [
        [
            f"{one.delay:,}",
            one.name,
            f"{one.guess:.4f}",
            f"{one.losses.min():.2g}" if len(one.losses) else "",
            f"{one.losses[-1]:.2g}" if len(one.losses) else "",
            one.halved,
            f"{int(one.steps[-1]):,}" if len(one.losses) else "",
            one.outcome,
        ]
        for one in found
    ]
    numeric = ["delay", "without memory", "best loss", "last loss", "half of it after", "steps"]
    headings = ["delay", "network", *numeric[1:], "outcome"]
    return Table(TITLE, CLAIM, measured(found), headings, rows, numeric, dataset(found))
