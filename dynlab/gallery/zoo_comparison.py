"""The trained networks side by side on real sequences: spectra, gradients, fixed points."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PathCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from dynlab import schema, zoo
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.fixed_points import plot_fixed_points
from dynlab.plots.gradient import plot_gradient
from dynlab.plots.spectrum import plot_spectrum
from dynlab.progress import through
from dynlab.tasks import driving_inputs
from dynlab.wording import joined, of_map, power

NETWORKS = {
    "RNN": "rnn-har2-tanh",
    "ReLU RNN": "rnn-har2",
    "LSTM": "lstm-har2",
    "AntisymmetricRNN": "antisymmetric-har2",
    "ERNN, K = 5": "ernn-har2-k5",
}
# Of the fast version: the first steps of each sequence, and one start where the rounds of a search take 20 s.
FAST_STEPS, LONG_SEARCHES = 32, ("ernn-har2-k5",)
SURVIVES = 0.1  # DESIGN: a direction survives where its singular value is at least this
# What is drawn of the largest Datasets; the others are kept whole.
DRAWN = {"spectrum": ["eigenvalue", "spectral_radius"], "end_to_end": ["log_singular_value"]}
LOWEST = -20.0  # of the gradients' axes: what has shrunk further is off the picture, and told in the sentence below it
TITLE = "The zoo on HAR-2: spectra and gradients side by side"
CAPTION = (
    "Above: eigenvalues of ∂h_t/∂h_{t−1} beside |μ| = 1, on 16 of the 32 test sequences that ship with dynlab. Middle: "
    "gradient from the last step T = 128 back to t. Below: eigenvalues at fixed points under input 0, leading ones "
    "large. Near a square “1 ± 0.3” says: Re μ is 0.7 to 1.3, |Im μ| ≤ 0.3; the lower squares hold leading ones alone."
)
INPUTS = (
    "The inputs are 16 of the 32 test sequences of HAR-2 that ship with dynlab. Where the data set is at hand, "
    "`dynlab gradient` takes 16 of all test sequences, so that its numbers differ. The RNN has tanh, and the ReLU RNN "
    "began at W = I."
)
NEAR, MOST = 0.35, 0.99  # of 1: where all eigenvalues are nearer, or that part of them, they are seen larger
DEAD = 1e-9  # the modulus of what a unit that never fires leaves
PLACE = (0.04, 0.04, 0.41, 0.41)  # of the close-up: beside the eigenvalues at 0, and left of those near 1
LARGE = (0.02, 0.02, 0.5, 0.5)  # of that of the fixed points
BESIDE, ABOVE = (0.98, 0.04), (0.02, 0.55)  # of the words of each
LABELS = {"spectrum": "steps: Im μ", "gradient": "ln ‖$∂h_T/∂h_t$‖₂", "fixed_points": "fixed points: Im μ"}


def compute(fast: bool) -> Results:
    """Five networks, each with spectrum, gradient and fixed points."""
    analysed = {title: _analyse(name, fast) for title, name in through(NETWORKS.items())}
    found = {
        f"{NETWORKS[title]}.{question}": ds[DRAWN.get(question, list(ds.data_vars))]
        for title, each in analysed.items()
        for question, ds in each.items()
    }
    return found | {"table": _table(analysed)}


def draw(results: Results) -> Made:
    """A column for each network."""
    table = results["table"]
    analysed = {
        title: {key.rpartition(".")[2]: ds for key, ds in results.items() if key.startswith(f"{name}.")}
        for title, name in NETWORKS.items()
    }
    return Made(
        TITLE,
        "The vanilla RNN's and the LSTM's gradients vanish, the AntisymmetricRNN's keep the mean modulus of "
        "eigenvalues close to 1 and its spread close to 0 (AntisymmetricRNN, Figure 2). ERNN's are "
        "norm-preserving with ‖∂h_T/∂h_1‖ close to 1 (ERNN, Theorem 1 and Figure 2).",
        f"{measured(table)} {INPUTS}",
        _figure(analysed),
        results,
    )


make = Script("zoo", compute, draw)


def _analyse(name: str, fast: bool) -> dict[str, xr.Dataset]:
    system = zoo.load(name)
    driving = driving_inputs(None, system, samples=2 if fast else 16, shipped=True)
    inputs, times = (driving.inputs[:, :FAST_STEPS], 4) if fast else (driving.inputs, 8)
    starts: Any = 16 if fast else 128
    if fast and name in LONG_SEARCHES:
        starts = np.zeros((1, system.state_size))
    options: dict[str, Any] = {"inputs_description": driving.description}
    return {
        "spectrum": spectrum(system, inputs, times=times, **options),
        "gradient": gradient(system, inputs, **options),
        "end_to_end": end_to_end(system, inputs, times=times, **options),
        "fixed_points": fixed_points(system, inputs, starts=starts),
    }


def _table(analysed: Mapping[str, Mapping[str, xr.Dataset]]) -> xr.Dataset:
    """One row a network; what `dynlab demo` prints."""
    facts = {entry["name"]: entry for entry in zoo.entries()}
    rows = [_row(found, facts[NETWORKS[title]]) for title, found in analysed.items()]
    ds = schema.dataset(
        {
            name: schema.variable((schema.NETWORK,), [row[name][1] for row in rows], long_name)
            for name, (long_name, _) in rows[0].items()
        },
        system="zoo",
        settings={"networks": list(NETWORKS.values())},
        coords={schema.NETWORK: list(analysed)},
    )
    return ds.assign_attrs(verdict=measured(ds))


def measured(ds: xr.Dataset) -> str:
    """The gradients, and how many directions survive."""
    titles = ds[schema.NETWORK].values.tolist()
    changes = [f"{power(float(log))} ({title})" for title, log in zip(titles, ds["log_gradient"], strict=True)]
    kept = [f"{count} ({title})" for title, count in zip(titles, ds["surviving"].values, strict=True)]
    return (
        f"Over the {int(ds['steps'][0])} steps of real sequences the median of ‖∂h_T/∂h_0‖ is {joined(changes)}. "
        f"Directions that survive (σ ≥ {SURVIVES}) are {joined(kept)}."
    )


def _row(found: Mapping[str, xr.Dataset], facts: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Each column's name in words, and what stands in it."""
    last = found["end_to_end"]["log_singular_value"].isel({schema.TIME: -1})
    surviving = int(np.median((last >= np.log(SURVIVES)).sum(schema.MODE)))
    points = found["fixed_points"]
    verified = points["status"].values == "fixed point"
    distance = points["fsolve_distance"].values[verified]
    return {
        "test_accuracy": ("test accuracy", facts["test_accuracy"]),
        "cell_parameters": ("cell parameters", facts["cell_parameters"]),
        "steps": ("steps", int(found["gradient"][schema.TIME][-1])),
        "spectral_radius": ("median spectral radius", float(found["spectrum"]["spectral_radius"].median())),
        "log_gradient": ("ln ‖∂h_T/∂h_0‖", float(found["gradient"]["log_norm"].isel({schema.TIME: 0}).median())),
        "surviving": ("directions kept", f"{surviving} of {last.sizes[schema.MODE]}"),
        "fixed_points": ("fixed points", int(verified.sum())),
        "stable": ("of them stable", int((points["stable"].values[verified] == 1).sum())),
        "fsolve_distance": ("largest distance to fsolve's", float(distance.max(initial=0.0))),
    }


