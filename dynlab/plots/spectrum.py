"""Eigenvalues of the one-step Jacobians: beside the unit circle, as those of a flow, and their radius over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style, unit_circle
from dynlab.plots.gradient import BANDS, draw_samples
from dynlab.words import share

FEW, MANY = 500, 5_000  # points, which are drawn larger; of which it is drawn how many lie in a cell of the window
CELLS = 100  # in each direction
WHOLE, ROOM = 1.15, 1.15  # half the width of the window around the whole unit circle; times what is shown
NEAR_ONE = 0.35  # eigenvalues that are all this near to 1 are shown closer up
PANEL = (5.0, 4.0)  # inches, of one
SIZE = (9.6, 8.0)  # of three or four
FEW_MODES = 4  # modes, each of which has its own line; of more bands are drawn
DASHES = ("-", (0, (4, 4)), (4, (2, 6)), (0, (1, 7)))  # of each line, so that those that coincide are all seen


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    flow = [(plot_flow_spectrum, artist)] * ("flow_eigenvalue" in ds)
    over_time: list[layout.Panel] = [(plot_eigenvalues_over_time, {}), (plot_spectral_radius, {})]
    return layout.panels(ds, [(plot_spectrum, artist), *flow, *over_time], SIZE, "Spectrum")


@layout.picture(needs=["eigenvalue", "spectral_radius"], figure=_figure)
def plot_spectrum(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the eigenvalues of ∂h_t/∂h_{t−1} of all samples and the unit circle, coloured by t or by density.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.spectrum`.
    ax : Axes, optional
        Axes for these eigenvalues alone. Without it a figure is made that also shows the flow's eigenvalues,
        where there are any, all of them over time, and the spectral radius over time.
    **artist
        For the points.

    Returns
    -------
    Axes
        The panel of the eigenvalues.
    """
    values = _shown(ds, "eigenvalue")[0]
    unit_circle.draw_circle(ax)
    if values.size and float(np.abs(values - 1).max()) < NEAR_ONE:
        unit_circle.show(ax, values, "μ")
    else:
        half = max(WHOLE, ROOM * float(np.abs([values.real, values.imag]).max(initial=0)))
        ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel="Re μ", ylabel="Im μ")
    _draw_points(ds, "eigenvalue", ax, **artist)
    ax.set_title("Eigenvalues μ and unit circle")


