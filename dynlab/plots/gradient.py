"""How small changes survive a sequence: the gradient's way back, and the singular values of the end-to-end Jacobian."""

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, MultipleLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import READABLE, joined, number

SIZE = (7.2, 4.0)  # inches
STATE = r"$\ln\,\|\partial h_T/\partial h_t\|_2$"
FACTOR = r"$\|\partial h_T/\partial h_t\|_2$"
LOSS = r"$\ln\,\|\partial L/\partial h_t\|_2$ of the loss L"
SURVIVES = 0.1  # a direction survives where its singular value is at least this
FLOOR = float(np.log(np.finfo(float).eps))  # ln σ below which a direction adds nothing to a number of size 1
LEAST = 0.1  # of ln: the axis shows this much on both sides of 0, so that what keeps its size is seen to keep it
TEN = float(np.log(10))
MOST_POWERS = 12  # of ten along the right axis
ROOM, DEEP = 1.25, 2.0  # times that the axis ends below what it must show, and times that a lower end is cut there
BANDS = ((0.0, 1.0, "#D6E6F2", "all σ that rounding leaves known"), (0.25, 0.75, "#9CC3DF", "middle half of them"))


def plot_gradient(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The natural logarithm of ‖∂h_T/∂h_t‖₂ over t, and of ‖∂L/∂h_t‖₂ where there is a loss.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.gradient`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    schema.check(ds, needs=["log_norm"])
    if ax is None:
        return style.panels(ds, [(plot_gradient, artist)], SIZE, "Gradient")
    last = int(ds[schema.TIME].values[-1])
    has_loss = "log_loss_gradient" in ds
    one = f"{FACTOR} = 1: neither shrinks nor grows" if has_loss else "neither shrinks nor grows"
    ax.axhline(0, color=style.BLACK, linewidth=1, linestyle=":", zorder=1, label=one)
    draw_samples(ds["log_norm"], ax, style.BLUE, STATE if has_loss else "", **artist)
    if has_loss:
        draw_samples(ds["log_loss_gradient"], ax, style.VERMILION, LOSS, "--", **artist)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ylabel = "ln of the norm" if has_loss else STATE
    low, high = ax.get_ylim()
    ends = min(low, -LEAST), max(high, LEAST)
    ax.set(xlim=(0, last), ylim=ends, xlabel=style.label(ds[schema.TIME]), ylabel=ylabel)
    factors = ax.secondary_yaxis("right", ylabel="the norm itself" if has_loss else FACTOR)
    wide = ends[1] - ends[0] > READABLE
    if wide:  # at whole powers of ten, which do not lie beside the numbers on the left
        decades = MaxNLocator(MOST_POWERS, integer=True, steps=[1, 2, 5, 10]).tick_values(*np.divide(ends, TEN))
        factors.yaxis.set_major_locator(MultipleLocator(TEN * float(decades[1] - decades[0])))
    factors.yaxis.set_major_formatter(
        lambda exponent, _: _as_factor(exponent, wide) if ends[0] <= exponent <= ends[1] else ""
    )
    ax.set_title(f"← From T = {last:,} back to each earlier t")
    style.legend_below(ax, 3)
    return ax


def plot_end_to_end(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The logarithms of the singular values of ∂h_t/∂h_0 over t, and of the eigenvalues' mean modulus.

    Medians over the samples; bands hold all resolved singular values, and the middle half of them.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.end_to_end`.
    ax : Axes, optional
    **artist
        For the line of the largest singular value.
    """
    schema.check(ds, needs=["log_singular_value", "log_mean_modulus", "resolved"])
    if ax is None:
        return style.panels(ds, [(plot_end_to_end, artist)], SIZE, "End-to-end Jacobian")
    times = ds[schema.TIME].values
    values = ds["log_singular_value"].where(np.isfinite(ds["log_singular_value"])).median(schema.SAMPLE)
    mark = "." if len(times) == 1 else None
    known = values.notnull().any(schema.MODE).values
    for low, high, colour, name in BANDS:
        if not known.any():
            break
        edges = values.isel({schema.TIME: known}).quantile([low, high], schema.MODE)
        ax.fill_between(times[known], edges.values[0], edges.values[1], color=colour, linewidth=0, label=name)
    options: dict[str, Any] = {"color": style.BLUE, "linewidth": 2.2, "marker": mark, "label": "largest σ"} | artist
    ax.plot(times, values.isel(mode=0), **options)
    ax.plot(times, values.median(schema.MODE), color=style.BLUE, marker=mark, linewidth=1, label="median σ")
    modulus = ds["log_mean_modulus"].median(schema.SAMPLE)
    ax.plot(times, modulus, color=style.VERMILION, linestyle="--", marker=mark, label="mean modulus of the eigenvalues")
    ax.axhline(np.log(SURVIVES), color=style.BLACK, linestyle=":", linewidth=1, label=f"σ = {SURVIVES}: survives above")
    ax.axhline(0, color=style.FAINT, linewidth=0.8, zorder=0)
    if known.any():
        _cut(ax, values, modulus)
    else:
        vanish = bool(np.isneginf(ds["log_singular_value"].values).any())
        style.say(ax, "every σ is 0" if vanish else "no σ is known")
        ax.set_xlim(0, max(1, times[-1]))
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=r"$\ln\,\sigma_i$ of $\partial h_t/\partial h_0$")
    ax.set_title(_title(ds))
    style.legend_below(ax, 3)
    return ax


def _as_factor(exponent: float, wide: bool) -> str:
    """A power of e as a number: "0.951", or of an axis that is wide as a whole power of ten: "10^−13"."""
    if not wide:
        return number(math.exp(exponent), 3)
    power = round(exponent / TEN)
    return f"$10^{{{power}}}$" if power else "1"


def _cut(ax: Axes, values: xr.DataArray, modulus: xr.DataArray) -> None:
    """End the axis where σ is rounding beside 1, unless the largest σ is smaller, and say what lies below."""
    largest, middle, smallest = values.isel(mode=0), values.median(schema.MODE), values.min(schema.MODE)
    shown = np.append(largest.values, modulus.values)
    bottom = ROOM * min(FLOOR, float(shown[np.isfinite(shown)].min(initial=0.0)))
    if float(smallest.min()) >= DEEP * bottom:
        return
    low = {"median σ": float(middle.min()), "smallest σ": float(smallest.min())}
    named = [f"the {name} at e^{value:,.0f}".replace("-", "−") for name, value in low.items() if value < bottom]
    top = max(0.0, float(largest.max()))
    ax.set_ylim(bottom, top - 0.05 * (bottom - top))
    words = style.subscripts(f"↓ cut off: {joined(named)}")
    ax.text(0.99, 0.02, words, transform=ax.transAxes, ha="right", va="bottom", zorder=5, bbox=style.ground(ax))


def _title(ds: xr.Dataset) -> str:
    samples, modes = ds.sizes[schema.SAMPLE], ds.sizes[schema.MODE]
    resolved = int(ds["resolved"].values[:, -1].min())
    text = f"Median of {samples} samples" if samples > 1 else "One sample"
    return text + (f"; rounding leaves {resolved} of {modes} σ at the end" if resolved < modes else "")


def draw_samples(
    values: xr.DataArray, ax: Axes, colour: str, name: str = "", linestyle: str = "-", **artist: Any
) -> None:
    """Each sample as a thin line, and their median as a thick one; `name` says in the legend what they are.

    Parameters
    ----------
    values : DataArray, dims (sample, time)
    """
    samples = values.sizes[schema.SAMPLE]
    times = values[schema.TIME].values
    prefix = f"{name}, " if name else ""
    alone: dict[str, Any] = {"marker": "o", "markersize": 4} if len(times) == 1 else {}  # a line of one point is none
    artist = {"color": colour, "linestyle": linestyle} | alone | artist
    if samples == 1:
        options: dict[str, Any] = {"linewidth": 1.8, "label": name or "one sample"} | artist
        ax.plot(times, values.values[0], **options)
        return
    for index, sample in enumerate(values.transpose(schema.SAMPLE, schema.TIME).values):
        thin: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.45, "linestyle": "-"} | artist
        ax.plot(times, sample, label=f"{prefix}each of {samples} samples" if index == 0 else None, **thin)
    median = values.median(schema.SAMPLE, skipna=True)
    thick: dict[str, Any] = {"linewidth": 2.2, "zorder": 4} | artist
    ax.plot(times, median.values, label=f"{prefix}median of the samples", **thick)