def _figure(analysed: Mapping[str, Mapping[str, xr.Dataset]]) -> plt.Figure:
    """A column for each network, a row for each question, and one legend for all."""
    with style.style((13.0, 8.6)) as size:
        figure, axes = plt.subplots(len(LABELS), len(analysed), figsize=size, height_ratios=[1.1, 1.0, 1.1])
        for column, (title, found) in zip(axes.T, analysed.items(), strict=True):
            _column(title, found, column)
        for row, label in zip(axes, LABELS.values(), strict=True):
            _same_limits(list(row))
            row[0].set_ylabel(label)
            for ax in row[1:]:
                ax.tick_params(labelleft=False)  # the limits are the first one's
        for ax, found in zip(axes[1], analysed.values(), strict=True):
            ax.set_ylim(bottom=max(LOWEST, ax.get_ylim()[0]))
            _say_what_left(found["gradient"], ax)
        for (ax, points), found in zip(axes[[0, 2]].T, analysed.values(), strict=True):
            _close_up(found["spectrum"], ax)
            _close_up(found["fixed_points"], points, leading=True)
        samples = analysed[next(iter(analysed))]["gradient"].sizes[schema.SAMPLE]
        times = analysed[next(iter(analysed))]["spectrum"][schema.TIME].values
        scale = ScalarMappable(Normalize(times[0], times[-1]), style.from_ground())
        bar = figure.colorbar(scale, ax=axes[0], shrink=0.9, pad=0.01, label="step t", ticks=times[[0, -1]])
        bar.outline.set_visible(False)
        named: dict[str, Any] = {
            "eigenvalue of a step, in the colour of t": Line2D(
                [], [], ls="none", marker="o", ms=4, color=style.from_ground()(1.0)
            ),
            **_kinds(analysed),
            "median gradient": Line2D([], [], color=style.BLUE, lw=2.2),
            f"each of {samples} sequences": Line2D([], [], color=style.SKY, lw=0.8),
        }
        style.caption(figure, TITLE, CAPTION, named)
    return figure


def _kinds(analysed: Mapping[str, Mapping[str, xr.Dataset]]) -> dict[str, Line2D]:
    """The legend's entries of the kinds of fixed points there are."""
    every = [found["fixed_points"] for found in analysed.values()]
    kinds = {key for ds in every for key in zip(ds["kind"].values.tolist(), ds["stable"].values.tolist(), strict=True)}
    looks = {f"at a {of_map(kind)}": style.kind_look(kind, stable) for kind, stable in sorted(kinds)}
    return {name: Line2D([], [], ls="none", marker=marker, color=colour) for name, (marker, colour) in looks.items()}