@layout.picture("Spectrum of the flow", PANEL, needs=["flow_eigenvalue"])
def plot_flow_spectrum(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the flow's eigenvalues of all samples, coloured by t, with the edge of Euler's disc |1 + ελ| ≤ 1.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.spectrum`, of an Euler step.
    ax : Axes, optional
    **artist
        For the points.
    """
    step_size = float(schema.settings(ds)["step_size"])
    ax.add_patch(
        Circle(
            (-1 / step_size, 0), 1 / step_size, facecolor=style.SHADED, edgecolor=style.GREY, linewidth=0.8, zorder=0
        )
    )
    unit_circle.show(ax, _shown(ds, "flow_eigenvalue")[0], "λ (1/s)", held=0.0)
    _draw_points(ds, "flow_eigenvalue", ax, **artist)
    ax.set_title("The flow's λ, shaded: |1 + ελ| ≤ 1")


@layout.picture("Eigenvalues over time", PANEL, needs=["eigenvalue", "spectral_radius"])
def plot_eigenvalues_over_time(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw Re λ of a flow, else |μ|, of all modes over time: lines of few modes, bands of many.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.spectrum`.
    ax : Axes, optional
    **artist
        For the lines: each mode's median over the samples where there are at most four modes, else the median of all.
    """
    is_flow = "flow_eigenvalue" in ds
    values = ds["flow_eigenvalue"].real if is_flow else abs(ds["eigenvalue"])
    values = values.where(schema.known(ds, "spectral_radius")).transpose(schema.TIME, schema.SAMPLE, schema.MODE)
    values = values.isel({schema.TIME: np.isfinite(values.values).any(axis=(1, 2))})
    times = values[schema.TIME].values
    line: dict[str, Any] = {"linewidth": 2.0, "marker": "o" if len(times) == 1 else None, "markersize": 4} | artist
    border = "Re λ = 0" if is_flow else "|μ| = 1"
    ax.axhline(float(not is_flow), color=style.BLACK, ls="--", lw=1, zorder=1.5, label=border)
    if ds.sizes[schema.MODE] <= FEW_MODES:
        for mode, one in enumerate(values.median(schema.SAMPLE).values.T):
            name = f"${'λ' if is_flow else 'μ'}_{mode + 1}$"
            ax.plot(times, one, **{"color": style.CYCLE[mode], "ls": DASHES[mode], "label": name} | line)
    else:
        for low, high, colour, name in BANDS:
            edges = values.quantile([low, high], [schema.SAMPLE, schema.MODE]).values
            ax.fill_between(times, *edges, color=colour, linewidth=0, label=f"{name} of the modes")
        middle = values.median([schema.SAMPLE, schema.MODE]).values
        ax.plot(times, middle, **{"color": style.BLUE, "label": "median of the modes"} | line)
    ax.set(
        xlabel=style.label(ds[schema.TIME]),
        ylabel="Re λ (1/s)" if is_flow else "|μ|",
        title="Re λ(t) of the flow" if is_flow else "Moduli |μ(t)|",
    )
    style.whole(ax.xaxis, min_n_ticks=1)


@layout.picture("Spectral radius", PANEL, needs=["spectral_radius"])
def plot_spectral_radius(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the spectral radius of each sample over time, their median, and 1.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.spectrum`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    ax.axhline(1, color=style.BLACK, linewidth=1, linestyle="--", zorder=1, label="|μ| = 1")
    known = schema.known(ds, "spectral_radius")
    draw_samples(ds["spectral_radius"].where(known), ax, colour=style.BLUE, **artist)
    where = "" if known.all() else f", known at {share(float(known.mean()))}"
    ax.set(
        xlabel=style.label(ds[schema.TIME]),
        ylabel="spectral radius",
        title=rf"Spectral radius of $\partial h_t/\partial h_{{t-1}}${where}",
    )
    style.whole(ax.xaxis, min_n_ticks=1)
    ax.ticklabel_format(axis="y", useOffset=False)


def _shown(ds: xr.Dataset, name: str) -> tuple[NDArray[np.complex128], NDArray[Any]]:
    """The values of a variable (sample, time, mode) where the radius is known, and their steps."""
    values = ds[name].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    shown = np.isfinite(values) & schema.known(ds, "spectral_radius").values[..., None]
    return values[shown], np.broadcast_to(ds[schema.TIME].values[:, None], values.shape)[shown]


def _draw_points(ds: xr.Dataset, name: str, ax: Axes, **artist: Any) -> None:
    """A variable with the axes through 0: coloured by t, or of many values how many lie in each cell of the window."""
    values, steps = _shown(ds, name)
    style.cross(ax)
    bar: dict[str, Any] = {"ax": ax, "shrink": 0.8, "pad": 0.02}
    if len(values) > MANY and not artist:
        cells = ax.hist2d(
            values.real,
            values.imag,
            bins=CELLS,
            range=[ax.get_xlim(), ax.get_ylim()],
            zorder=2,
            cmin=1,
            cmap=style.from_ground(),
            norm=LogNorm(),
            rasterized=True,
        )[3]
        ax.figure.colorbar(cells, label="number in a cell", **bar)
        return
    # Mixed, so that late points do not hide the early ones under them; the same way each time.
    order = np.random.default_rng(0).permutation(len(values))
    times = ds[schema.TIME].values
    drawn = ax.scatter(
        values[order].real,
        values[order].imag,
        **{
            "c": steps[order],
            "s": 3 if len(values) > FEW else 14,
            "cmap": style.from_ground(),
            "norm": Normalize(times[0] - 0.5, times[-1] + 0.5),  # half a step, for a single one
            "linewidths": 0,
            "rasterized": True,  # thousands of points
            "zorder": 2,
            **artist,
        },
    )
    ax.figure.colorbar(drawn, label=style.label(ds[schema.TIME]), ticks=MaxNLocator(5, integer=True), **bar)
