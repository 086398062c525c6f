"""The frames of movies: one figure a frame, all of one size with their axes in one place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from dynlab import schema
from dynlab.plots import style, titles
from dynlab.plots.geometry import plot_geometry
from dynlab.plots.phase_panels import count_kinds, legend_entries
from dynlab.plots.phase_plane import plot_phase_plane, time_bar
from dynlab.plots.spectrum import plot_spectrum
from dynlab.plots.stability_disc import SIDES, needs_close_up, plot_stability_disc
from dynlab.progress import through
from dynlab.words import agree, counted, number, of_map

SIZE, WIDE, TALL = (6.4, 5.2), (9.6, 8.0), (6.4, 6.1)  # inches
# of axes, in parts of the figure
PLACE, ABOVE_LEGEND = (0.12, 0.12, 0.82, 0.76), (0.12, 0.3, 0.82, 0.62)
LEFT, TIME_BAR, DISC = (0.08, 0.36, 0.43, 0.516), (0.6, 0.37, 0.3, 0.016), (0.62, 0.53, 0.34, 0.34)
ROOM = 1.08
TAIL, MOST_MOVING = 6, 8  # steps that a moving point leaves behind; trajectories


def phase_frames(
    portraits: Iterable[xr.Dataset], name: str, values: Sequence[float], ends: Sequence[xr.Dataset]
) -> Iterator[Figure]:
    """Yield phase portraits at values of a parameter, each beside the eigenvalues of its equilibria.

    Parameters
    ----------
    portraits : iterable of Dataset
        Results of `dynlab.phase_plane`, all of one window.
    name : str
        The parameter's.
    values : sequence of float
    ends : sequence of Dataset
        The first and the last portrait, which say how wide the plane of eigenvalues is, and what the legend has.
    """
    near = any(map(needs_close_up, ends))
    with style.style(WIDE):  # whose colours the legend has
        discs = [plot_stability_disc(ds, ax=Figure().add_subplot(), close_up=near) for ds in ends]
        named = legend_entries([plot_phase_plane(ds, ax=Figure().add_subplot()) for ds in ends])
    box = Bbox.union([disc.viewLim for disc in discs])
    named |= {text: handle for text, handle in style.entries(*discs).items() if text not in SIDES.values()}
    for ds, value in through(zip(portraits, values, strict=True), len(values)):
        with style.style(WIDE):
            figure = plt.figure(layout="none")
            portrait = plot_phase_plane(ds, ax=figure.add_axes(LEFT))
            portrait.set(xlim=ds[schema.X].values[[0, -1]], ylim=ds[schema.Y].values[[0, -1]], aspect="equal")
            time_bar(ds, figure, cax=figure.add_axes(TIME_BAR), orientation="horizontal")
            plot_stability_disc(ds, ax=figure.add_axes(DISC), close_up=near).set(xlim=box.intervalx, ylim=box.intervaly)
            figure.legend(named.values(), named, loc="lower left", bbox_to_anchor=(0.05, 0.0), ncols=2)
            varied = style.PARAMETERS.get(name, name).removesuffix(" (s)")
            _title(figure, f"{titles.named_system(ds)}\n{varied} = {number(value, 3)}{_kinds(ds)}")
        yield figure


def spectrum_frames(ds: xr.Dataset, frames: int) -> Iterator[Figure]:
    """Yield the Jacobians' eigenvalues at steps of a training.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.over_training` of `dynlab.spectrum`.
    frames : int
        At most; checkpoints are left out where there are more.
    """
    values = ds["eigenvalue"].values
    half = ROOM * max(1.0, float(np.abs(values[np.isfinite(values)]).max(initial=0)))
    for place in through(_chosen(ds.sizes[schema.TRAINING_STEP], frames)):
        one = ds.isel({schema.TRAINING_STEP: place})
        radius = number(float(one["spectral_radius"].median()), 3)
        with style.style(SIZE):
            figure = plt.figure(layout="none")
            plot_spectrum(one, ax=figure.add_axes(PLACE)).set(
                xlim=(-half, half), ylim=(-half, half), aspect="equal", title=""
            )
            _title(figure, f"Step {int(one[schema.TRAINING_STEP]):,} of the training: spectral radius {radius}")
        yield figure


def trajectory_frames(ds: xr.Dataset, frames: int) -> Iterator[Figure]:
    """Yield the states among the fixed points, on the first two principal components.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.geometry`.
    frames : int
        At most; steps are left out where there are more.
    """
    moving = ds["trajectory"].values[:MOST_MOVING, :, :2]
    moving = np.pad(moving, ((0, 0), (0, 0), (0, 2 - moving.shape[2])))
    held, drawn, count = schema.settings(ds).get("input"), len(moving), ds.sizes[schema.SAMPLE]
    at = "" if not held else " under a held input" if any(held) else " at input zero"
    among = f"among {counted(ds.sizes[schema.FIXED_POINT], 'fixed point')}{at}"
    of = f" of {count}" if drawn < count else ""
    words = f"{drawn}{of} {agree(drawn, 'state', 'states')}, with the last {TAIL} steps as a trail"
    for t in through(_chosen(ds.sizes[schema.TIME], frames)):
        with style.style(TALL):
            figure = plt.figure(layout="none")
            ax = plot_geometry(ds, ax=figure.add_axes(ABOVE_LEGEND))
            look: dict[str, Any] = {"color": style.PURPLE, "zorder": 6}
            ax.plot(*moving[:, max(0, t - TAIL) : t + 1].transpose(2, 1, 0), lw=1.4, alpha=0.8, **look)
            dots: dict[str, Any] = {"s": 30, "edgecolors": style.BLACK, "linewidths": 0.6, "label": words} | look
            ax.scatter(*moving[:, t].T, **dots)
            style.legend_below(ax, 2)
            _title(figure, f"{titles.of_whom(ds)}\nstep {int(ds[schema.TIME].values[t]):,} {among}")
        yield figure


def _kinds(ds: xr.Dataset) -> str:
    """Name the kinds of the equilibria: "; flow: stable focus, Euler's map: unstable focus"."""
    told = []
    if "flow_kind" in ds and len(kinds := ds["flow_kind"].values.tolist()):
        told += [f"flow: {count_kinds(kinds)}"]
    if "map_kind" in ds and len(kinds := [of_map(kind) for kind in ds["map_kind"].values]):
        whose = "Euler's map" if told else "map"
        told += [f"{whose}: {count_kinds(kinds)}"]
    return "; " + ", ".join(told) if told else ""


def _chosen(count: int, most: int) -> list[int]:
    return [int(place) for place in np.linspace(0, count - 1, min(count, most)).round()]


def _title(figure: Figure, words: str) -> None:
    figure.suptitle(words, x=0.02, ha="left", fontsize="large")
