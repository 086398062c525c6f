"""Trajectories beside the equilibrium manifold, and how far an ERNN is from it."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.wording import joined, subscript

SAMPLE = 0  # the sequence that is drawn
WIDTH = 11.0  # inches
MARGIN = 1.05
MOST = 0.9  # quantile of the equilibria that a frame holds: they may lie far from where a network moves
RATIOS = (1.6, 1.0)  # of the heights of the networks and of the distance below them
ARRIVED = 1e-6  # the inner iteration's end counts as on the manifold within this distance
SMALLEST = 1e-17  # a distance of exactly 0 has no place on a logarithmic axis
ROUNDING = 2.0**-52  # of a state of size 1
NEAR_ROUNDING = 1e4 * ROUNDING  # a distance below this is compared with rounding
WITHIN_RING = 0.02  # of where a network moves: about the radius of the ring around its start
SEEN = 1e-3  # of an axis: what is nearer to 0 is at 0 to the eye
OVER, THICK = 5, 4.0  # of the drawing order, and points: the manifold over the lines of networks that are not on it
STEP = "step k"  # as the formulas have it
FORMS = {"rnn": "RNN", "fastrnn": "FastRNN", "ernn": "ERNN"}


def plot_ernn_manifold(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The ERNN's motion on its manifold; beside it the other networks, and below the distance from the manifold.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.ernn_manifold`. States of more than two dimensions are drawn by the two that vary most.
    ax : Axes, optional
        Where only the first network, the ERNN, is drawn. Without it a figure of all is made.
    **artist
        For the trajectories.

    Returns
    -------
    Axes
        Of the ERNN.
    """
    schema.check(ds, needs=["trajectory", "pair_sum", "equilibrium", "distance", "inner_path"])
    ds = _planar(ds)
    if ax is not None:
        return _draw_network(ds, ds["network"].values[0], ax, artist)
    names = ds["network"].values.tolist()
    order = [name for name in names if name not in _ernns(ds)] + _ernns(ds)
    order = order or names
    several = len(order) > 1
    with style.style((WIDTH, 6.2 if several else 4.2)) as size:
        figure = plt.figure(figsize=size)
        whole = figure.add_gridspec(2, 1, height_ratios=RATIOS) if several else figure.add_gridspec(1, 2)
        cells = whole[0].subgridspec(1, len(order))
        drawn = {name: _draw_network(ds, name, figure.add_subplot(cells[i]), artist) for i, name in enumerate(order)}
        labels: dict[str, Any] = {}
        for ax in drawn.values():
            labels |= {text: handle for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
        labels |= _draw_distance(ds, figure.add_subplot(whole[1]))
        style.finish(ds, figure, "Equilibrium manifold", labels)
    return drawn[names[0]]


def _planar(ds: xr.Dataset) -> xr.Dataset:
    """The Dataset with two states, those of the ERNN that vary most; many of a ReLU network never leave 0.

    A single state is drawn over time, which then stands in the first place, and is numbered 0.
    """
    if ds.sizes[schema.STATE] == 1:
        return _over_time(ds)
    spread = ds["trajectory"].isel(network=0, sample=SAMPLE).std(schema.TIME).values
    shown = np.sort(np.argsort(-spread, kind="stable")[:2])
    return ds.isel({schema.STATE: shown}).assign_coords({schema.STATE: shown + 1})


def _over_time(ds: xr.Dataset) -> xr.Dataset:
    """The Dataset of one state with time as another in front of it."""
    begins = np.linspace(0.0, 1.0, ds.sizes[schema.ITERATION])  # the inner iteration is on its way to t = 1
    clocks = dict.fromkeys(("trajectory", "pair_sum", "equilibrium"), (schema.TIME, ds[schema.TIME].values))
    clocks["inner_path"] = (schema.ITERATION, begins)
    drawn = {}
    for name, (dimension, clock) in clocks.items():
        values = ds[name].variable
        times = xr.Variable((dimension,), clock) + 0 * values  # NaN where there is no state
        drawn[name] = xr.Variable.concat([times.transpose(*values.dims), values], schema.STATE)
    rest = ds.drop_vars([*drawn, *(name for name in ("curve",) if name in ds)])
    return rest.assign(drawn).assign_coords({schema.STATE: [0, 1]})


def _draw_network(ds: xr.Dataset, name: str, ax: Axes, artist: dict[str, Any]) -> Axes:
    one = ds.sel(network=name).isel(sample=SAMPLE)
    has_manifold = name in _ernns(ds)
    if "curve" in ds:
        curve = ds["curve"].values
        look: dict[str, Any] = {"linewidth": 7} if has_manifold else {"linewidth": THICK, "zorder": OVER}
        ax.plot(*curve.T, color=style.GREY, alpha=0.5, label="equilibrium manifold z*(x)", **look)
    elif has_manifold:
        dots: dict[str, Any] = {"color": style.GREY, "alpha": 0.35, "markersize": 8, "markeredgewidth": 0}
        ax.plot(*one["equilibrium"].values.T, "o", label="equilibria z*(x)", **dots)
    states = one["trajectory"].values
    if has_manifold:
        _draw_ernn(ds, name, ax, artist)
    else:
        line: dict[str, Any] = {"color": style.BLUE, "linewidth": 0.5, "marker": ".", "markersize": 2} | artist
        ax.plot(*states.T, label="state h of RNN, FastRNN", **line)
    begin: dict[str, Any] = {"markersize": 14, "markerfacecolor": "none", "color": style.BLACK, "markeredgewidth": 1.5}
    begin |= {"linestyle": "none", "zorder": 7}  # a ring, in which the end of the iteration is seen
    stays = name == ds["network"].values[0] and has_manifold and not _moves(ds, name)
    also = "; step 1 ends within this ring" if stays else ""
    ax.plot(*states[0], marker="o", label=f"initial state h₀{also}", **begin)
    title = FORMS.get(name, name.upper() if len(name) < 6 else name)
    first, second = _axis_names(ds, has_manifold)
    ax.set(title=_title(ds, name, title), ylabel=second)
    if ds[schema.STATE].values[0] == 0:
        ax.set_xlabel(STEP)
        return ax
    ax.set(xlabel=first)
    moved = np.concatenate([states, *(one[part].values for part in ("pair_sum",) if has_manifold)])
    if len(_ernns(ds)) == ds.sizes["network"] == 1:  # nothing beside it whose shape it is compared with
        _frame(ax, moved, one["equilibrium"].values)
        return ax
    seen = [moved, ds["curve"].values if "curve" in ds else one["equilibrium"].values]
    sizes = np.abs(np.concatenate(seen))
    reach = MARGIN * (float(sizes.max(where=np.isfinite(sizes), initial=0.0)) or 1.0)  # or it never left 0
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    return ax


def _axis_names(ds: xr.Dataset, has_manifold: bool) -> tuple[str, str]:
    """Of both axes, which in an ERNN's panel are those of its state and of the sum that lies on the manifold."""
    first, second = ds[schema.STATE].values
    if not has_manifold:
        return f"state h{subscript(first)}", f"state h{subscript(second)}"
    whose = f"$h_k$ or $h_k {_sign(ds)} h_{{k-1}}$: "
    return f"{whose}entry {first}", f"{whose}entry {second}"


def _sign(ds: xr.Dataset) -> str:
    return "+" if schema.settings(ds)["sign"] == 1 else "-"


def _frame(ax: Axes, moved: Real, equilibria: Real) -> None:
    """Limits that hold where the network moves and most equilibria; in the title how many of these lie outside."""
    outside = np.zeros(len(equilibria), dtype=bool)
    known = equilibria[np.isfinite(equilibria).all(axis=1)]
    for axis, name in enumerate("xy"):
        own = moved[:, axis][np.isfinite(moved[:, axis])]
        most = np.quantile(known[:, axis], [1 - MOST, MOST]) if len(known) else own
        low, high = min(own.min(), most.min()), max(own.max(), most.max())
        room = (MARGIN - 1) * ((high - low) or 1.0)
        ax.set(**{f"{name}lim": (low - room, high + room)})
        outside |= (equilibria[:, axis] < low - room) | (equilibria[:, axis] > high + room)
    at_0 = int((np.abs(known) < SEEN * np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])).all(axis=1).sum())
    said = [f"{at_0} are 0 in both entries"] * (at_0 > 1) + [f"{outside.sum()} lie outside"] * bool(outside.any())
    if said:
        ax.set_title(f"{ax.get_title(loc='left')}; of {len(known)} equilibria {joined(said)}")


