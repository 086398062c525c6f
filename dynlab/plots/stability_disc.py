"""Eigenvalues in the complex plane beside the disc in which they must lie."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.phase_portrait import marker

SIZE = (4.6, 4.2)  # inches
NEAR = 0.06  # an eigenvalue this near to the circle is on neither side of it to the eye: it needs a closer look
DISC = "Euler's disc:\n|1 + ελ| ≤ 1"
SIDES = {1: "stable", 0: "unstable", -1: "neutral or undecided"}
ROUNDING = 1e-15  # of a multiplier of modulus 1
CLOSE_UP = 1.3  # the close-up reaches so far beyond the eigenvalue


def plot_stability_disc(ds: xr.Dataset, *, ax: Axes | None = None, close_up: bool = False, **artist: Any) -> Axes:
    """ελ beside Euler's disc |1 + ελ| ≤ 1, with the way that each takes as ε grows; a map's multipliers beside |μ| ≤ 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.phase_plane`; for a flow alone the disc is that of its critical step.
    ax : Axes, optional
    close_up : bool
        Only the neighbourhood of the eigenvalues with the largest positive imaginary part, the real axis stretched.
    **artist
        For the eigenvalues' markers.

    Notes
    -----
    What is drawn has labels; in axes of your own the legend's place is yours.
    """
    is_flow, is_map = "flow_kind" in ds, "map_kind" in ds
    schema.check(ds, needs=["flow_eigenvalue" if is_flow else "map_eigenvalue"])
    if ax is None:
        return style.panels(ds, [(_with_legend, artist)], SIZE, "Eigenvalues")
    values, stable, centre, radius = _values(ds, is_flow, is_map)
    if radius is not None:
        look: dict[str, Any] = {"facecolor": style.SHADED, "edgecolor": style.BLUE, "linewidth": 1.2}
        ax.add_patch(Circle((centre, 0.0), radius, label=DISC if is_flow and values.size else "", **look))
    else:
        ax.axvspan(-1e6, 0.0, facecolor=style.SHADED)
    style.cross(ax)
    if is_flow and is_map:
        _draw_rays(ds, ax, close_up or not needs_close_up(ds))  # the whole disc would show them on top of ελ
    pairs = zip(values, stable, strict=True)
    sides = [_side(value, int(decided), is_map, centre) for row, decided in pairs for value in row]
    for place, (value, side) in enumerate(zip(values.flat, sides, strict=True)):
        options = marker(side, 6.5) | {"label": SIDES[side] if side not in sides[:place] else ""} | artist
        ax.plot(value.real, value.imag, linestyle="none", zorder=5, **options)
    symbol = "ελ" if is_flow and is_map else "λ (1/s)" if is_flow else "μ"
    ax.set(xlabel=f"Re {symbol}", ylabel=f"Im {symbol}")
    if close_up:
        _show_close_up(ax, values)
    else:
        _show_all(ax, values, centre, radius)
    ax.set_title(_title(ds, is_flow, is_map, close_up))
    return ax


def _with_legend(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    plot_stability_disc(ds, ax=ax, **artist)
    if names_anything(ax):
        style.legend_below(ax, 2)


def names_anything(ax: Axes) -> bool:
    """Whether there is something for a legend: a window may hold no equilibrium."""
    return bool(ax.get_legend_handles_labels()[1])


def needs_close_up(ds: xr.Dataset) -> bool:
    """Whether a complex multiplier lies so near to the unit circle that the whole disc does not show the side."""
    if "map_eigenvalue" not in ds or "flow_kind" not in ds:
        return False
    values = ds["map_eigenvalue"].values
    return bool(((np.abs(np.abs(values) - 1) < NEAR) & (np.abs(values.imag) > NEAR)).any())


def _values(ds: xr.Dataset, is_flow: bool, is_map: bool) -> tuple[np.ndarray, np.ndarray, float, float | None]:
    """What is drawn, which of them are stable, and the disc's centre and radius (None: the left half-plane)."""
    if is_flow and is_map:
        return ds["map_eigenvalue"].values - 1, ds["map_stable"].values, -1.0, 1.0
    if is_map:
        return ds["map_eigenvalue"].values, ds["map_stable"].values, 0.0, 1.0
    steps = ds["critical_step"].values
    steps = steps[np.isfinite(steps) & (steps > 0)]
    radius = 1 / float(steps.min()) if len(steps) else None
    return ds["flow_eigenvalue"].values, ds["flow_stable"].values, -(radius or 0.0), radius


def _side(value: complex, stable: int, is_map: bool, centre: float) -> int:
    """1 inside, 0 outside, −1 undecided: of an unstable point's eigenvalues each by itself."""
    if stable != 0:
        return stable
    beyond = abs(value - centre) - 1 if is_map else value.real
    if abs(beyond) <= is_map * ROUNDING:  # as along a line of equilibria: it tells nothing
        return -1
    return int(beyond < 0)


def _draw_rays(ds: xr.Dataset, ax: Axes, crosses: bool) -> None:
    """From 0 (ε = 0) to ελ, and with `crosses` where the critical step puts it on the circle."""
    ray: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9, "zorder": 3}
    cross: dict[str, Any] = {"markersize": 7, "color": style.BLACK, "markeredgecolor": "white", "zorder": 6}
    moved, steps = ds["map_eigenvalue"].values - 1, ds["critical_step"].values
    named = {"label": "path of ελ as ε grows"}
    for row, rates, critical in zip(moved, ds["flow_eigenvalue"].values, steps, strict=True):
        for value, on_circle in zip(row, critical * rates, strict=True):
            ax.plot([0, value.real], [0, value.imag], **ray | named)
            named = {}
            # farther than the close-up reaches the whole disc shows it beside ελ
            apart = abs(on_circle) > CLOSE_UP * abs(value)
            if (crosses or apart) and critical > 0 and abs(abs(1 + on_circle) - 1) < 1e-9:
                ax.plot([0, on_circle.real], [0, on_circle.imag], **ray)
                ax.plot(on_circle.real, on_circle.imag, "X", **cross)
    if (steps > 0).any():
        ax.plot([], [], "X", **cross, label=f"critical step\n{steps[0]:.3g} s" if len(steps) == 1 else "critical steps")


def _show_close_up(ax: Axes, values: np.ndarray) -> None:
    """The upper half's neighbourhood from 0 to the farthest eigenvalue, the real axis stretched to show the sides."""
    top = float(values.imag.max()) * CLOSE_UP
    # The circle through 0 lies at Re = −Im²/2 or so.
    left = min(float(values.real.min()), -(top**2) / 2) * CLOSE_UP
    right = max(0.0, float(values.real.max())) * CLOSE_UP - 0.25 * left
    ax.set(xlim=(left, right), ylim=(0, top))


def _show_all(ax: Axes, values: np.ndarray, centre: float, radius: float | None) -> None:
    reach = radius if radius is not None else float(np.abs(values).max(initial=1.0))
    low, high = float(values.real.min(initial=centre - reach)), float(values.real.max(initial=centre + reach))
    tall = float(np.abs(values.imag).max(initial=reach))
    pad = 0.12 * max(high - low, 2 * tall)
    ax.set(xlim=(low - pad, high + pad), ylim=(-tall - pad, tall + pad))
    ax.set_aspect("equal", anchor="W")


def _title(ds: xr.Dataset, is_flow: bool, is_map: bool, close_up: bool) -> str:
    """What the points are, and what is shaded."""
    if not is_flow:
        return "Multipliers μ and |μ| ≤ 1"
    critical = ds["critical_step"].values
    if not is_map:
        if len(critical) and np.isfinite(critical).all() and critical.min() > 0:
            return f"λ and Euler's disc at the\ncritical step {critical.min():.3g} s"
        return "Eigenvalues λ and Re λ ≤ 0"
    if close_up:
        return "Close-up, stretched" if (critical > 0).any() else "Close-up: outside for every ε > 0"
    return f"ελ at ε = {schema.settings(ds)['step_size']:.3g} s"
