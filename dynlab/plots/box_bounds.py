"""Proved bounds over a box of states, and what sampled states show below them."""

import textwrap
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import at_most, number

SIZE = (7.6, 5.8)  # inches
HEIGHTS = 20  # the seed of heights that keep dots apart: another than that of the states that the dots are of
PROVED = style.BLUE  # the norm, and the bound, which is proved of it
FAR = 2.0  # times what is sampled: a bound farther off is an arrow
SPREAD = 0.22  # half the height of a row of dots
APART = 5  # points from a line to its words
WIDE, ROOM = 0.35, 0.4  # of the axis: words fit between two lines, and beside the last of them
BASIS = "T: one fixed change of basis"
# (sampled of the norm, sampled of the eigenvalues, proved bound, the border between growth and decay)
NORM = ("sampled_norm", "sampled_spectral_radius", "norm_bound", 1.0)
RATE = ("sampled_logarithmic_norm", "sampled_abscissa", "abscissa_bound", 0.0)  # of a flow, whose border is 0
STEP_RATE = (*RATE[:3], 1.0)
WORDS = {NORM: "1: contracts below", RATE: "0: decays below", STEP_RATE: "1: below, one fixed point at most"}


def plot_box_bounds(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The common norm and the spectral radius at sampled states, the proved bound, and the border of contraction.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.box_bounds`.
    ax : Axes, optional
        Where only the norm is drawn. Without it a figure is made that also shows real parts, with the verdict above.
    **artist
        For the dots.

    Returns
    -------
    Axes
        Of the norm.
    """
    schema.check(ds, needs=[*NORM[:3], *RATE[:3], "box_lower", "box_upper"])
    if ax is None:
        units = ds["abscissa_bound"].attrs["units"]
        of_step = units == schema.ONE
        whose = "of the step" if of_step else f"of the flow ({units})"
        rates = f"real part of eigenvalues, or logarithmic norm, {whose}"
        names = (
            (NORM, f"modulus or norm of the step's Jacobian; {BASIS}", "Norm and spectral radius of the step"),
            (STEP_RATE if of_step else RATE, rates, "Logarithmic norm and real part"),
        )
        drawn = [
            (_draw_panel, artist | {"names": name, "label": label, "title": title}) for name, label, title in names
        ]
        return style.panels(ds, drawn, SIZE, f"Bounds over {_box(ds)}", below=True)
    return _draw_panel(ds, ax, NORM, f"modulus or norm; {BASIS}", "Norm", **artist)


def _box(ds: xr.Dataset) -> str:
    """The box where all states have the same ends."""
    low, high = (np.unique(ds[name].values) for name in ("box_lower", "box_upper"))
    if len(low) == len(high) == 1:
        return f"the box {number(float(low[0]), 3)} ≤ hᵢ ≤ {number(float(high[0]), 3)}"
    return "a box of states"


def _draw_panel(
    ds: xr.Dataset, ax: Axes, names: tuple[str, str, str, float], label: str, title: str, **artist: Any
) -> Axes:
    *rows, _, border = names
    generator = np.random.default_rng(HEIGHTS)
    for height, (name, colour, marker) in enumerate(zip(rows, (PROVED, style.ORANGE), "os", strict=True)):
        values = ds[name].values
        heights = height + generator.uniform(-SPREAD, SPREAD, len(values))
        look: dict[str, Any] = {"s": 12, "color": colour, "marker": marker, "alpha": 0.6, "linewidths": 0}
        ax.scatter(values, heights, **(look | artist))
    ax.set_yticks([0, 1], [textwrap.fill(ds[name].attrs["long_name"], 18) for name in rows])
    ax.set(ylim=(-0.5, 2.1), xlabel=label, ylabel="sampled states,\nheights at random", title=title)
    ax.margins(x=0.12)
    seen = np.array([border, *(end for name in rows for end in (ds[name].values.min(), ds[name].values.max()))])
    _draw_bounds(ds, ax, names, seen)
    return ax


def _draw_bounds(ds: xr.Dataset, ax: Axes, names: tuple[str, str, str, float], seen: np.ndarray) -> None:
    """The proved bound and the border, with words between the two, or beside them where they are near each other."""
    *_, proved, border = names
    bound, is_norm = float(ds[proved]), names == NORM
    proven = f"proved ≤ {at_most(bound) if np.isfinite(bound) else number(bound)}"
    by = "(by the norm)" if is_norm else "(by the logarithmic norm)"
    far = bound - seen.max() > FAR * np.ptp(seen) or np.isinf(bound)
    between = far or abs(bound - border) > WIDE * np.ptp(np.append(seen, bound))
    before = (bound >= border) == between  # whether the bound's words end at its line
    if far:  # an arrow, so that the dots keep their room
        where: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "ha": "right", "va": "center", "color": PROVED}
        arrow = {"arrowstyle": "->", "color": PROVED, "lw": 1.6}
        ax.annotate(f"{proven}, off the scale\n{by}", (1.0, 1.75), (0.9, 1.75), arrowprops=arrow, **where)
    else:
        ax.axvline(bound, color=PROVED, lw=1.6)
        _write_beside(ax, f"{proven}\n{by}", (bound, 1.75), "right" if before else "left", PROVED)
    ax.axvline(border, color=style.GREY, ls="--", lw=1.0)
    _write_beside(ax, WORDS[names], (border, 1.42), "left" if before else "right", style.GREY)
    if not between:
        low, high = ax.get_xlim()
        ax.set_xlim(low, high + ROOM * (high - low))


def _write_beside(ax: Axes, words: str, at: tuple[float, float], side: str, colour: str) -> None:
    """Words that end, or begin, a little beside a vertical line."""
    away = -APART if side == "right" else APART
    ax.annotate(words, at, (away, 0), textcoords="offset points", ha=side, va="center", color=colour)
