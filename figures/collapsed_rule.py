"""The NumPy RNN tutorial's "full derivative" beside the gradient: at its own start, while it learns, at larger W."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.words import number, percent

from .scripts import Drawn, Panels, Results, script
from .tutorial import (
    GRADIENT,
    LOOK,
    RATE,
    RULE,
    SEED,
    SHOWN,
    UNITS,
    Directions,
    Windows,
    answers,
    descent,
    directions,
    random_start,
    sine_windows,
    tutorial_start,
)

SCALES = (0.03, 0.1, 0.3, 0.5, 0.8, 1.2, 1.5, 2.0, 2.8, 4.0, 6.0, 9.0)
NAMED = (1.5, 4.0)  # of which the measured errors are said


def compute(fast: bool) -> Results:
    """Return 4,000 epochs of the tutorial's training along either, and starts of every scale; fast is 300 epochs."""
    windows, _ = sine_windows()
    return {
        "training": _trainings(windows, 300 if fast else 4000),
        "starts": _starts(windows, 5 if fast else 20),
        "columns": _columns(windows),
    }


@script("collapsed-rule", (10.4, 8.6), compute, nrows=2, ncols=2)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw how far the rule is off, and what it does to the training."""
    training = results["training"]
    _draw_starts(results["starts"], float(training["error"].sel({schema.NETWORK: GRADIENT})[0]), axes[0, 0])
    _draw_columns(results["columns"], axes[0, 1])
    _draw_training(training["angle"], axes[1, 0], "trained {}", "Angle between rule and gradient")
    axes[1, 0].set_ylabel("angle for W (degrees)")
    _draw_training(training["rmse"], axes[1, 1], "{}: {:.4f} at the end", "Training error with Huber's loss")
    axes[1, 1].set(ylabel="error (r.m.s.) in training", yscale="log")
    return Drawn(measured(**results))


def compared(found: Directions, weights: str = "W", column: Any = slice(None)) -> tuple[float, float, float]:
    """Return ‖rule − true‖/‖true‖ of some weights, the angle between them in degrees, and the quotient of their norms.

    `found` are both ways, `column` one of the weights' columns alone.
    """
    rule, true = (found[way][weights][:, column] for way in (RULE, GRADIENT))
    cosine = (rule * true).sum() / (rule.norm() * true.norm())
    angle = float(torch.rad2deg(torch.arccos(cosine.clamp(-1, 1))))
    return float((rule - true).norm() / true.norm()), angle, float(rule.norm() / true.norm())


def _trainings(windows: Windows, epochs: int) -> xr.Dataset:
    """The tutorial's descent along either direction; both are compared on the way."""
    dims = (schema.NETWORK, schema.TRAINING_STEP)
    values = np.array([_training(windows, epochs, name) for name in LOOK])
    names = {
        "error": "‖rule − gradient‖/‖gradient‖, W",
        "angle": "angle between rule and gradient, W (degrees)",
        "quotient": "‖rule‖/‖gradient‖, W",
        "rmse": "root of the mean squared error, training windows",
    }
    return schema.dataset(
        {key: schema.variable(dims, values[..., i], text) for i, (key, text) in enumerate(names.items())},
        system="vanilla",
        settings={"task": "sine", "epochs": epochs, "seed": SEED, "rate": RATE},
        method="full-batch descent in float64 from the tutorial's start; the gradient by backpropagation",
        coords={schema.NETWORK: list(LOOK), schema.TRAINING_STEP: np.arange(epochs)},
    )


def _training(windows: Windows, epochs: int, along: str) -> list[tuple[float, ...]]:
    inputs, targets = windows
    return [
        (
            *compared(found),
            float((answers(system, read, inputs) - targets).square().mean().sqrt()),
        )
        for system, read, found in descent(windows, epochs, along)
    ]


def _starts(windows: Windows, draws: int) -> xr.Dataset:
    """The same comparison at starts of every scale."""
    found = np.array([[compared(directions(*random_start(s, draw), windows)) for draw in range(draws)] for s in SCALES])
    dims = ("scale", schema.SAMPLE)
    return schema.dataset(
        {
            "error": schema.variable(dims, found[..., 0], "‖rule − gradient‖/‖gradient‖, W"),
            "angle": schema.variable(dims, found[..., 1], "angle between rule and gradient, W (degrees)"),
        },
        system="vanilla",
        settings={"task": "sine", "draws": draws},
        coords={"scale": list(SCALES)},
    )


def _columns(windows: Windows) -> xr.Dataset:
    """The columns of V, each of the input of one step: from the tutorial's start and from a larger W."""
    networks = {"the tutorial's start": tutorial_start()} | {f"W ~ {s:g} N(0, 1/n)": random_start(s, 0) for s in NAMED}
    found = [directions(*network, windows) for network in networks.values()]
    values = np.array([[compared(one, "V", step) for step in range(SHOWN)] for one in found])
    dims = (schema.NETWORK, schema.TIME)
    return schema.dataset(
        {
            "error": schema.variable(dims, values[..., 0], "‖rule − gradient‖/‖gradient‖, input weights of step t"),
            "angle": schema.variable(dims, values[..., 1], "angle between rule and gradient (degrees)"),
        },
        system="vanilla",
        settings={"task": "sine"},
        coords={schema.NETWORK: list(networks), schema.TIME: schema.time_coordinate(np.arange(1, SHOWN + 1))},
    )


