"""Eigenvalues of the one-step Jacobians: beside the unit circle, as those of a flow, and their radius over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.eigenvalues_over_time import plot_eigenvalues_over_time
from dynlab.plots.gradient import draw_samples
from dynlab.plots.moduli import draw_moduli, hug_the_circle
from dynlab.plots.unit_circle import OWN, draw_circle, window
from dynlab.wording import share

FEW = 500  # points, which are drawn larger
MANY = 5_000  # points, which lie on each other: how many lie in a cell is drawn in their place
DECADE = 10.0  # times: numbers that differ by less have a linear scale
CELLS = 100  # in each direction: in a picture of 800 pixels one is still seen
WHOLE = 1.15  # half the width of the window around the whole unit circle
NEAR_ONE = 0.35  # eigenvalues that are all this near to 1 are shown closer up
ROOM = 1.15  # the window is this much wider than what it shows
LINE = OWN.replace(", ", "\n")  # below the name of an axis
PANEL = (5.0, 4.0)  # inches, of one
SIZE = (9.2, 3.7)  # of two beside each other


def plot_spectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The eigenvalues of ∂h_t/∂h_{t−1} of all samples with the unit circle: coloured by t, or many by their number.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
        Where only these eigenvalues are drawn. Without it a figure is made that also shows the flow's eigenvalues,
        where there are any, all of them over time, and the spectral radius over time. Of a network whose moduli are
        nearly all 1 it shows how far from 1 they are in place of the moduli over time.
    **artist
        For the points.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["eigenvalue", "spectral_radius"])
    if ax is None:
        flow: list[style.Panel] = [(plot_flow_spectrum, artist)] if "flow_eigenvalue" in ds else []
        moduli = draw_moduli if not flow and hug_the_circle(ds) else plot_eigenvalues_over_time
        drawn = [(plot_spectrum, artist), *flow, (moduli, {}), (plot_spectral_radius, {})]
        return style.panels(ds, drawn, (SIZE[0], SIZE[1] * -(-len(drawn) // 2)), "Spectrum")
    (wide, high), near, own = window_of(_shown(ds, "eigenvalue")[0])
    _draw_points(ds, "eigenvalue", ax, (wide[0], wide[1]), (high[0], high[1]), **artist)
    draw_circle(ax)
    ax.set(xlim=wide, ylim=high, aspect="auto" if own else "equal", xlabel="Re μ" + LINE * own, ylabel="Im μ")
    if near:
        ax.add_patch(Circle((0, 0), 1, facecolor=style.SHADED, linewidth=0, zorder=0))
        ax.ticklabel_format(useOffset=False)
        ax.locator_params(nbins=5)
    ax.set_title("Eigenvalues μ near 1, shaded: |μ| ≤ 1" if near else "Eigenvalues μ, unit circle")
    return ax


def plot_flow_spectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The flow's eigenvalues of all samples, coloured by t, with the edge of Euler's disc |1 + ελ| ≤ 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`, of an Euler step.
    ax : Axes, optional
    **artist
        For the points.
    """
    schema.check(ds, needs=["flow_eigenvalue"])
    if ax is None:
        return style.panels(ds, [(plot_flow_spectrum, artist)], PANEL, "Spectrum of the flow")
    values, _ = _shown(ds, "flow_eigenvalue")
    step_size = float(schema.settings(ds)["step_size"])
    look: dict[str, Any] = {"facecolor": style.SHADED, "edgecolor": style.GREY, "linewidth": 0.8, "zorder": 0}
    ax.add_patch(Circle((-1 / step_size, 0), 1 / step_size, **look))
    limits, own = window(values, 0.0)
    _draw_points(ds, "flow_eigenvalue", ax, (limits[0, 0], limits[0, 1]), (limits[1, 0], limits[1, 1]), **artist)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="auto" if own else "equal", ylabel="Im λ (1/s)")
    ax.set_xlabel("Re λ (1/s)" + LINE * own)
    ax.set_title("The flow's λ, shaded: |1 + ελ| ≤ 1")
    return ax


