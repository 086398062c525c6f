"""Eigenvalues of the one-step Jacobians: beside the unit circle, as those of a flow, and their radius over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.eigenvalues_over_time import plot_eigenvalues_over_time
from dynlab.plots.gradient import draw_samples
from dynlab.wording import share

FEW = 500  # points, which are drawn larger
WHOLE = 1.15  # half the width of the window around the whole unit circle
NEAR_ONE = 0.35  # eigenvalues that are all this near to 1 are shown closer up
ROOM = 1.15  # the window is this much wider than what it shows
SMALLEST = 1e-6  # half the width of the smallest window
PANEL = (5.0, 4.0)  # inches, of one
SIZE = (9.2, 3.7)  # of two beside each other


def plot_spectrum(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The eigenvalues of ∂h_t/∂h_{t−1} of all samples, coloured by t, with the unit circle.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
        Where only these eigenvalues are drawn. Without it a figure is made that also shows the flow's eigenvalues,
        where there are any, all of them over time, and the spectral radius over time.
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
        drawn = [(plot_spectrum, artist), *flow, (plot_eigenvalues_over_time, {}), (plot_spectral_radius, {})]
        return style.panels(ds, drawn, (SIZE[0], SIZE[1] * -(-len(drawn) // 2)), "Spectrum")
    middle, half = window_of(_draw_points(ds, "eigenvalue", ax, **artist))
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.BLACK, linewidth=1, zorder=3))
    ax.set(xlim=(middle - half, middle + half), ylim=(-half, half), aspect="equal", xlabel="Re μ", ylabel="Im μ")
    ax.set_title(r"Eigenvalues μ of $\partial h_t/\partial h_{t-1}$, unit circle" + (" near 1" if middle else ""))
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
    values = _draw_points(ds, "flow_eigenvalue", ax, **artist)
    step_size = float(schema.settings(ds)["step_size"])
    look: dict[str, Any] = {"facecolor": style.SHADED, "edgecolor": style.BLACK, "linewidth": 1, "zorder": 0}
    ax.add_patch(Circle((-1 / step_size, 0), 1 / step_size, **look))
    # The real parts are often thousands of times smaller than the imaginary ones: each axis has its own scale.
    real = np.append(values.real, 0.0)
    pad = 0.15 * max(SMALLEST, np.ptp(real))
    height = max(SMALLEST, ROOM * float(np.abs(values.imag).max(initial=0)))
    ax.set(xlim=(real.min() - pad, real.max() + pad), ylim=(-height, height), xlabel="Re λ (1/s)", ylabel="Im λ (1/s)")
    ax.set_title(f"The flow's λ; shaded: |1 + ελ| ≤ 1 at ε = {step_size:g}")
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
    ax.axhline(1, color=style.BLACK, linewidth=1, linestyle="--", zorder=1, label="1: neither shrinks nor grows")
    known = schema.known(ds, "spectral_radius")
    draw_samples(ds["spectral_radius"].where(known), ax, colour=style.BLUE, **artist)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel="spectral radius")
    where = "" if known.all() else f", known at {share(float(known.mean()))}"
    ax.set_title(rf"Spectral radius of $\partial h_t/\partial h_{{t-1}}${where}")
    if not known.any():
        style.say(ax, "none is known")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    style.legend_below(ax, 3)
    return ax


def _draw_points(ds: xr.Dataset, name: str, ax: Axes, **artist: Any) -> NDArray[np.complex128]:
    """A variable (sample, time, mode) where the radius is known, drawn with the axes through 0 and a scale of time."""
    values = ds[name].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    steps = ds[schema.TIME].values
    shown = np.isfinite(values) & schema.known(ds, "spectral_radius").values[..., None]
    # Mixed, so that late points do not hide the early ones under them; the same way each time.
    order = np.random.default_rng(0).permutation(int(shown.sum()))
    chosen = np.asarray(values[shown][order])
    options: dict[str, Any] = {
        "c": np.broadcast_to(steps[:, None], values.shape)[shown][order],
        "s": 3 if len(chosen) > FEW else 14,
        "cmap": style.TIME,
        "norm": Normalize(steps[0] - 0.5, steps[-1] + 0.5),  # half a step, for a single one
        "linewidths": 0,
        "rasterized": True,  # tens of thousands of points
        "zorder": 2,
    }
    style.cross(ax)
    found = ax.scatter(chosen.real, chosen.imag, **options | artist)
    ticks = MaxNLocator(7, integer=True, min_n_ticks=1)
    bar = ax.figure.colorbar(found, ax=ax, shrink=0.75, pad=0.02, ticks=ticks)
    # above it: beside it the words would stand next to those of the axis at its right
    bar.ax.set_title(style.label(ds[schema.TIME]), fontsize="medium")
    return chosen


def window_of(values: NDArray[np.complex128]) -> tuple[float, float]:
    """Where on the real axis the window has its middle, and half its width: the whole circle, or what lies near 1."""
    from_one = float(np.abs(values - 1).max()) if values.size else np.inf
    if from_one < NEAR_ONE:
        return 1.0, max(SMALLEST, ROOM * from_one)
    return 0.0, max(WHOLE, ROOM * float(np.abs([values.real, values.imag]).max(initial=0)))
