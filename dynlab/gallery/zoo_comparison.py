"""The trained networks side by side on real sequences: spectra, gradients, fixed points, ERNN's inner iteration."""

import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema, zoo
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.ernn.convergence import ernn_convergence
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.ernn_convergence import plot_ernn_convergence
from dynlab.plots.fixed_points import plot_fixed_points
from dynlab.plots.gradient import plot_gradient
from dynlab.plots.spectrum import plot_spectrum
from dynlab.progress import through
from dynlab.systems.ernn import ERNN
from dynlab.tasks import driving_inputs
from dynlab.wording import joined, power

NETWORKS = {
    "RNN": "rnn-har2-tanh",
    "ReLU RNN": "rnn-har2",
    "LSTM": "lstm-har2",
    "AntisymmetricRNN": "antisymmetric-har2",
    "ERNN, K = 5": "ernn-har2-k5",
}
SURVIVES = 0.1  # DESIGN: a direction survives where its singular value is at least this
# What is drawn of the largest Datasets; the others are kept whole.
DRAWN = {"spectrum": ["eigenvalue", "spectral_radius"], "end_to_end": ["log_singular_value"]}
LOWEST = -20.0  # of the gradients' axes: what has shrunk further is off the picture, and told in the sentence below it
ROWS = (
    "A column for each network. First row: eigenvalues μ of $∂h_t/∂h_{t−1}$ at its steps, late ones dark. Second row: "
    "its gradient from T back to t. Third row: eigenvalues μ at its fixed points. The circles are |μ| = 1.",
    "RNN is torch's own: tanh, started at random weights. ReLU RNN started at W\u00a0=\u00a0I. "
    "All of AntisymmetricRNN's eigenvalues lie near 1. g* is the equilibrium of ERNN's inner flow.",
)
LABELS = {"spectrum": "steps: Im μ", "gradient": "ln ‖$∂h_T/∂h_t$‖₂", "fixed_points": "fixed points: Im μ"}
WORDS_WIDTH = 78  # characters


def compute(fast: bool) -> Results:
    """Five networks, each with spectrum, gradient and fixed points; ERNN also with its inner convergence."""
    samples, times, starts = (2, 4, 16) if fast else (16, 8, 128)
    analysed = {title: _analyse(name, samples, times, starts) for title, name in through(NETWORKS.items())}
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
        "The zoo on HAR-2: spectra and gradients side by side",
        "The vanilla RNN's and the LSTM's gradients vanish, the AntisymmetricRNN's keep the mean modulus of "
        "eigenvalues close to 1 and its spread close to 0 (AntisymmetricRNN, Figure 2). ERNN's are "
        "norm-preserving with ‖∂h_T/∂h_1‖ close to 1 (ERNN, Theorem 1 and Figure 2).",
        measured(table),
        _figure(analysed),
        results,
    )


make = Script("zoo", compute, draw)


def _analyse(name: str, samples: int, times: int, starts: int) -> dict[str, xr.Dataset]:
    system = zoo.load(name)
    driving = driving_inputs(None, system, samples=samples, shipped=True)
    options: dict[str, Any] = {"inputs_description": driving.description}
    found = {
        "spectrum": spectrum(system, driving.inputs, times=times, **options),
        "gradient": gradient(system, driving.inputs, **options),
        "end_to_end": end_to_end(system, driving.inputs, times=times, **options),
        "fixed_points": fixed_points(system, driving.inputs, starts=starts),
    }
    if isinstance(system, ERNN):
        found["convergence"] = ernn_convergence(system, driving.inputs[:2])
    return found


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
        f"Over {int(ds['steps'][0])} real steps the median of ‖∂h_T/∂h_0‖ is {joined(changes)}. Directions that "
        f"survive (σ ≥ {SURVIVES}) are {joined(kept)}."
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
    """A column for each network, a row for each question; below, ERNN's inner iteration beside what the rows are."""
    with style.style((13.0, 12.6)) as size:
        figure = plt.figure(figsize=size)
        figure.set_layout_engine("constrained", h_pad=0.13)
        questions = ("spectrum", "gradient", "fixed_points")
        rows: list[Any] = [[f"{question} {title}" for title in analysed] for question in questions]
        rows.append(["convergence"] * 2 + ["words"] * (len(analysed) - 2))
        layout = figure.subplot_mosaic(rows, height_ratios=[1.1, 1.0, 1.35, 1.0])
        for title, found in analysed.items():
            _column(title, found, [layout[f"{question} {title}"] for question in questions])
            if "convergence" in found:
                _inner(title, found["convergence"], layout["convergence"])
        for question in questions:
            _same_limits([layout[f"{question} {title}"] for title in analysed])
        gradients = [layout[f"gradient {title}"] for title in analysed]
        for ax in gradients:
            ax.get_legend().remove()  # one stands for all, beside the words
            ax.set_ylim(bottom=max(LOWEST, ax.get_ylim()[0]))
        for question, label in LABELS.items():
            layout[f"{question} {next(iter(analysed))}"].set_ylabel(label)
        words = layout["words"]
        words.axis("off")
        said = "\n\n".join(textwrap.fill(part, WORDS_WIDTH) for part in ROWS)
        entries = gradients[0].get_legend_handles_labels()
        legend = words.legend(
            *entries, title="Second row:", loc="upper left", bbox_to_anchor=(0.0, 0.0), alignment="left"
        )
        legend.set_frame_on(False)
        for part in (words.text(0, 1, said, va="top", transform=words.transAxes), legend):
            part.set_in_layout(False)  # it would take width from the columns
    return figure


def _column(title: str, found: Mapping[str, xr.Dataset], axes: list[Axes]) -> None:
    spectra, gradients, points = axes
    plot_spectrum(found["spectrum"], ax=spectra, s=6, zorder=4)  # above the circle, on which some lie
    spectra.set_ylabel("")
    for drawn in spectra.collections:
        if drawn.colorbar is not None:
            drawn.colorbar.remove()  # the same steps in every column: the title says what the colours are
    spectra.set_title(title, fontweight="bold")
    plot_gradient(found["gradient"], ax=gradients)
    gradients.set(title="", ylabel="")
    plot_fixed_points(found["fixed_points"], ax=points)
    points.set(title="", ylabel="")
    circle = points.get_lines()[0]
    circle.set_label("")  # the words say what it is
    style.legend_below(points, 1, markerscale=2.0)


def _inner(title: str, found: xr.Dataset, ax: Axes) -> None:
    plot_ernn_convergence(found, ax=ax)
    ax.set(title=f"{title}: distance of inner iterates to g*", ylabel="‖g⁽ⁱ⁾ − g*‖₂")
    style.legend_below(ax, 2)


def _same_limits(axes: list[Axes]) -> None:
    """So that the eye compares networks."""
    for get, put in ((Axes.get_xlim, Axes.set_xlim), (Axes.get_ylim, Axes.set_ylim)):
        limits = [get(ax) for ax in axes]
        for ax in axes:
            put(ax, min(low for low, _ in limits), max(high for _, high in limits))
