"""The NumPy RNN tutorial's movie of a network that learns a sine, for its three losses, along gradient and rule."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.plots import style

from .scripts import Drawn, Panels, Results, script
from .tutorial import GRADIENT, LOOK, RATE, RULE, Slope, Windows, answers, descent, sine_windows

EPOCHS, FEW = 4000, 60
FRAMES, DRAWN = 26, 18  # epochs that are kept at most, and of them drawn: a GIF below 200 KiB
BETA, MIX = 0.025, 0.5  # the tutorial's cutoff, and a half of each norm where it names no share
SOFT = "L2 near 0, L1 beyond"
LOSSES: dict[str, Slope] = {
    "L1": torch.sign,
    "elastic net": lambda error: MIX * torch.sign(error) + (1 - MIX) * error,
    SOFT: lambda error: (error / BETA).clamp(-1, 1),
}
TRAINED = {GRADIENT: "trained along the gradient", RULE: "trained along the tutorial's rule"}
MARGIN = 0.05  # of the values' range, above and below
GAP = 2  # steps between two windows


def compute(fast: bool) -> Results:
    """Return each network's predictions on the held-out windows, at epochs evenly spaced on a logarithmic scale."""
    train, test = sine_windows()
    epochs = FEW if fast else EPOCHS
    shown = np.unique(np.geomspace(1, epochs, FRAMES).astype(int)) - 1
    values = np.array([[_training(train, test[0], slope, along, shown) for along in LOOK] for slope in LOSSES.values()])
    dims = ("loss", schema.NETWORK, schema.TRAINING_STEP, schema.SAMPLE, schema.OUTPUT)
    ds = schema.dataset(
        {
            "predicted": schema.variable(dims, values.astype(np.float32), "predicted values"),
            "target": schema.variable((schema.SAMPLE, schema.OUTPUT), test[1].numpy(), "values to predict"),
        },
        system="vanilla",
        settings={"task": "sine", "epochs": epochs, "rate": RATE, "beta": BETA, "mix": MIX},
        method="full-batch descent in float64 from the tutorial's start",
        coords={"loss": list(LOSSES), schema.NETWORK: list(LOOK), schema.TRAINING_STEP: shown + 1},
    )
    return {"predictions": ds}


def _training(train: Windows, test: Tensor, slope: Slope, along: str, shown: Real) -> list[Real]:
    steps = descent(train, int(shown[-1]) + 1, along, slope)
    return [answers(system, read, test).numpy() for epoch, (system, read, _) in enumerate(steps) if epoch in shown]


@script("movie", (12.0, 4.4), compute, ncols=len(LOSSES), sharey=True)
def figure(results: Results, panels: Panels) -> Drawn:
    """Draw the last frame, with the movie that leads to it."""
    ds = results["predictions"]
    chosen = np.unique(np.linspace(0, ds.sizes[schema.TRAINING_STEP] - 1, DRAWN).round().astype(int))
    ds = ds.isel({schema.TRAINING_STEP: chosen})
    lines = [_draw(ds, name, ax) for name, ax in zip(LOSSES, panels, strict=True)]
    panels[0].set_ylabel("value of the sine")
    headings = [ax.set_title("\n", fontsize="medium") for ax in panels]
    frames, found, figure = ds.sizes[schema.TRAINING_STEP], errors(ds), panels[0].figure

    def update(frame: int) -> None:
        for name, each, heading in zip(LOSSES, lines, headings, strict=True):
            now = [float(found.sel({"loss": name, schema.NETWORK: along})[frame]) for along in LOOK]
            heading.set_text(f"{name}\nerror: gradient {now[0]:.3f}, rule {now[1]:.3f}")
            for along, line in each.items():
                values = ds["predicted"].sel({"loss": name, schema.NETWORK: along}).isel({schema.TRAINING_STEP: frame})
                line.set_ydata(_joined(values.values))
        panels[0].set_xlabel(f"window held out; epoch {int(ds[schema.TRAINING_STEP][frame]):,}")

    def movie() -> Iterator[Figure]:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # nothing moves from frame to frame, and a layout takes longer than a frame
        for frame in range(frames):
            update(frame)
            yield figure

    update(frames - 1)
    return Drawn(measured(ds), style.entries(panels[0]), movie)


def _joined(values: Real) -> Real:
    """The windows beside each other with gaps between, shape (windows · (steps + gap),)."""
    gaps = np.full((len(values), GAP), np.nan)
    return np.concatenate([values, gaps], axis=1).ravel()


def _draw(ds: xr.Dataset, name: str, ax: Axes) -> dict[str, Any]:
    truth = _joined(ds["target"].values)
    place = np.arange(len(truth))
    ax.plot(place, truth, color=style.BLACK, lw=3, alpha=0.25, label="sine, four windows held out")
    lines = {
        along: ax.plot(place, np.full(len(truth), np.nan), lw=1.4, label=TRAINED[along], **look)[0]
        for along, look in LOOK.items()
    }
    windows, steps = ds["target"].shape
    middles = (steps + GAP) * np.arange(windows) + (steps - 1) / 2
    values = [ds[name].values for name in ("predicted", "target")]
    low, high = min(map(np.min, values)), max(map(np.max, values))
    pad = MARGIN * float(high - low)
    ax.set(
        xticks=middles,
        xticklabels=[f"{number}" for number in range(1, windows + 1)],
        xlabel="window held out",
        ylim=(low - pad, high + pad),
    )
    return lines


def errors(ds: xr.Dataset) -> xr.DataArray:
    """The root of the mean squared error on the windows held out, by loss, direction and epoch."""
    return ((ds["predicted"] - ds["target"]) ** 2).mean([schema.SAMPLE, schema.OUTPUT]) ** 0.5


def measured(ds: xr.Dataset) -> str:
    """Return how well each loss does along both directions."""
    found = errors(ds).isel({schema.TRAINING_STEP: -1})
    said = ". ".join(
        f"With the loss “{name}” it is {float(found.sel({'loss': name, schema.NETWORK: GRADIENT})):.4f} along the "
        f"gradient and {float(found.sel({'loss': name, schema.NETWORK: RULE})):.4f} along the tutorial's rule"
        for name in LOSSES
    )
    return (
        f"Root of the mean squared error on the four windows held out, after {schema.settings(ds)['epochs']:,} epochs "
        f"at the tutorial's rate. {said}."
    )
