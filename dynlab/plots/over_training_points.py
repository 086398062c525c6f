"""Fixed points and bifurcations over the steps of a training, one by one."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.bifurcation import MARKERS, WORDS

STABILITY = {
    1: (style.STABLE, "o", "stable"),
    0: (style.UNSTABLE, "^", "unstable"),
    -1: (style.UNDECIDED, "s", "undecided"),
}
MARGIN = 0.03  # of the axis, at both ends


def draw_fixed_points(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Each at the modulus of its leading multiplier, by its stability."""
    curve = panel["curves"][0]
    values = ds[curve["variable"]].isel(curve["isel"]).transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    stable = ds["stable"].transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    steps = ds[schema.TRAINING_STEP].values
    across = np.broadcast_to(steps[:, None], values.shape)
    for value, (colour, marker, word) in STABILITY.items():
        of_it = stable == value
        if of_it.any():
            look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "ls": "none", "alpha": 0.8} | artist
            name = ": ".join(filter(None, [label, f"{word} fixed point"]))
            ax.plot(across[of_it], np.abs(values[of_it]), label=name, **look)
    ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="modulus 1")
    ax.set_xlim(steps[0] - MARGIN * np.ptp(steps), steps[-1] + MARGIN * np.ptp(steps))


def draw_bifurcations(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Each at the value of the parameter, by its kind, in the range that was followed."""
    values, kinds = ds["bifurcation_parameter"].values, ds["bifurcation_kind"].values
    steps, settings = ds[schema.TRAINING_STEP].values, schema.settings(ds)
    across = np.broadcast_to(steps[:, None], values.shape)
    found = sorted(set(kinds.ravel()) - {"not there"})
    for number, kind in enumerate(found):
        of_it = kinds == kind
        look: dict[str, Any] = {"color": style.CYCLE[number % len(style.CYCLE)], "marker": MARKERS.get(kind, "o")}
        look |= {"ms": 6, "ls": "none", "mfc": "none" if kind == "Hopf" else None, "alpha": 0.85} | artist
        name = ": ".join(filter(None, [label, WORDS.get(kind, kind)]))
        ax.plot(across[of_it], values[of_it], label=name, **look)
    if not found:
        ax.plot([], [], ls="none", label="no bifurcation was found")
    if settings["parameter"].endswith("*") and settings["lowest"] < 1 < settings["highest"]:  # a factor
        ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="as trained")
    ax.set_ylim(settings["lowest"], settings["highest"])
    ax.set_xlim(steps[0] - MARGIN * np.ptp(steps), steps[-1] + MARGIN * np.ptp(steps))