def _draw_starts(starts: xr.Dataset, tutorials: float, ax: Axes) -> None:
    scale, error = starts["scale"].values, starts["error"].values
    ax.fill_between(
        scale,
        error.min(axis=1),
        error.max(axis=1),
        color=style.SKY,
        alpha=0.4,
        lw=0,
        label=f"all {error.shape[1]} draws",
    )
    ax.plot(scale, error.mean(axis=1), "o-", ms=3.5, color=style.BLUE, label="mean")
    ax.axhline(tutorials, color=style.BLACK, ls=":", lw=1.3)
    ax.annotate(
        f"the tutorial's start, ‖W‖ = 0.06: {percent(tutorials, 1)}",
        (0.98, tutorials),
        (0, 4),
        xycoords=ax.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
    )
    for named in NAMED:
        mean = float(starts["error"].sel(scale=named).mean())
        ax.plot(named, mean, "o", ms=8, mfc="none", mew=1.4, color=style.BLACK)
        ax.annotate(f"{percent(mean)}", (named, mean), (4, -22), textcoords="offset points")
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=f"s, entries of W ~ s N(0, 1/n), n = {UNITS}",
        ylabel="‖rule − gradient‖/‖gradient‖",
        title="The more recurrence, the more it is off",
    )
    ax.legend(loc="upper left")


def _draw_columns(columns: xr.Dataset, ax: Axes) -> None:
    colors, markers = (style.BLACK, style.BLUE, style.VERMILION), "so^"
    for name, color, marker in zip(columns[schema.NETWORK].values, colors, markers, strict=True):
        error = columns["error"].sel({schema.NETWORK: name})
        ax.plot(columns[schema.TIME], error, color=color, marker=marker, ms=4.5, label=str(name))
    ax.axhline(1, color=style.GREY, ls=":", lw=1.2)
    ax.annotate("as wrong as 0 would be", (1, 1), (0, -4), textcoords="offset points", va="top", color=style.GREY)
    ax.set(
        ylim=(-0.08, None),
        xlabel="step t whose input the weights read",
        ylabel="‖rule − gradient‖/‖gradient‖",
        title="Only the last input column is right",
    )
    ax.legend(loc="lower left")


def _draw_training(training: xr.DataArray, ax: Axes, said: str, title: str) -> None:
    """Draw one measurement over both trainings; `said` makes a label of the way that is gone and the last value."""
    for name, look in LOOK.items():
        values = training.sel({schema.NETWORK: name}).values
        ax.plot(training[schema.TRAINING_STEP] + 1, values, label=said.format(name, values[-1]), lw=1.4, **look)
    ax.set(xscale="log", xlabel="epoch", title=title)
    ax.legend(loc="best")


def measured(training: xr.Dataset, starts: xr.Dataset, columns: xr.Dataset) -> str:
    """Return how far the rule is off: at the tutorial's start, at larger W, and during training."""
    first = training.sel({schema.NETWORK: GRADIENT}).isel({schema.TRAINING_STEP: 0})
    said = " and ".join(
        f"{percent(float(one['error'].mean()))} ({percent(float(one['error'].min()))} to "
        f"{percent(float(one['error'].max()))}; cosine "
        f"{float(np.cos(np.deg2rad(one['angle'])).mean()):.2f}) with {float(one['scale']):g} N(0, 1/n)"
        for one in (starts.sel(scale=scale) for scale in NAMED)
    )
    earlier = columns["error"].isel({schema.TIME: slice(0, -1)})
    ends = {name: float(training["rmse"].sel({schema.NETWORK: name})[-1]) for name in LOOK}
    path = training.sel({schema.NETWORK: RULE})
    quotient = path["quotient"].values
    return (
        f"For W the rule is off by {percent(float(first['error']), 1)} at the tutorial's start, whose W is all but 0. "
        f"It is off by {said}. The input weights of the last step are right to rounding "
        f"({number(float(columns['error'][:, -1].max()), 1)}), those of earlier steps off by "
        f"{percent(float(earlier.min()))} to {percent(float(earlier.max()))}. "
        f"In {path.sizes[schema.TRAINING_STEP]:,} epochs along the rule the angle for W grows from "
        f"{float(path['angle'][0]):.1f}° to as much as {float(path['angle'].max()):.0f}°, and the rule is "
        f"{quotient.min():.2f} to {quotient.max():.2f} times as long as the gradient. The training error is "
        f"{ends[RULE]:.4f} then, along the gradient {ends[GRADIENT]:.4f}."
    )
