"""The frames of movies: one figure a frame, all of one size with their axes in one place."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.geometry import plot_geometry
from dynlab.plots.phase_panels import count_kinds, legend_entries
from dynlab.plots.phase_plane import plot_phase_plane, time_bar
from dynlab.plots.spectrum import plot_spectrum
from dynlab.plots.stability_disc import SIDES, needs_close_up, plot_stability_disc
from dynlab.progress import through
from dynlab.wording import agree, counted, number, of_map

Place = tuple[float, float, float, float]  # of axes, in parts of the figure

SIZE, WIDE, TALL = (6.4, 5.2), (9.6, 8.0), (6.4, 6.1)  # inches
PLACE, ABOVE_LEGEND = (0.12, 0.12, 0.82, 0.76), (0.12, 0.3, 0.82, 0.62)
LEFT, TIME_BAR = (0.08, 0.36, 0.43, 0.516), (0.6, 0.285, 0.3, 0.016)
DISC, CLOSE_UP = (0.6, 0.63, 0.38, 0.25), (0.6, 0.385, 0.38, 0.16)
ROOM = 1.08
TAIL = 6  # steps that a moving point leaves behind
MOST_MOVING = 8  # trajectories
NAMES = {"step_size": "step size ε"}


def phase_frames(
    portraits: Iterable[xr.Dataset], name: str, values: Sequence[float], ends: Sequence[xr.Dataset]
) -> Iterator[Figure]:
    """Phase portraits at values of a parameter, each beside the eigenvalues of its equilibria.

    Parameters
    ----------
    portraits : iterable of Dataset
        Of `dynlab.phase_plane`, all of one window.
    name : str
        The parameter's.
    values : sequence of float
    ends : sequence of Dataset
        The first and the last portrait, which say how wide the plane of eigenvalues is.
    """
    discs, named = _shared(ends)
    for ds, value in through(zip(portraits, values, strict=True), len(values)):
        with style.style(WIDE) as size:
            figure = plt.figure(figsize=size, layout="none")
            plot_phase_plane(ds, ax=figure.add_axes(LEFT))
            time_bar(ds, figure, cax=figure.add_axes(TIME_BAR), orientation="horizontal")
            for near, (place, limits) in discs.items():
                plot_stability_disc(ds, ax=figure.add_axes(place), close_up=near).set(**limits)
            figure.legend(named.values(), named, loc="lower left", bbox_to_anchor=(0.05, 0.0), ncols=2)
            _title(figure, f"{style.named_system(ds)}\n{NAMES.get(name, name)} = {number(value, 3)}{_kinds(ds)}")
        yield figure


def spectrum_frames(ds: xr.Dataset, frames: int) -> Iterator[Figure]:
    """The Jacobians' eigenvalues at steps of a training.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.over_training` of `dynlab.spectrum`.
    frames : int
        At most; checkpoints are left out where there are more.
    """
    values = ds["eigenvalue"].values
    half = ROOM * max(1.0, float(np.abs(values[np.isfinite(values)]).max(initial=0)))
    for place in through(_chosen(ds.sizes[schema.TRAINING_STEP], frames)):
        one = ds.isel({schema.TRAINING_STEP: place})

        def draw(ax: Axes, one: xr.Dataset = one) -> None:
            plot_spectrum(one, ax=ax)
            ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", title="")

        radius = number(float(one["spectral_radius"].median()), 3)
        yield _frame(
            draw, f"Step {int(one[schema.TRAINING_STEP]):,} of the training: spectral radius {radius}", SIZE, PLACE
        )


def trajectory_frames(ds: xr.Dataset, frames: int) -> Iterator[Figure]:
    """States that move among the fixed points, on the first two principal components.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.geometry`.
    frames : int
        At most; steps are left out where there are more.
    """
    moving = ds["trajectory"].values[:MOST_MOVING, :, :2]
    moving = np.pad(moving, ((0, 0), (0, 0), (0, 2 - moving.shape[2])))
    held = schema.settings(ds).get("input")
    at = "" if not held else " under a held input" if any(held) else " at input zero"
    among = f"among {counted(ds.sizes[schema.FIXED_POINT], 'fixed point')}{at}"
    for t in through(_chosen(ds.sizes[schema.TIME], frames)):

        def draw(ax: Axes, t: int = t) -> None:
            plot_geometry(ds, ax=ax)
            for path in moving:
                ax.plot(*path[max(0, t - TAIL) : t + 1].T, color=style.PURPLE, lw=1.4, alpha=0.8, zorder=6)
            ax.scatter(
                moving[:, t, 0],
                moving[:, t, 1],
                s=30,
                color=style.PURPLE,
                edgecolors=style.BLACK,
                linewidths=0.6,
                zorder=7,
                label=_moving(ds, len(moving)),
            )
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), ncols=2)

        yield _frame(draw, f"{style.of_whom(ds)}\nstep {int(ds[schema.TIME].values[t]):,} {among}", TALL, ABOVE_LEGEND)


def _moving(ds: xr.Dataset, drawn: int) -> str:
    """How many states move, of how many, and what they leave behind."""
    count = ds.sizes[schema.SAMPLE]
    of = f" of {count}" if drawn < count else ""
    return f"{drawn}{of} {agree(drawn, 'state', 'states')}, with the last {TAIL} steps as a trail"


def _kinds(ds: xr.Dataset) -> str:
    """Of the equilibria, of the flow and of the map: "; flow: stable focus, Euler's map: unstable focus"."""
    told = []
    if "flow_kind" in ds and len(kinds := ds["flow_kind"].values.tolist()):
        told += [f"flow: {count_kinds(kinds)}"]
    if "map_kind" in ds and len(kinds := [of_map(kind) for kind in ds["map_kind"].values]):
        whose = "Euler's map" if told else "map"
        told += [f"{whose}: {count_kinds(kinds)}"]
    return "; ".join(["", ", ".join(told)]) if told else ""


def _named(disc: Axes) -> dict[str, Any]:
    """What is named beside the disc and not beside portraits; a critical step only where its mark is drawn."""
    marked = any(line.get_marker() == "X" and np.size(line.get_xdata()) for line in disc.lines)
    entries = zip(*disc.get_legend_handles_labels(), strict=True)
    drawn = {text.replace("\n", " "): handle for handle, text in entries if text not in SIDES.values()}
    return {text: handle for text, handle in drawn.items() if marked or not text.startswith("critical step")}


def _shared(ends: Sequence[xr.Dataset]) -> tuple[dict[bool, tuple[Place, dict[str, Any]]], dict[str, Any]]:
    """Of all frames: the places and limits of the disc, and of its close-up where one is needed, and the legend."""
    named = legend_entries([plot_phase_plane(ds, ax=Figure().add_subplot()) for ds in ends])
    discs = {}
    for near in (False, True) if any(map(needs_close_up, ends)) else (False,):
        drawn = [plot_stability_disc(ds, ax=Figure().add_subplot(), close_up=near) for ds in ends]
        found = {"xlim": [ax.get_xlim() for ax in drawn], "ylim": [ax.get_ylim() for ax in drawn]}
        limits = {name: (min(low for low, _ in each), max(high for _, high in each)) for name, each in found.items()}
        discs[near] = (CLOSE_UP if near else DISC), limits
        for disc in drawn:
            named |= _named(disc)
    return discs, named


def _chosen(count: int, most: int) -> list[int]:
    return [int(place) for place in np.linspace(0, count - 1, min(count, most)).round()]


def _frame(draw: Callable[[Axes], Any], title: str, size: tuple[float, float], place: Place) -> Figure:
    with style.style(size) as whole:
        figure = plt.figure(figsize=whole, layout="none")
        draw(figure.add_axes(place))
        _title(figure, title)
    return figure


def _title(figure: Figure, words: str) -> None:
    figure.suptitle(words, x=0.02, ha="left", fontsize="large")
