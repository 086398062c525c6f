"""The gradient back through a sequence, and the singular values of its end-to-end Jacobian."""

import math
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, MultipleLocator

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import READABLE, counted, number

SIZE = (7.2, 4.2)  # inches
STATE = r"$\ln\,\|\partial h_T/\partial h_t\|_2$"
LOSS = r"$\ln\,\|\partial L/\partial h_t\|_2$ of the loss L"
SURVIVES = 0.1  # a direction survives where its singular value is at least this
FLOOR = float(np.log(np.finfo(float).eps))  # ln σ below which a direction adds nothing to a number of size 1
LEAST = 0.1  # of ln: the axis shows this much on both sides of 0, so that what keeps its size is seen to keep it
TEN = float(np.log(10))
ROOM, DEEP = 1.25, 2.0  # times that the axis ends below what it must show, and times that a lower end is cut there
BANDS = ((0.0, 1.0, f"{style.BLUE}2A", "all"), (0.25, 0.75, f"{style.BLUE}66", "middle half"))  # of many values


@layout.picture("Gradient", SIZE, needs=["log_norm"])
def plot_gradient(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the natural logarithm of ‖∂h_T/∂h_t‖₂ over t, and of ‖∂L/∂h_t‖₂ where there is a loss.

    At the bottom stand the times at which samples are exactly 0, whose logarithm is no number.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.gradient`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    last = int(ds[schema.TIME].values[-1])
    ax.axhline(0, color=style.BLACK, linewidth=1, linestyle=":", zorder=1, label="factor 1: keeps its size")
    has_loss = "log_loss_gradient" in ds
    draw_samples(ds["log_norm"], ax, style.BLUE, STATE if has_loss else "", **artist)
    if has_loss:
        draw_samples(ds["log_loss_gradient"], ax, style.VERMILION, LOSS, "--", **artist)
    low, high = min(ax.get_ylim()[0], -LEAST), max(ax.get_ylim()[1], LEAST)
    ax.set(
        xlim=(0, last),
        ylim=(low, high),
        xlabel=style.label(ds[schema.TIME]),
        ylabel="ln of the norm" if has_loss else STATE,
        title=f"← From T = {last:,} back to each earlier t",
    )
    style.whole(ax.xaxis)
    _mark_zeros(ds["log_norm"], ax)
    factors, wide = ax.secondary_yaxis("right", ylabel="the norm itself"), high - low > READABLE
    if wide:  # at whole powers of ten, which do not lie beside the numbers on the left
        decades = MaxNLocator(8, integer=True).tick_values(low / TEN, high / TEN)
        factors.yaxis.set_major_locator(MultipleLocator(TEN * float(decades[1] - decades[0])))
    factors.yaxis.set_major_formatter(lambda exponent, _: _as_factor(exponent, wide) if low <= exponent <= high else "")


def _mark_zeros(values: xr.DataArray, ax: Axes) -> None:
    """A mark at the bottom for each sample from the latest time at which it is exactly 0, and all before."""
    gone = np.isneginf(values.transpose(schema.SAMPLE, schema.TIME).values)
    samples = int(gone.any(axis=1).sum())
    if not samples:
        return
    some, words = gone.any(axis=0), f"0: {counted(samples, 'sample')} of {len(gone)}"
    ax.plot(
        values[schema.TIME].values[some],
        np.zeros(some.sum()),
        "v",
        ms=4,
        zorder=6,
        color=style.VERMILION,
        label=f"exactly {words}",
        transform=ax.get_xaxis_transform(),
        clip_on=False,
    )
    first = float(values[schema.TIME].values[some][0])
    ax.annotate(words, (first, 0), (4, 6), ax.get_xaxis_transform(), "offset points", color=style.VERMILION)


@layout.picture("End-to-end Jacobian", SIZE, needs=["log_singular_value", "log_mean_modulus", "resolved"])
def plot_end_to_end(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the logarithms of the singular values of ∂h_t/∂h_0 over t, and of the eigenvalues' mean modulus.

    Medians over the samples; bands hold all resolved singular values, and the middle half of them.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.end_to_end`.
    ax : Axes, optional
    **artist
        For the line of the largest singular value.
    """
    times, mark = ds[schema.TIME].values, "." if ds.sizes[schema.TIME] == 1 else None
    values = ds["log_singular_value"].where(np.isfinite(ds["log_singular_value"])).median(schema.SAMPLE)
    known = values.notnull().any(schema.MODE).values
    for low, high, colour, name in BANDS if known.any() else ():
        edges = values.isel({schema.TIME: known}).quantile([low, high], schema.MODE).values
        ax.fill_between(times[known], *edges, color=colour, linewidth=0, label=f"{name} of the known σ")
    ax.plot(
        times,
        values.isel(mode=0),
        **{"color": style.BLUE, "linewidth": 2.2, "marker": mark, "label": "largest σ", **artist},
    )
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
    samples, resolved = ds.sizes[schema.SAMPLE], int(ds["resolved"][:, -1].min())
    unknown = f"; {resolved} of {ds.sizes[schema.MODE]} σ known at the end" * (resolved < ds.sizes[schema.MODE])
    ax.set(
        xlabel=style.label(ds[schema.TIME]),
        ylabel=r"$\ln\,\sigma_i$ of $\partial h_t/\partial h_0$",
        title=(f"Median of {samples} samples" if samples > 1 else "One sample") + unknown,
    )


def _as_factor(exponent: float, wide: bool) -> str:
    """A power of e as a number: "0.951", or of an axis that is wide as a whole power of ten: "10^−13"."""
    if not wide:
        return number(math.exp(exponent), 3)
    power = round(exponent / TEN)
    return f"$10^{{{power}}}$" if power else "1"


def _cut(ax: Axes, values: xr.DataArray, modulus: xr.DataArray) -> None:
    """End the axis where σ is rounding beside 1, unless the largest σ is smaller, and say what lies below."""
    largest, smallest = values.isel(mode=0), float(values.min())
    shown = np.append(largest.values, modulus.values)
    bottom = ROOM * min(FLOOR, float(shown[np.isfinite(shown)].min(initial=0.0)))
    if smallest < DEEP * bottom:
        top = max(0.0, float(largest.max()))
        ax.set_ylim(bottom, top - 0.05 * (bottom - top))
        words = style.subscripts(f"↓ cut off: the smallest σ at e^{smallest:,.0f}".replace("-", "−"))
        ax.text(0.99, 0.02, words, transform=ax.transAxes, ha="right", va="bottom", zorder=5, bbox=style.ground(ax))


def draw_samples(
    values: xr.DataArray, ax: Axes, colour: str, name: str = "", linestyle: str = "-", **artist: Any
) -> None:
    """Draw each sample as a thin line, and their median as a thick one; `name` says in the legend what they are.

    Parameters
    ----------
    values : DataArray, dims (sample, time)
    """
    values = values.transpose(schema.SAMPLE, schema.TIME)
    samples, times = len(values), values[schema.TIME].values
    prefix = f"{name}, " if name else ""
    alone: dict[str, Any] = {"marker": "o", "markersize": 4} if len(times) == 1 else {}  # a line of one point is none
    artist = {"color": colour, "linestyle": linestyle} | alone | artist
    if samples > 1:
        thin: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.45} | artist | {"linestyle": "-"}
        for index, sample in enumerate(np.where(np.isfinite(values), values, np.nan)):
            ax.plot(times, sample, label=None if index else f"{prefix}each of {samples} samples", **thin)
    label = f"{prefix}median of the samples" if samples > 1 else name or "one sample"
    thick: dict[str, Any] = {"linewidth": 2.2, "zorder": 4, "label": label} | artist
    middle = values.median(schema.SAMPLE, skipna=True).values  # −∞, and not drawn, where most are exactly 0
    ax.plot(times, np.where(np.isfinite(middle), middle, np.nan), **thick)
