"""The region in which an integrator's step is stable, and all that goes with it."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.plots.critical_steps import plot_critical_steps, plot_diffusion_plane
from dynlab.plots.energy import LOOKS
from dynlab.words import capital, interval, number, share

PANEL = (4.9, 4.6)  # inches
MOST_POINTS = 20_000
LARGE = 20.0  # points of this area have room for an edge
HIGHEST = 3.0  # moduli above are drawn as this: a pole is no wall of contours
SIDES = {  # colour, marker and word, so that grey print tells them apart
    0: (style.VERMILION, "X", "|R(ελ)| > 1"),
    -1: (style.GREY, "s", "|R(ελ)| = 1 within its error"),
    1: (style.GREEN, "o", "|R(ελ)| < 1"),
}

WIDTH, ROW = 9.0, 0.62  # inches
ENDS = ("theory_low", "theory_high", "measured_low", "measured_high")
OUTCOMES: dict[str, tuple[str, str]] = {  # colour and sign, so that grey print tells them apart
    "holds": (style.GREEN, "✓"),
    "at the bound": (style.GREEN, "✓"),
    "violated": (style.VERMILION, "✗"),
    "undecided": (style.GREY, "?"),
}
ROOM, HIGH = 0.18, 0.35  # of a row's range on each side, where an interval without an end goes on; of a row, its bar


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    region = "region" in ds
    bounds = ds.sizes[schema.BOUND] > 1 or not region
    drawn: list[layout.Panel] = [
        *[(plot_step_region, artist), (plot_step_region, artist | {"close_up": True})] * region,
        *[(plot_critical_steps, {})] * (region and ds["stable"].size > 1),
        *[(plot_diffusion_plane, {})] * (region and "plane_modulus" in ds),
        *[(plot_theory_bounds, {})] * bounds,
    ]
    size = 2 * PANEL[0], PANEL[1] * ((len(drawn) + 1 + bounds) // 2)
    return layout.panels(ds, drawn, size, "Stability of a step", alone=bounds)


@layout.picture(needs=["theory_low", "theory_high", "outcome"], figure=_figure)
def plot_stability(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the flow's eigenvalues over the region in which the integrator's step is stable.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`.
    ax : Axes, optional
        Axes for that alone; of a system without a flow, theory's bounds. Without it a figure is made that also
        shows a close-up, the critical steps along the sequences, the plane of ε and γ, and theory's bounds where they
        are more than the one of which the verdict tells.
    **artist
        For the eigenvalues' markers.

    Returns
    -------
    Axes
        The panel of the eigenvalues.
    """
    (plot_step_region if "region" in ds else plot_theory_bounds)(ds, ax=ax, **artist)


@layout.picture(
    "Region of stability", PANEL, needs=["region", "region_real", "region_imaginary", "eigenvalue", "step_modulus"]
)
def plot_step_region(ds: xr.Dataset, ax: Axes, *, close_up: bool = False, **artist: Any) -> None:
    """Draw the region |R(z)| ≤ 1 and z = ελ of all states, coloured by whether the step enlarges the mode.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`.
    ax : Axes, optional
    close_up : bool
        The neighbourhood of the eigenvalues, each axis with its own scale, in place of the whole region.
    **artist
        For the points.
    """
    window = ds.isel({schema.WINDOW: int(close_up)})
    x, y = window["region_real"].values, window["region_imaginary"].values
    heights = np.minimum(window["region"].transpose(schema.Y, schema.X).values, HIGHEST)
    ax.contourf(x, y, heights, [-1.0, 1.0], colors=[style.SHADED])
    if heights.min() < 1 < heights.max():
        ax.contour(x, y, heights, [1.0], colors=[style.BLACK], linewidths=1.2)
    style.cross(ax)
    _draw_points(ds, ax, **artist)
    shaded = f"{capital(LOOKS[schema.settings(ds)['integrator']]['label'])}, shaded: |R(ελ)| ≤ 1"
    ax.set(
        xlim=x[[0, -1]],
        ylim=y[[0, -1]],
        aspect="auto" if close_up else "equal",
        xlabel="Re ελ",
        ylabel="Im ελ",
        title="Near 0, each axis on its own scale" if close_up else shaded,
    )
    ax.locator_params(axis="x", nbins=5)
    style.legend_below(ax, 3, markerscale=1.5)


