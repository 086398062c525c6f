"""Times that the modes of each fixed point last and how fast they turn; what drives them, and how they are read."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import number, of_map

HEIGHT, ROW, FRAME = 5.2, 0.36, 1.9  # inches of a figure at least, of a table's row, and around the tables
MOST_ROWS, MOST_CELLS = 12, 150  # of tables, and of one with its numbers written in
CROWD = 200  # modes, beyond which those of other points are small
FATES = {  # marker, colour, words of the legend and of a table's row
    "decays": ("o", style.STABLE, "decays (time constant)", "τ {}"),
    "grows": ("^", style.UNSTABLE, "grows (doubling time)", "doubles in {}"),
    "undecided": ("X", style.UNDECIDED, "growth undecided", "undecided"),
}
TABLES = {"input_share": "Share of each input (%)", "output_read": "Outputs per unit"}
DARK = 0.6  # a shade on which letters are white
SHORTEST = 0.05  # steps or seconds, below which a mode is drawn at the lower edge


def _figure(ds: xr.Dataset, fixed_point: int | None = None, **artist: Any) -> Axes:
    """Time constants at the left, beside them a row of tables for each point."""
    tables = [name for name in TABLES if name in ds and ds[name].size]
    widths = [4.6, *(min(4.2, 1.6 + 0.42 * ds[name].shape[-1]) for name in tables)]
    points = [point for point in _points(ds, fixed_point) if point < ds.sizes[schema.FIXED_POINT]]
    rows = {point: _rows(ds, point, MOST_ROWS // len(points)) for point in points}
    height = max(HEIGHT, FRAME + ROW * sum(map(len, rows.values())))
    with style.style((sum(widths) + 2.0 * bool(tables), height)):
        figure = plt.figure()
        grid = figure.add_gridspec(max(1, len(rows)), len(widths), width_ratios=widths)
        first = plot_modes(ds, ax=figure.add_subplot(grid[:, 0]), fixed_point=fixed_point, **artist)
        for column, name in enumerate(tables, 1):
            known = np.nan_to_num(ds[name].values[points], posinf=0.0, neginf=0.0)
            largest = 1.0 if name == "input_share" else float(known.max(initial=0.0)) or 1.0
            for place, (point, modes) in enumerate(rows.items()):
                ax = figure.add_subplot(grid[place, column])
                _draw_table(ds, ax, name, ds[name].values[point, modes], largest)
                ax.set_title(TABLES[name] if place == 0 else "")
                if column == 1:
                    ax.set(
                        yticks=np.arange(len(modes)),
                        yticklabels=[_named(ds, point, mode) for mode in modes],
                        ylabel=f"point {point}, {of_map(str(ds['kind'].values[point]))}",
                    )
        layout.finish(ds, figure, "Modes")
    return first


@layout.picture(
    needs=("time_constant", "doubling_time", "frequency", "fate", "separated", "input_share", "eigenvalue", "kind"),
    figure=_figure,
)
def plot_modes(ds: xr.Dataset, ax: Axes, *, fixed_point: int | None = None, **artist: Any) -> None:
    """Draw time constants over frequencies, and what drives and reads the modes of some fixed points.

    Parameters
    ----------
    ds : Dataset
        The result of `dynlab.modes`.
    ax : Axes, optional
        Axes for time constants and frequencies alone. Without it a figure is made that also has a table of what
        drives each mode of `fixed_point`, and one of how it is read where there is a read-out.
    fixed_point : int, optional
        Its number in the Dataset; without it those of the slowest mode that decays and of the fastest that grows.
    **artist
        For its modes' markers.

    Returns
    -------
    Axes
        The panel of time constants and frequencies.
    """
    points = _points(ds, fixed_point)
    lasts, turns = _lasts(ds), np.abs(ds["frequency"].values)
    top = 2 * float(lasts[np.isfinite(lasts)].max(initial=1.0))
    height = np.where(np.isposinf(lasts), top, np.maximum(lasts, SHORTEST))
    fate = np.where(ds["eigenvalue"].values.imag < 0, "", ds["fate"].values)  # of a complex pair one
    numbers = np.arange(len(fate))[:, None]
    for name, (marker, colour, words, _) in FATES.items():
        for place, point in enumerate(points):
            own = (fate == name) & (numbers == point)
            look: dict[str, Any] = {
                "s": 44,
                "marker": marker,
                "facecolors": style.GROUND if place else colour,
                "edgecolors": colour,
                "linewidths": 1.2,
                "zorder": 3,
                "label": f"point {point}: {words}",
            }
            if own.any():
                ax.scatter(turns[own], height[own], **look | artist)
        others = (fate == name) & ~np.isin(numbers, points)
        if others.any():
            ax.scatter(
                turns[others],
                height[others],
                marker=marker,
                color=colour,
                label=f"others: {words}",
                s=12 if fate.size > CROWD else 24,
                alpha=0.7,
                linewidths=0,
            )
    both = "time constant τ" + ", or doubling time" * bool((fate == "grows").any())
    ax.set(
        yscale="log",
        xlabel=f"frequency ({ds['frequency'].attrs['units']})",
        ylabel=f"{both} ({ds['time_constant'].attrs['units']})",
        title="How long modes last",
    )
    ax.locator_params(axis="x", nbins=5)
    style.plain_numbers(ax)
    if np.isposinf(lasts).any():
        ax.axhline(top, color=style.GREY, lw=0.8, ls=":", zorder=1)
        ax.text(0.995, top, "∞", transform=ax.get_yaxis_transform(), ha="right", va="bottom", color=style.GREY)
    if not len(fate):
        style.say(ax, "no fixed point found")


def _points(ds: xr.Dataset, fixed_point: int | None) -> list[int]:
    """Return that point, or those of the slowest mode that decays and the fastest that grows, as the verdict has."""
    if fixed_point is not None:
        return [fixed_point]
    fate = ds["fate"].values
    slow = np.where(fate == "decays", ds["time_constant"].values, np.nan)
    fast = np.where(fate == "grows", -ds["doubling_time"].values, np.nan)
    known = [each for each in (slow, fast) if not np.isnan(each).all()]
    return list(dict.fromkeys(int(np.nanargmax(each) // each.shape[1]) for each in known)) or [0]


def _draw_table(ds: xr.Dataset, ax: Axes, name: str, values: NDArray[np.float64], largest: float) -> None:
    """A row for each mode, of a complex pair one: shares, and read-outs as parts of the largest, which is dark."""
    known = np.asarray(np.isfinite(values).all(axis=-1))
    shades = np.where(known[:, None], values, np.nan) / largest
    ax.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", interpolation="nearest")
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for (row, column), shade in np.ndenumerate(shades):
        if values.size <= MOST_CELLS and np.isfinite(shade):
            said = f"{100 * shade:.0f}" if name == "input_share" else number(float(values[row, column]), 2)
            ax.text(column, row, said, color="white" if shade > DARK else "black", **centred)
    for row in np.flatnonzero(~known):
        ax.text((values.shape[1] - 1) / 2, float(row), "not interpreted", color=style.GREY, **centred)
    columns = values.shape[1]
    ax.set(
        xticks=np.arange(columns) if columns <= MOST_ROWS else [0, columns - 1],
        xlabel=f"number of the {name.partition('_')[0]}",
        yticks=[],
    )
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _rows(ds: xr.Dataset, point: int, most: int) -> NDArray[np.int64]:
    """Return the leading modes of a point, one for each complex pair, without those that are forgotten in a step."""
    first = ds["eigenvalue"].values[point].imag >= 0
    return np.flatnonzero(first & np.isfinite(ds["frequency"].values[point]))[:most]


def _named(ds: xr.Dataset, point: int, mode: int) -> str:
    turning, long = abs(float(ds["frequency"].values[point, mode])), number(float(_lasts(ds)[point, mode]), 3)
    unit = "s" if ds["time_constant"].attrs["units"] == schema.SECOND else "steps"
    said = FATES[str(ds["fate"].values[point, mode])][3].format(f"{long} {unit}")
    return f"{said}, f {number(turning, 3)}" if turning > 0 else said


def _lasts(ds: xr.Dataset) -> NDArray[np.float64]:
    """Return the time constant of what decays, the doubling time of what grows, inf where that is undecided."""
    return np.where(ds["fate"].values == "grows", ds["doubling_time"].values, ds["time_constant"].values)