def plot_spectral_radius(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The spectral radius of each sample over time, their median, and 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    schema.check(ds, needs=["spectral_radius"])
    if ax is None:
        return style.panels(ds, [(plot_spectral_radius, artist)], PANEL, "Spectral radius")
    ax.axhline(1, color=style.BLACK, linewidth=1, linestyle="--", zorder=1, label="|μ| = 1")
    known = schema.known(ds, "spectral_radius")
    draw_samples(ds["spectral_radius"].where(known), ax, colour=style.BLUE, **artist)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel="spectral radius")
    where = "" if known.all() else f", known at {share(float(known.mean()))}"
    ax.set_title(rf"Spectral radius of $\partial h_t/\partial h_{{t-1}}${where}")
    if not known.any():
        style.say(ax, "none is known")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.ticklabel_format(axis="y", useOffset=False)
    style.legend_below(ax, 3)
    return ax


def _shown(ds: xr.Dataset, name: str) -> tuple[NDArray[np.complex128], NDArray[Any]]:
    """The values of a variable (sample, time, mode) where the radius is known, and their steps."""
    values = ds[name].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    shown = np.isfinite(values) & schema.known(ds, "spectral_radius").values[..., None]
    return values[shown], np.broadcast_to(ds[schema.TIME].values[:, None], values.shape)[shown]


def _draw_points(
    ds: xr.Dataset, name: str, ax: Axes, wide: tuple[float, float], high: tuple[float, float], **artist: Any
) -> None:
    """A variable with the axes through 0: coloured by t, or of many values how many lie in each cell of the window."""
    values, steps = _shown(ds, name)
    style.cross(ax)
    if len(values) > MANY and not artist:
        look: dict[str, Any] = {"cmin": 1, "cmap": style.COUNT, "norm": LogNorm(), "rasterized": True}
        found = ax.hist2d(values.real, values.imag, bins=CELLS, range=(wide, high), **look)[3]
        counts = np.asarray(found.get_array(), dtype=float)
        counts = counts[counts >= 1]  # of empty cells it is no number
        ticks = None
        if counts.max() < DECADE * counts.min():  # a logarithmic scale would have no power of ten
            found.set_norm(Normalize(0, counts.max()))
            ticks = MaxNLocator(5, integer=True)
        _name(ax.figure.colorbar(found, ax=ax, shrink=0.65, pad=0.02, ticks=ticks), "number\nin a cell")
        return
    # Mixed, so that late points do not hide the early ones under them; the same way each time.
    order = np.random.default_rng(0).permutation(len(values))
    times = ds[schema.TIME].values
    options: dict[str, Any] = {
        "c": steps[order],
        "s": 3 if len(values) > FEW else 14,
        "cmap": style.TIME,
        "norm": Normalize(times[0] - 0.5, times[-1] + 0.5),  # half a step, for a single one
        "linewidths": 0,
        "rasterized": True,  # thousands of points
        "zorder": 2,
    }
    drawn = ax.scatter(values[order].real, values[order].imag, **options | artist)
    places = MaxNLocator(7, integer=True, min_n_ticks=1).tick_values(times[0], times[-1])
    ticks = places[(places >= times[0]) & (places <= times[-1])]
    _name(ax.figure.colorbar(drawn, ax=ax, shrink=0.75, pad=0.02, ticks=ticks), style.label(ds[schema.TIME]))


def _name(bar: Colorbar, words: str) -> None:
    """Above a scale of colours: beside it the words would stand next to those of the axis at its right."""
    bar.ax.set_title(words, fontsize="medium", pad=rcParams["font.size"])  # its last number reaches beyond it


def window_of(values: NDArray[np.complex128]) -> tuple[NDArray[np.float64], bool, bool]:
    """The limits of the window, shape (axis, end), whether it is one near 1, and whether each axis has its own scale.

    It is around the whole circle, or around what lies near 1.
    """
    if values.size and float(np.abs(values - 1).max()) < NEAR_ONE:
        limits, own = window(values)
        return limits, True, own
    half = max(WHOLE, ROOM * float(np.abs([values.real, values.imag]).max(initial=0)))
    return np.array([[-half, half], [-half, half]]), False, False