def _draw_points(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the points; of too many, a choice that is the same each time."""
    ds = ds.transpose(schema.SAMPLE, schema.TIME, schema.MODE, ...)
    z = (ds["used_step"] * ds["eigenvalue"]).values
    excess, errors = ds["step_modulus"].values - 1, ds["step_modulus_error"].values
    sides = np.where(excess > errors, 0, np.where(excess <= -errors, 1, -1))
    size = float(np.clip(160 / np.sqrt(max(1, z.size)), 4, 44))
    edge: dict[str, Any] = {"edgecolors": style.BLACK, "linewidths": 0.6} if size > LARGE else {"linewidths": 0}
    for side, (colour, marker, word) in SIDES.items():
        shown = z[np.isfinite(z) & (sides == side)]
        if len(shown):
            seen = np.random.default_rng(0).choice(shown, min(len(shown), MOST_POINTS), replace=False)
            label = f"{word} ({share(len(shown) / np.isfinite(z).sum())})"
            ax.scatter(
                seen.real,
                seen.imag,
                zorder=4 - side,
                label=label,
                **{"color": colour, "marker": marker, "s": size, "rasterized": True, **edge, **artist},
            )


@layout.picture(
    "Theory and measurement",
    lambda ds: (WIDTH, 0.8 + ROW * ds.sizes[schema.BOUND]),
    needs=[*ENDS, "quantity", "outcome"],
)
def plot_theory_bounds(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw a bar for the interval that theory allows and a line for what was measured, every row on its own scale.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`.
    ax : Axes, optional
    **artist
        For the lines of what was measured.
    """
    count = ds.sizes[schema.BOUND]
    for row in range(count):
        one = ds.isel({schema.BOUND: row})
        ends = np.array([float(one[name]) for name in ENDS])
        finite = ends[np.isfinite(ends)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        width = (high - low) or abs(high) or 1.0
        places = np.clip((ends - low + ROOM * width) / ((high - low) + 2 * ROOM * width), 0, 1)
        left, right = places[:2]
        ax.barh(row, max(right - left, 0.005), left=left, height=HIGH, color=style.FAINT, zorder=1)
        ax.plot(
            places[2:],
            [row, row],
            zorder=3,
            **{"color": style.BLUE, "lw": 3, "marker": "|", "ms": 8, "mew": 3, **artist},
        )
        quantity, outcome = str(one["quantity"].values), str(one["outcome"].values)
        colour, sign = OUTCOMES[outcome]
        up_to = "<" if " < " in quantity else "≤"
        words = f"theory {_interval(ends[0], ends[1], up_to)}; measured {_interval(ends[2], ends[3])}"
        ax.text(0, row - HIGH, f"{style.subscripts(quantity)}   {words}", va="center")
        ax.text(1, row - HIGH, f"{sign} {outcome}", va="center", ha="right", color=colour, weight="bold")
    ax.set(
        xlim=(0, 1),
        ylim=(count - 0.6, -0.7),
        xticks=[],
        yticks=[],
        xlabel="each row on its own scale",
        title="Grey: theory allows; blue: measured",
    )


def _interval(low: float, high: float, up_to: str = "≤") -> str:
    """Draw the interval from `low` to `high`, either of which may be infinite."""
    if np.isneginf(low):
        return "none" if np.isposinf(high) else f"{up_to} {number(high)}"
    return f"> {number(low)}" if np.isposinf(high) else interval([low, high], 4)
