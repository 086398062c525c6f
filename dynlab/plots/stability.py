"""What a step makes of a flow: the region in which an integrator's step is stable, and all that goes with it."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.critical_steps import LETTERS, plot_critical_steps, plot_diffusion_plane
from dynlab.plots.energy import LOOKS
from dynlab.plots.theory_bounds import plot_theory_bounds
from dynlab.wording import capital, number, share

PANEL = (4.9, 4.6)  # inches
ROW, FRAME = 0.42, 0.7  # of the table of bounds
MOST_POINTS = 20_000
LARGE = 20.0  # points of this area have room for an edge
FACTORS = {  # R(z), by which a step multiplies a mode
    "euler": "1 + z",
    "midpoint": "1 + z + z²/2",
    "rk4": "1 + z + z²/2 + z³/6 + z⁴/24",
    "implicit-midpoint": "(1 + z/2)/(1 − z/2)",
    "exponential-euler": "$e^z$",
}
HIGHEST = 3.0  # moduli above are drawn as this: a pole is no wall of contours
SIDES = {  # colour, marker and word, so that grey print tells them apart
    0: (style.VERMILION, "X", "|R(ελ)| > 1"),
    -1: (style.GREY, "s", "|R(ελ)| = 1 within its error"),
    1: (style.GREEN, "o", "|R(ελ)| < 1"),
}


def plot_stability(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The flow's eigenvalues over the region in which the integrator's step is stable.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
        Where only that is drawn; of a system without a flow, theory's bounds. Without it a figure is made that also
        shows a close-up, the critical steps along the sequences and the plane of ε and γ. It shows theory's bounds
        where they are more than the one of which the verdict tells.
    **artist
        For the eigenvalues' markers.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["theory_low", "theory_high", "outcome"])
    has_flow = "region" in ds
    if ax is not None:
        return plot_step_region(ds, ax=ax, **artist) if has_flow else plot_theory_bounds(ds, ax=ax, **artist)
    drawn: list[style.Panel] = []
    if has_flow:
        drawn = [(plot_step_region, artist), (plot_step_region, artist | {"close_up": True})]
        drawn += [(plot_critical_steps, {})] * (ds["stable"].size > 1)
        drawn += [(plot_diffusion_plane, {})] * ("plane_modulus" in ds)
    columns = 2
    rows = -(-len(drawn) // columns)
    bounds = ds.sizes[schema.BOUND]
    tables = [FRAME + ROW * bounds] if bounds > 1 or not drawn else []
    with style.style((PANEL[0] * columns, PANEL[1] * rows + sum(tables))) as size:
        figure = plt.figure(figsize=size)
        grid = figure.add_gridspec(rows + len(tables), columns, height_ratios=[*[PANEL[1]] * rows, *tables])
        for index, (draw, options) in enumerate(drawn):
            alone = len(drawn) > 1 and index == len(drawn) - 1 and len(drawn) % columns
            draw(ds, ax=figure.add_subplot(grid[rows - 1, :] if alone else grid[index]), **options)
        if tables:
            table = plot_theory_bounds(ds, ax=figure.add_subplot(grid[rows, :]))
            for text in table.texts:  # its words are wider than the panels' own axes, and would make these narrow
                text.set_in_layout(not drawn)
        style.finish(_with_letters(ds), figure, f"Stability of {_step(ds)}")
    return figure.axes[0]


def _with_letters(ds: xr.Dataset) -> xr.Dataset:
    """The Dataset whose verdict, which the caption has, also says what the letters of a formula are that is drawn."""
    drawn = [name for name in ("mean_slope_step", "formula_step_low") if name in ds and np.isfinite(ds[name]).any()]
    return ds.assign_attrs(verdict=f"{ds.attrs.get('verdict', '')} {LETTERS}".strip()) if drawn else ds


def _step(ds: xr.Dataset) -> str:
    """Whose step it is, and how large where all are alike."""
    if "used_step" not in ds:
        return "the step"
    if "ernn" in ds.attrs["system"]:
        return "a step of the inner iteration, ε = η"
    used = ds["used_step"].values
    size = f", ε = {number(float(used.flat[0]), 4)} s" if np.ptp(used) == 0 else ""
    return f"a step ({LOOKS[schema.settings(ds)['integrator']]['label']}{size})"


def plot_step_region(ds: xr.Dataset, *, ax: Axes | None = None, close_up: bool = False, **artist: Any) -> Axes:
    """Where |R(z)| ≤ 1, and z = ελ of all states, each by whether the step multiplies its mode by more than 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
    close_up : bool
        The neighbourhood of the eigenvalues, each axis with its own scale, in place of the whole region.
    **artist
        For the points.
    """
    schema.check(ds, needs=["region", "region_real", "region_imaginary", "eigenvalue", "step_modulus"])
    if ax is None:
        return style.panels(ds, [(plot_step_region, artist)], (4.6, 4.2), "Region of stability")
    window = ds.isel({schema.WINDOW: int(close_up)})
    x, y = window["region_real"].values, window["region_imaginary"].values
    heights = np.minimum(window["region"].transpose(schema.Y, schema.X).values, HIGHEST)
    ax.contourf(x, y, heights, [-1.0, 1.0], colors=[style.SHADED])
    if heights.min() < 1 < heights.max():
        ax.contour(x, y, heights, [1.0], colors=[style.BLACK], linewidths=1.2)
    style.cross(ax)
    large = _draw_points(ds, ax, **artist)
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]], xlabel="Re ελ", ylabel="Im ελ")
    if close_up:
        ax.locator_params(axis="x", nbins=5)
        ax.set_title("Near 0, each axis on its own scale")
        return ax
    integrator = schema.settings(ds)["integrator"]
    title = f"{capital(LOOKS[integrator]['label'])}: |R(ελ)| ≤ 1 is shaded,\nR(z) = {FACTORS[integrator]}"
    ax.set(aspect="equal", title=title)
    style.legend_below(ax, 3, handletextpad=0.3, columnspacing=1.0, markerscale=1.0 if large else 3.0)
    return ax


def _draw_points(ds: xr.Dataset, ax: Axes, **artist: Any) -> bool:
    """Draw them, and say whether they are large."""
    ds = ds.transpose(schema.SAMPLE, schema.TIME, schema.MODE, ...)
    z = (ds["used_step"] * ds["eigenvalue"]).values
    excess, errors = ds["step_modulus"].values - 1, ds["step_modulus_error"].values
    sides = np.where(excess > errors, 0, np.where(excess <= -errors, 1, -1))
    size = float(np.clip(160 / np.sqrt(max(1, z.size)), 4, 44))
    edge: dict[str, Any] = {"edgecolors": style.BLACK, "linewidths": 0.6} if size > LARGE else {"linewidths": 0}
    for side, (colour, marker, word) in SIDES.items():
        shown = z[np.isfinite(z) & (sides == side)]
        if not len(shown):
            continue
        # the same ones each time where there are too many to see
        seen = shown[np.random.default_rng(0).choice(len(shown), min(len(shown), MOST_POINTS), replace=False)]
        label = word if z.size < 10 else f"{word} ({share(len(shown) / np.isfinite(z).sum())} of the λ)"
        shape = marker if size > LARGE else "o"  # smaller ones are dots to the eye, whatever their shape
        look: dict[str, Any] = {"color": colour, "marker": shape, "s": size, "rasterized": True, "zorder": 4 - side}
        ax.scatter(seen.real, seen.imag, label=label, **look | edge | artist)
    return size > LARGE
