"""Several phase portraits in one figure: each with what it shows, and one legend for all."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D

from dynlab.plots import phase_portrait, style
from dynlab.plots.phase_plane import plot_phase_plane
from dynlab.words import number

OWNERS = ("flow: ", "map: ", "Euler's map: ")  # how a portrait's legend begins the kind of an equilibrium
MARKERS = {"stable": 1, "unstable": 0, "stability undecided": -1}
# The variables that only a panel with a flow, or with a line of equilibria or a conserved quantity, has.
OPTIONAL = ("flow_kind", "flow_stable", "flow_eigenvalue", "critical_step", "conserved", "line_direction")


def draw_panel(one: xr.Dataset, ax: Axes, title: str, **artist: Any) -> Axes:
    """Draw one portrait of several, with what it shows below its title."""
    plot_phase_plane(one.drop_vars("backward_orbit", errors="ignore"), ax=ax, **artist)  # too much in a small panel
    ax.set_title(f"{title}\n{_told(one)}", fontsize="medium")
    place = cast(SubplotSpec, ax.get_subplotspec())
    ax.set(
        xlabel=ax.get_xlabel() if place.is_last_row() else "", ylabel=ax.get_ylabel() if place.is_first_col() else ""
    )
    return ax


def legend_entries(drawn: list[Axes]) -> dict[str, Any]:
    """Return one legend's entries for several portraits; markers stand for stability, not for kinds."""
    labels = style.entries(*drawn)
    kept = {text: handle for text, handle in labels.items() if not text.startswith(OWNERS)}
    undecided = any(line.get_fillstyle() == "left" for small in drawn for line in small.lines)
    looks = {
        text: phase_portrait.marker(stable, phase_portrait.FLOW_SIZE)
        for text, stable in MARKERS.items()
        if undecided or stable >= 0
    }
    if "flow: center" in labels:
        looks["center"] = phase_portrait.marker(1, phase_portrait.FLOW_SIZE) | phase_portrait.CENTER
    if any(text.startswith(OWNERS[2]) for text in labels):
        hollow = phase_portrait.marker(0, phase_portrait.MAP_SIZE)
        looks["small: of Euler's map"] = hollow | {"markeredgecolor": style.BLACK}
    return kept | {text: Line2D([], [], linestyle="none", **look) for text, look in looks.items()}


def panel(ds: xr.Dataset, letter: str) -> xr.Dataset:
    """Return one panel as a Dataset of `dynlab.phase_plane`: with its own grid, without what only others have."""
    one = ds.sel(panel=letter, drop=True)
    one = one.assign_coords(x=one["grid_x"], y=one["grid_y"], iteration=one["long_orbit_step"])
    one = one.isel(fixed_point=np.flatnonzero(np.isfinite(one["equilibrium"].values).all(axis=1)))
    absent = [name for name in OPTIONAL if name in one and not _holds(one[name].values)]
    return one.drop_vars(absent + (["flow_stable"] if "flow_kind" in absent else []), errors="ignore")


def _holds(values: np.ndarray) -> bool:
    """Return True if an array has anything but fill values."""
    return bool((values != "" if values.dtype.kind in "OU" else np.isfinite(values)).any())


def _told(one: xr.Dataset) -> str:
    """The kinds of the equilibria, of one the modulus of its multipliers, too."""
    kinds = [str(kind) for kind in one["map_kind"].values]
    if len(kinds) > 1:
        return count_kinds(kinds)
    modulus = f"|μ| = {number(float(np.abs(one['map_eigenvalue'].values).max()), 5)}"
    if "flow_kind" not in one:
        return f"{modulus} decides nothing"
    flow = str(one["flow_kind"].values[0])
    if flow == kinds[0]:
        return f"{flow}\nof flow and map, {modulus}"
    return f"flow: {flow}\nmap: {kinds[0]},\n{modulus}"


def count_kinds(kinds: Sequence[str]) -> str:
    """Return a single kind, or each with how many there are: "1 × saddle, 2 × stable node"."""
    if len(kinds) == 1:
        return kinds[0]
    return ",\n".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))
