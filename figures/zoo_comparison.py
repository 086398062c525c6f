"""The trained networks side by side on real sequences: spectra, gradients, fixed points."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dynlab import schema, zoo
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.plots import style
from dynlab.plots.fixed_points import plot_fixed_points
from dynlab.plots.gradient import plot_gradient
from dynlab.plots.spectrum import plot_spectrum
from dynlab.progress import through
from dynlab.tasks import driving_inputs
from dynlab.words import joined, of_map, power

from .kept import Results
from .scripts import Drawn, Script

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
INPUTS = (
    "The inputs are 16 of the 32 test sequences of HAR-2 that ship with dynlab. Where the data set is at hand, "
    "`dynlab gradient` takes 16 of all test sequences, so that its numbers differ. The RNN has tanh, and the ReLU RNN "
    "began at W = I."
)
LABELS = ("steps: Im μ", "ln ‖$∂h_T/∂h_t$‖₂", "fixed points: Im μ")
WINDOWS: tuple[dict[str, Any], ...] = (
    {"xlim": (-1.2, 1.4), "ylim": (-1.2, 1.2)},
    {"ylim": (-20, 10)},  # what has shrunk further is off the picture, and in the sentence below it
    {"xlim": (-1.2, 1.4), "ylim": (-1.2, 1.2)},
)


def compute(fast: bool) -> Results:
    """Five networks, each with spectrum, gradient and fixed points."""
    analysed = {title: _analyse(name, fast) for title, name in through(NETWORKS.items())}
    found = {
        f"{NETWORKS[title]}.{question}": ds[DRAWN.get(question, list(ds.data_vars))]
        for title, each in analysed.items()
        for question, ds in each.items()
    }
    return found | {"table": _table(analysed)}


def draw(results: Results) -> Drawn:
    """Draw a column for each network, a row for each question."""
    figure, axes = plt.subplots(3, len(NETWORKS), height_ratios=[1.1, 1.0, 1.1], sharex="row", sharey="row")
    for (title, name), (spectra, gradients, points) in zip(NETWORKS.items(), axes.T, strict=True):
        found = {key.rpartition(".")[2]: ds for key, ds in results.items() if key.startswith(f"{name}.")}
        plot_spectrum(found["spectrum"], ax=spectra, s=6)
        plot_gradient(found["gradient"], ax=gradients)
        plot_fixed_points(found["fixed_points"], ax=points)
        for ax in (spectra, gradients, points):
            _bare(ax)
        stable = found["fixed_points"]["stable"].values == 1
        spectra.set(xlabel="Re μ", aspect="equal")
        spectra.set_title(title, fontsize="medium")
        points.set_title(f"{stable.sum()} stable, {(~stable).sum()} not", fontsize="medium")
    for row, label, window in zip(axes, LABELS, WINDOWS, strict=True):
        row[0].set(ylabel=label, **window)
    named = {
        "eigenvalue of a step, darker at later steps": Line2D([], [], ls="none", marker="o", ms=4, color=style.GREY),
        **_kinds(results),
        "median gradient": Line2D([], [], color=style.BLUE, lw=2.2),
        "each of the sequences": Line2D([], [], color=style.SKY, lw=0.8),
    }
    return Drawn(figure, f"{measured(results['table'])} {INPUTS}", named)


figure = Script("zoo", draw, (13.0, 8.6), compute)


def _bare(ax: Axes) -> None:
    """Leave of a panel what is drawn: words, legend and scales stand once for all columns."""
    for drawn in ax.collections:
        if drawn.colorbar is not None:
            drawn.colorbar.remove()
    for patch in ax.patches:
        patch.set_facecolor("none")
    for extra in (*ax.child_axes, *ax.texts, ax.get_legend()):
        if extra is not None:
            extra.remove()
    ax.set(title="", ylabel="")


def _kinds(results: Results) -> dict[str, Line2D]:
    """Return the legend's entries of the kinds of fixed points there are."""
    every = [results[f"{name}.fixed_points"] for name in NETWORKS.values()]
    kinds = {key for ds in every for key in zip(ds["kind"].values.tolist(), ds["stable"].values.tolist(), strict=True)}
    looks = {f"at a {of_map(kind)}": style.kind_look(kind, stable) for kind, stable in sorted(kinds)}
    return {name: Line2D([], [], ls="none", marker=marker, color=colour) for name, (marker, colour) in looks.items()}


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
