"""The trained networks side by side on real sequences: spectra, gradients, fixed points."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.patches import Circle

from dynlab import schema, zoo
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.plots import style
from dynlab.progress import through
from dynlab.words import joined, power

from .scripts import Drawn, Panels, Results, script, trained

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
# What is drawn or read by claims.
DRAWN = {"spectrum": ["eigenvalue"], "end_to_end": ["log_singular_value"], "gradient": ["log_norm"]}
INPUTS = (
    "The inputs are 16 of the 32 test sequences of HAR-2 that ship with dynlab. Where the data set is at hand, "
    "`dynlab gradient` takes 16 of all test sequences, so that its numbers differ. The RNN has tanh, and the ReLU RNN "
    "began at W = I."
)
COLOURS = (style.VERMILION, style.ORANGE, style.PURPLE, style.SKY, style.BLUE)
WINDOW = {"xlim": (-1.2, 1.4), "ylim": (-1.2, 1.2)}  # of the eigenvalues


def compute(fast: bool) -> Results:
    """Five networks, each with spectrum, gradient and fixed points."""
    analysed = {title: _analyse(name, fast) for title, name in through(NETWORKS.items())}
    found = {
        f"{NETWORKS[title]}.{question}": ds[DRAWN[question]]
        for title, each in analysed.items()
        for question, ds in each.items()
        if question in DRAWN
    }
    return found | {"table": _table(analysed)}


@script("zoo", (12.0, 7.0), compute, mosaic=[[*NETWORKS], ["below"] * len(NETWORKS)], height_ratios=[1.0, 1.3])
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the eigenvalues of the steps of each network, and below them the median gradients of all."""
    below = axes["below"]
    below.axhline(0, color=style.BLACK, ls=":", lw=1)
    for index, ((title, name), colour) in enumerate(zip(NETWORKS.items(), COLOURS, strict=True)):
        ax = axes[title]
        eigenvalues = results[f"{name}.spectrum"]["eigenvalue"].values.ravel()
        ax.add_patch(Circle((0, 0), 1, facecolor="none", edgecolor=style.BLACK))
        ax.plot(eigenvalues.real, eigenvalues.imag, ".", color=colour, ms=2, alpha=0.5, rasterized=True)
        ax.set(xlabel="Re μ", ylabel="" if index else "steps: Im μ", aspect="equal", **WINDOW)
        ax.set_title(title, fontsize="medium")
        ax.tick_params(labelleft=not index)
        log_norm = results[f"{name}.gradient"]["log_norm"].median(schema.SAMPLE)
        below.plot(log_norm[schema.TIME], log_norm, color=colour, lw=2.2, label=title)
    below.set(
        xlabel="step t",
        ylabel="median of ln ‖$∂h_T/∂h_t$‖₂",
        title="What a change at step t still does at the last step, 128; on the dotted line nothing is lost",
    )
    below.legend(loc="lower right")
    return Drawn(f"{measured(results['table'])} {INPUTS}")


def _analyse(name: str, fast: bool) -> dict[str, xr.Dataset]:
    system, driving = trained(name, samples=2 if fast else 16)
    inputs, times = (driving.inputs[:, :FAST_STEPS], 4) if fast else (driving.inputs, 8)
    starts = np.zeros((1, system.state_size)) if fast and name in LONG_SEARCHES else 16 if fast else 128
    options: dict[str, Any] = {"inputs_description": driving.description}
    return {
        "spectrum": spectrum(system, inputs, times=times, **options),
        "gradient": gradient(system, inputs, **options),
        "end_to_end": end_to_end(system, inputs, times=times, **options),
        "fixed_points": fixed_points(system, inputs, starts=starts),
    }


def _table(analysed: Mapping[str, Mapping[str, xr.Dataset]]) -> xr.Dataset:
    """Return the table that `dynlab demo` prints, one row a network."""
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


def surviving(last: xr.DataArray) -> str:
    """Return how many directions keep a tenth of their size, from ln σ (sample, mode): "2.5 (1 to 8) of 80"."""
    counts = (last >= np.log(SURVIVES)).sum(schema.MODE).values
    spread = f" ({counts.min()} to {counts.max()})" if np.ptp(counts) else ""
    return f"{np.median(counts):g}{spread} of {last.sizes[schema.MODE]}"


def _row(found: Mapping[str, xr.Dataset], facts: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return a row: each column's name in words, and its value."""
    last = found["end_to_end"]["log_singular_value"].isel({schema.TIME: -1})
    points = found["fixed_points"]
    verified = points["status"].values == "fixed point"
    distance = points["fsolve_distance"].values[verified]
    return {
        "test_accuracy": ("test accuracy", facts["test_accuracy"]),
        "cell_parameters": ("cell parameters", facts["cell_parameters"]),
        "steps": ("steps", int(found["gradient"][schema.TIME][-1])),
        "spectral_radius": ("median spectral radius", float(found["spectrum"]["spectral_radius"].median())),
        "log_gradient": ("ln ‖∂h_T/∂h_0‖", float(found["gradient"]["log_norm"].isel({schema.TIME: 0}).median())),
        "surviving": ("directions kept", surviving(last)),
        "fixed_points": ("fixed points", int(verified.sum())),
        "stable": ("of them stable", int((points["stable"].values[verified] == 1).sum())),
        "fsolve_distance": ("largest distance to fsolve's", float(distance.max(initial=0.0))),
    }