def _moves(ds: xr.Dataset, name: str) -> bool:
    """Whether the inner iteration of the first step is seen to leave the ring around the initial state."""
    states = ds["trajectory"].sel(network=name).values[SAMPLE]
    ways = [np.abs(each - states[0]) for each in (ds["inner_path"].values[SAMPLE], states)]
    own, whole = (way.max(initial=0.0, where=np.isfinite(way)) for way in ways)
    return bool(own > WITHIN_RING * whole)


def _draw_ernn(ds: xr.Dataset, name: str, ax: Axes, artist: dict[str, Any]) -> None:
    sign, one = _sign(ds), ds.sel(network=name).isel(sample=SAMPLE)
    ax.plot(*one["trajectory"].values.T, ".", color=style.ORANGE, markersize=2, label="state h of ERNN")
    colour, several = _colours(ds)[name], len(_ernns(ds)) > 1
    moving: dict[str, Any] = {"color": colour, "linestyle": "none", "marker": ".", "markersize": 4} | artist
    whose = f" of K = {schema.settings(ds)['inner'][name][0]}" if several else ""
    ax.plot(
        *one["pair_sum"].values[1:].T,
        label=f"$h_k {sign} h_{{k-1}}${whose}",
        **moving,
    )
    if name != ds["network"].values[0] or not _moves(ds, name):
        return
    path = ds["inner_path"].values[SAMPLE]
    ax.plot(*path.T, color=style.BLACK, linewidth=1, marker="o", markersize=2.5, label="inner iteration of step 1")
    end: dict[str, Any] = {"markersize": 9, "color": style.BLACK, "markeredgecolor": "white", "zorder": 8}
    arrived = float(one["distance"][1]) < ARRIVED
    ax.plot(*path[-1], "X", label="end of that iteration" + (", z*(x₁)" if arrived else ""), **end)


