"""Trajectories beside the equilibrium manifold, and how far an ERNN is from it."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.plots import layout, style
from dynlab.words import subscript

SAMPLE = 0  # the sequence that is drawn
SIZE = (11.0, 6.6)  # inches
MARGIN, MOST = 0.05, 0.9  # around what is seen, and the quantile of the equilibria, which may lie far away
ARRIVED = 1e-6  # the inner iteration's end counts as on the manifold within this distance
SMALLEST, ROUNDING = 1e-17, 2.0**-52  # what has no place on a logarithmic axis; of a state of size 1
MOVES = 0.02  # of where a network moves: a shorter inner iteration is not seen
FORMS = {"rnn": "RNN", "fastrnn": "FastRNN", "ernn": "ERNN"}
SUMS = (style.GREEN, style.PURPLE, style.SKY, style.BLACK)  # the colours of ERNNs


def plot_ernn_manifold(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Draw the ERNN's motion on its manifold; beside it the other networks, and below the distance from the manifold.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.ernn_manifold`. States of more than two dimensions are drawn by the two that vary most.
    ax : Axes, optional
        Axes for the first network, the ERNN, alone. Without it a figure of all is made.
    **artist
        For the trajectories.

    Returns
    -------
    Axes
        The panel of the ERNN.
    """
    schema.check(ds, needs=["trajectory", "pair_sum", "equilibrium", "distance", "inner_path"])
    names = ds["network"].values.tolist()
    spread = ds["trajectory"].isel(network=0, sample=SAMPLE).std(schema.TIME).values
    # many of a ReLU network never leave 0; a single one is drawn over itself
    shown = np.resize(np.sort(np.argsort(-spread, kind="stable")[:2]), 2)
    ds = ds.isel({schema.STATE: shown}).assign_coords({schema.STATE: shown + 1})
    if ax is not None:
        return _draw_network(ds, names[0], ax, artist)
    order = sorted(names, key=lambda name: name in _colours(ds))  # ERNNs last
    with style.style(SIZE):
        figure = plt.figure()
        grid = figure.add_gridspec(2, 1, height_ratios=(1.6, 1.0))
        places = grid[0].subgridspec(1, len(order))
        drawn = {name: _draw_network(ds, name, figure.add_subplot(places[i]), artist) for i, name in enumerate(order)}
        _draw_distance(ds, figure.add_subplot(grid[1]))
        layout.finish(ds, figure, "Equilibrium manifold", style.entries(*drawn.values()))
    return drawn[names[0]]


def _draw_network(ds: xr.Dataset, name: str, ax: Axes, artist: dict[str, Any]) -> Axes:
    one, colour = ds.sel(network=name).isel(sample=SAMPLE), _colours(ds).get(name)
    states, seen = one["trajectory"].values, ds["curve"].values if "curve" in ds else one["equilibrium"].values
    moved = states if colour is None else np.concatenate([states, one["pair_sum"].values])
    thick: dict[str, Any] = {"color": style.GREY, "alpha": 0.5, "zorder": 1 if colour else 5}
    if "curve" in ds:
        ax.plot(*seen.T, linewidth=7 if colour else 3, label="equilibrium manifold z*(x)", **thick)
    elif colour:
        ax.plot(*seen.T, marker="o", ls="none", ms=8, mew=0, label="equilibria z*(x)", **thick)
    if colour is None:
        ax.plot(
            *states.T,
            **{"color": style.BLUE, "lw": 0.5, "marker": ".", "ms": 2, "label": "state h of RNN, FastRNN", **artist},
        )
    else:
        ax.plot(*states.T, color=style.ORANGE, ls="none", marker=".", ms=2, label="state h of ERNN")
        _draw_sums(ds, one, name, ax, {"color": colour, "ls": "none", "marker": ".", "ms": 4} | artist)
    ax.plot(
        *states[:1].T,
        marker="o",
        label="initial state h₀",
        ms=14,
        mfc="none",
        color=style.BLACK,
        mew=1.5,
        ls="none",
        zorder=7,
    )
    numbers = ds[schema.STATE].values
    ax.set(title=_title(ds, name), xlabel=f"h{subscript(int(numbers[0]))}", ylabel=f"h{subscript(int(numbers[-1]))}")
    _frame(ax, moved, seen)
    if ds.sizes["network"] > 1:
        ax.set_aspect("equal")
    return ax