def _column(title: str, found: Mapping[str, xr.Dataset], axes: Any) -> None:
    spectra, gradients, points = axes
    plot_spectrum(found["spectrum"], ax=spectra, s=6, zorder=4)  # above the circle, on which some lie
    spectra.set(
        xlabel="Re μ", ylabel="", aspect="equal"
    )  # one scale and one circle in every column, whatever a spectrum alone has
    for patch in spectra.patches:
        patch.set_facecolor("none")
    for drawn in spectra.collections:
        if drawn.colorbar is not None:
            drawn.colorbar.remove()  # the same steps in every column: the legend says what the colours are
    spectra.set_title(title, fontsize="medium")
    plot_gradient(found["gradient"], ax=gradients)
    gradients.get_legend().remove()
    for factors in gradients.child_axes:  # five scales at the right would leave the panels no width
        factors.remove()
    gradients.set(title="", ylabel="")
    plot_fixed_points(found["fixed_points"], ax=points)
    points.get_legend().remove()
    for text in points.texts:
        text.remove()  # the caption says what the circle is
    stable = found["fixed_points"]["stable"].values == 1
    for patch in points.patches:
        patch.set_facecolor("none")
    points.set_title(f"{stable.sum()} stable, {(~stable).sum()} not", fontsize="medium")
    points.set_ylabel("")


def _say_what_left(ds: xr.Dataset, ax: Axes) -> None:
    """Where the median leaves the panel below: how far it falls."""
    last = float(ds["log_norm"].isel({schema.TIME: 0}).median())
    if last < ax.get_ylim()[0]:
        words: dict[str, Any] = {"transform": ax.transAxes, "va": "bottom", "color": style.BLUE, "zorder": 6}
        ax.text(0.03, 0.03, style.subscripts(f"↓ {power(last)}"), bbox=style.ground(ax), **words)


def _close_up(ds: xr.Dataset, ax: Axes, leading: bool = False) -> None:
    """Where all eigenvalues that are not 0 lie near 1, or nearly all, they themselves, seen larger.

    With `leading` those that have the largest modulus at their fixed point alone, in large markers.
    """
    values = ds["eigenvalue"].values
    known = values[np.isfinite(values) & (np.abs(values) > DEAD)]
    halves = [1.2 * float(np.quantile(np.abs(known - 1), part)) for part in (1.0, MOST)] if len(known) else []
    half = next((each for each in halves if each <= NEAR), None)
    if half is None:
        return
    inset = ax.inset_axes(LARGE if leading else PLACE)
    circle = np.exp(2j * np.pi * np.linspace(-0.1, 0.1, 361))
    inset.plot(circle.real, circle.imag, color=style.GREY, lw=0.6, zorder=0)
    if leading:
        half = _draw_leading(ds, inset)
    else:
        _draw_again(ax, inset)
    inset.set(xlim=(1 - half, 1 + half), ylim=(-half, half), aspect="equal", xticks=[], yticks=[])
    inset.spines[:].set(visible=True, color=style.GREY)
    place, side = (ABOVE, "left") if leading else (BESIDE, "right")
    words: dict[str, Any] = {"ha": side, "va": "bottom", "bbox": style.ground(ax), "zorder": 6}
    ax.text(*place, f"1 ± {half:.2g}", transform=ax.transAxes, **words)
    ax.indicate_inset_zoom(inset, edgecolor=style.GREY)


def _draw_again(ax: Axes, inset: Axes) -> None:
    """The eigenvalues of the axes, small."""
    for drawn in [each for each in ax.collections if isinstance(each, PathCollection)]:
        x, y = np.asarray(drawn.get_offsets()).T
        look: dict[str, Any] = {"marker": drawn.get_paths()[0], "s": 0.4 * drawn.get_sizes().max(), "linewidths": 0}
        look |= {"c": drawn.get_array(), "cmap": drawn.get_cmap(), "norm": drawn.norm}
        inset.scatter(x, y, **look)


def _draw_leading(ds: xr.Dataset, inset: Axes) -> float:
    """The eigenvalue or the pair of largest modulus of each fixed point; half the width of a window that holds all."""
    away = 0.0
    for values, kind, stable in zip(ds["eigenvalue"].values, ds["kind"].values, ds["stable"].values, strict=True):
        lead = values[np.isclose(values, values[0]) | np.isclose(values, values[0].conj())]
        marker, colour = style.kind_look(str(kind), int(stable))
        look: dict[str, Any] = {"marker": marker, "s": 34, "facecolors": colour, "edgecolors": "white"}
        inset.scatter(lead.real, lead.imag, linewidths=0.6, zorder=3, **look)
        away = max(away, float(np.abs(lead - 1).max()))
    return 1.3 * away


def _same_limits(axes: list[Axes]) -> None:
    """So that the eye compares networks."""
    for get, put in ((Axes.get_xlim, Axes.set_xlim), (Axes.get_ylim, Axes.set_ylim)):
        limits = [get(ax) for ax in axes]
        for ax in axes:
            put(ax, min(low for low, _ in limits), max(high for _, high in limits))