def _draw_distance(ds: xr.Dataset, ax: Axes) -> dict[str, Any]:
    """Draw it over the steps, and return the legend's entry for those at which no equilibrium was found."""
    times, entry = ds[schema.TIME].values, {}
    for row, (name, colour) in enumerate(_colours(ds).items()):
        distance = np.maximum(ds["distance"].sel(network=name).isel(sample=SAMPLE).values[1:], SMALLEST)
        look: dict[str, Any] = {"color": colour, "linewidth": 0.9, "label": _title(ds, name, "ERNN")}
        look |= {"marker": "."} if np.isnan(distance).any() else {}  # one between two gaps has no line
        ax.semilogy(times[1:], distance, **look)
        style.plain_numbers(ax)
        if len(missing := times[1:][np.isnan(distance)]) and np.isfinite(distance).any():
            ticks: dict[str, Any] = {"color": colour, "marker": "|", "markersize": 7, "linestyle": "none"}
            low = np.full(len(missing), 0.02 + 0.03 * row)
            (drawn,) = ax.plot(missing, low, transform=ax.get_xaxis_transform(), **ticks)
            entry = {"step at which z*(x) was not found": drawn}
    if not np.isfinite(ds["distance"].isel(sample=SAMPLE).values).any():
        ax.set_yticks([], [])
        ax.yaxis.set_minor_locator(NullLocator())
        style.say(ax, "no equilibrium was found")
    elif np.nanmin(ds["distance"].isel(sample=SAMPLE).values[:, 1:]) < NEAR_ROUNDING:
        ax.axhline(ROUNDING, color=style.BLACK, linestyle=":", linewidth=1)
        where: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
        ax.annotate("rounding", (0.01, ROUNDING), (0, 4), fontsize=ax.xaxis.label.get_fontsize(), **where)
    ax.set(xlim=(times[0], times[-1] + 0.5), xlabel=STEP)
    ax.set_ylabel(f"distance of $h_k {_sign(ds)} h_{{k-1}}$\nfrom $z^*(x_k)$, over all entries")
    if len(_ernns(ds)) > 1:
        ax.legend(loc="center right")
    return entry


def _colours(ds: xr.Dataset) -> dict[str, str]:
    """Of each ERNN, in all panels."""
    return dict(zip(_ernns(ds), itertools.cycle((style.GREEN, style.PURPLE, style.SKY, style.BLACK)), strict=False))


def _ernns(ds: xr.Dataset) -> list[str]:
    """The networks that have a manifold."""
    has = np.isfinite(ds["pair_sum"].values).any(axis=(1, 2, 3))
    return [str(name) for name in ds["network"].values[has]]


def _title(ds: xr.Dataset, name: str, title: str) -> str:
    if name in _ernns(ds):
        steps, eta = schema.settings(ds)["inner"][name]
        return f"ERNN, K = {steps}, η = {eta:.3g}"
    return title
