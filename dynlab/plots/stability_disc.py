"""Eigenvalues in the complex plane beside the disc in which they must lie."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.plots.phase_portrait import marker

NEAR = 0.06  # an eigenvalue this near to the circle is on neither side of it to the eye: it needs a closer look
SIDES = {1: "stable", 0: "unstable", -1: "neutral or undecided"}
ROUNDING = 1e-15  # of a multiplier of modulus 1
CLOSE_UP, ROOM = 1.3, 0.12  # the close-up reaches so far beyond the eigenvalue; around a whole disc


@layout.picture("Eigenvalues", (4.6, 4.2), needs=["equilibrium"], legend=False)
def plot_stability_disc(ds: xr.Dataset, ax: Axes, *, close_up: bool = False, **artist: Any) -> None:
    """Draw ελ beside Euler's disc |1 + ελ| ≤ 1, with its path as ε grows; a map's multipliers beside |μ| ≤ 1.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.phase_plane`; for a flow alone the disc is that of its critical step.
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
    values, stable = (ds[f"{'map' if is_map else 'flow'}_{name}"].values for name in ("eigenvalue", "stable"))
    values = values - 1 if is_flow and is_map else values
    centre, radius, title = _disc(ds, is_flow, is_map)
    if radius is None:
        ax.axvspan(-1e6, 0.0, facecolor=style.SHADED)
    else:
        ax.add_patch(
            Circle(
                (centre, 0.0),
                radius,
                label="|1 + ελ| ≤ 1" if is_flow else "|μ| ≤ 1",
                facecolor=style.SHADED,
                edgecolor=style.BLUE,
                linewidth=1.2,
            )
        )
    style.cross(ax)
    if is_flow and is_map:
        _draw_rays(ds, ax)
    for value, decided in zip(values.flat, np.repeat(stable, values.shape[-1]).tolist(), strict=True):
        side = _side(value, decided, is_map, centre)
        options = marker(side, 6.5) | {"label": style.once(ax, SIDES[side]) or ""} | artist
        ax.plot(value.real, value.imag, linestyle="none", zorder=5, **options)
    symbol = "ελ" if is_flow and is_map else "λ (1/s)" if is_flow else "μ"
    ax.set(xlabel=f"Re {symbol}", ylabel=f"Im {symbol}", title="Close-up, stretched" if close_up else title)
    if close_up:  # the upper half, where the circle through 0 lies at Re = −Im²/2 or so
        top = float(values.imag.max()) * CLOSE_UP
        left = min(float(values.real.min()), -(top**2) / 2) * CLOSE_UP
        ax.set(xlim=(left, max(0.0, float(values.real.max())) * CLOSE_UP - 0.25 * left), ylim=(0, top))
        ax.locator_params(axis="x", nbins=3)  # of many digits
        return
    reach = radius or float(np.abs(values).max(initial=1.0))
    low, high = float(values.real.min(initial=centre - reach)), float(values.real.max(initial=centre + reach))
    tall = float(np.abs(values.imag).max(initial=reach))
    pad = ROOM * max(high - low, 2 * tall)
    ax.set(xlim=(low - pad, high + pad), ylim=(-tall - pad, tall + pad), aspect="equal")


def needs_close_up(ds: xr.Dataset) -> bool:
    """Return True if a complex multiplier is too near to the unit circle for the whole disc to show its side."""
    if "map_eigenvalue" not in ds or "flow_kind" not in ds:
        return False
    values = ds["map_eigenvalue"].values
    return bool(((np.abs(np.abs(values) - 1) < NEAR) & (np.abs(values.imag) > NEAR)).any())


def _disc(ds: xr.Dataset, is_flow: bool, is_map: bool) -> tuple[float, float | None, str]:
    """Return the centre and radius of the region (None: the left half-plane), and what is beside it."""
    if is_flow and is_map:
        return -1.0, 1.0, f"ελ at ε = {schema.settings(ds)['step_size']:.3g} s"
    if is_map:
        return 0.0, 1.0, "Multipliers μ"
    steps = ds["critical_step"].values
    steps = steps[np.isfinite(steps) & (steps > 0)]
    if not len(steps):
        return 0.0, None, "Eigenvalues λ and Re λ ≤ 0"
    return -1 / float(steps.min()), 1 / float(steps.min()), f"λ; ε = {steps.min():.3g} s is critical"


def _side(value: complex, stable: int, is_map: bool, centre: float) -> int:
    """1 inside, 0 outside, −1 undecided: of an unstable point's eigenvalues each by itself."""
    if stable != 0:
        return stable
    beyond = abs(value - centre) - 1 if is_map else value.real
    return -1 if abs(beyond) <= is_map * ROUNDING else int(beyond < 0)  # as along a line of equilibria


def _draw_rays(ds: xr.Dataset, ax: Axes) -> None:
    """Draw each ray from 0 (ε = 0) to ελ, and the point on the circle at the critical step."""
    steps = ds["critical_step"].values
    moved, critical = ds["map_eigenvalue"].values - 1, steps[:, None] * ds["flow_eigenvalue"].values
    on_circle = critical[(steps[:, None] > 0) & (np.abs(np.abs(1 + critical) - 1) < 1e-9)]
    for number, value in enumerate([*moved.flat, *on_circle]):
        ax.plot(
            [0, value.real],
            [0, value.imag],
            label="" if number else "ελ as ε grows",
            color=style.GREY,
            linewidth=0.9,
            zorder=3,
        )
    words = f"critical step {steps[0]:.3g} s" if len(steps) == 1 else "critical steps"
    if len(on_circle):
        ax.plot(
            on_circle.real,
            on_circle.imag,
            marker="X",
            label=words,
            ms=7,
            color=style.BLACK,
            mec=style.GROUND,
            zorder=6,
            ls="none",
        )