def _draw_sums(ds: xr.Dataset, one: xr.Dataset, name: str, ax: Axes, look: dict[str, Any]) -> None:
    """The sums that lie on the manifold where the inner iteration arrives, and how that gets there in step 1."""
    several = f" (K = {schema.settings(ds)['inner'][name][0]})" if len(_colours(ds)) > 1 else ""
    ax.plot(*one["pair_sum"].values[1:].T, label=f"{_pair(ds)}{several}", **look)
    path, states = ds["inner_path"].values[SAMPLE], one["trajectory"].values
    reach = [np.nanmax(np.abs(way - states[0]), initial=0.0) for way in (path, states)]
    if name == ds["network"].values[0] and reach[0] > MOVES * reach[1]:
        ax.plot(*path.T, color=style.BLACK, lw=1, marker="o", ms=2.5, label="inner iteration of step 1")
        arrived = ", z*(x₁)" if float(one["distance"][1]) < ARRIVED else ""
        ax.plot(
            *path[-1:].T,
            marker="X",
            label=f"end of that iteration{arrived}",
            ms=9,
            color=style.BLACK,
            mec=style.GROUND,
            zorder=8,
            ls="none",
        )


def _pair(ds: xr.Dataset) -> str:
    return f"$h_k {'+' if schema.settings(ds)['sign'] == 1 else '-'} h_{{k-1}}$"


def _frame(ax: Axes, moved: Real, equilibria: Real) -> None:
    """Limits that hold where the network moves, and most equilibria."""
    known = equilibria[np.isfinite(equilibria).all(axis=1)]
    for axis, name in enumerate("xy"):
        most = np.quantile(known[:, axis], [1 - MOST, MOST]) if len(known) else np.empty(0)
        ends = np.append(moved[:, axis][np.isfinite(moved[:, axis])], most)
        room = MARGIN * (float(np.ptp(ends)) or 1.0)
        ax.set(**{f"{name}lim": (ends.min() - room, ends.max() + room)})


def _draw_distance(ds: xr.Dataset, ax: Axes) -> None:
    """Draw each ERNN's distance from its manifold over the steps, with ticks where no equilibrium was found."""
    times = ds[schema.TIME].values
    for row, (name, colour) in enumerate(_colours(ds).items()):
        distance = np.maximum(ds["distance"].sel(network=name).isel(sample=SAMPLE).values[1:], SMALLEST)
        missing = np.isnan(distance)
        look: dict[str, Any] = {"color": colour, "lw": 0.9, "marker": "." if missing.any() else None}
        ax.semilogy(times[1:], distance, label=_title(ds, name), **look)
        if missing.any():
            look |= {"marker": "|", "ls": "none", "label": f"z*(x) not found at {missing.sum()} steps"}
            heights = np.full(missing.sum(), 0.02 + 0.03 * row)
            ax.plot(times[1:][missing], heights, transform=ax.get_xaxis_transform(), **look)
    ax.axhline(ROUNDING, color=style.BLACK, ls=":", lw=1, label="rounding")
    ax.set(xlim=(times[0], times[-1] + 0.5), xlabel="step k", ylabel=f"distance of {_pair(ds)}\nfrom $z^*(x_k)$")
    ax.legend(loc="center right")


def _colours(ds: xr.Dataset) -> dict[str, str]:
    """Return the colour of each ERNN, the networks that have a manifold, in all panels."""
    has = np.isfinite(ds["pair_sum"].values).any(axis=(1, 2, 3))
    return dict(zip(map(str, ds["network"].values[has]), itertools.cycle(SUMS), strict=False))


def _title(ds: xr.Dataset, name: str) -> str:
    if name not in _colours(ds):
        return FORMS.get(name, name)
    steps, eta = schema.settings(ds)["inner"][name]
    return f"ERNN, K = {steps}, η = {eta:.3g}"
