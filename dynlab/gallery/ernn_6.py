"""Figure 6 of the ERNN paper: linear convergence to the equilibrium, on a dense tanh ERNN and on the trained ones."""

import re

import matplotlib.pyplot as plt
import numpy as np
import torch
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from dynlab import schema, zoo
from dynlab.diagnostics.ernn.convergence import ernn_convergence, verdict
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.ernn_convergence import NEAR, PREDICTED, plot_ernn_convergence
from dynlab.systems.ernn import ERNN
from dynlab.tasks import driving_inputs
from dynlab.wording import joined, number

TITLE = "ERNN, Figure 6: convergence of the inner iteration"
STEP = "step"  # of a sequence, of all of them
NONE, REPELS = "no equilibrium to converge to", "does not converge"
TRAINED = "ernn-har2-k5"
ETA = 0.5
ENDS = {  # of the outcomes, what the steps do
    "stays at the equilibrium": "start at it and stay",
    "converges": "converge",
    "still approaching": "still come nearer",
    "has not come nearer yet": "do not come steadily nearer",
    REPELS: "cannot converge",
}
SEED, UNITS, LENGTH = 0, 80, 128
RECURRENT_GAIN = 0.9  # ‖P U‖₂ = 0.9² < 1, tanh has slopes up to 1: the inner map contracts, its equilibrium is unique


def compute(fast: bool) -> Results:
    """The dense network with constant η, and a trained low-rank ReLU network with its learned η, on real sequences."""
    trained = zoo.load(TRAINED)
    driving = driving_inputs(None, trained, samples=1 if fast else 4, shipped=True)
    return {
        "dense": ernn_convergence(dense(), driving.inputs, eta=ETA, iterations=80 if fast else 300),
        "trained": ernn_convergence(trained, driving.inputs, iterations=200 if fast else 2000),
    }


def draw(results: Results) -> Made:
    """Distances to the equilibria, of both."""
    none = results["trained"]["outcome"] == NONE
    shown = {
        f"dense tanh ERNN,\ncontracting, η = {ETA:g}": results["dense"],
        "trained low-rank ReLU\nERNN, K = 5": _some(results["trained"], ~none),
        "trained: a step with no\nequilibrium found": _some(results["trained"], none),
    }
    shown = {title: ds for title, ds in shown.items() if ds["outcome"].size}
    with style.style((12.0, 5.2)) as size:
        figure, axes = plt.subplots(1, len(shown), figsize=size)
        named: dict[str, Artist] = {}
        for ax, (title, ds) in zip(axes, shown.items(), strict=True):
            plot_ernn_convergence(ds, ax=ax)
            ax.set_title(title)
            whose = "dense" if ds is results["dense"] else "trained"
            named |= _entries(ax, ds, whose, results[whose]["outcome"].size)
            ax.get_legend().remove()
        style.caption(figure, TITLE, _caption(results), named)
    return Made(
        TITLE,
        "The Euler iterates “converge with linear rate” to the fixed point that fsolve finds (section 6.3, learnable "
        "parameters “initialized suitably and then fixed”; sizes and η are not given).",
        f"Dense: {verdict(results['dense'])} Trained: {verdict(results['trained'])}",
        figure,
        results,
    )


def _some(ds: xr.Dataset, where: xr.DataArray) -> xr.Dataset:
    """The steps of all sequences of which that is true."""
    flat = ds.stack({STEP: (schema.SAMPLE, schema.TIME)}).transpose(STEP, ...)
    return flat.isel({STEP: where.values.ravel()})


def _entries(ax: Axes, ds: xr.Dataset, whose: str, steps: int) -> dict[str, Artist]:
    """The legend's, which say of how many steps, and of an equilibrium that repels whether its step ends nearer."""
    distance, repelled = ds["distance"].values, ds["outcome"].values == REPELS
    nearer = (distance[repelled, -1] < distance[repelled, 0]).all()
    still = ", though it is nearer at the end than at the start" if nearer else ""
    entries: dict[str, Artist] = {}
    for line, words in zip(*ax.get_legend_handles_labels(), strict=True):
        said = re.sub(r"^(\d+) steps?: ", rf"\1 of {steps} steps: ", words)
        said = f"{whose}: {said}" if said.startswith((PREDICTED, NEAR)) else said
        entries[said.replace("cannot converge", f"the equilibrium repels{still}")] = line
    return entries


def _caption(results: Results) -> str:
    dense, trained = (_told(results[name]) for name in ("dense", "trained"))
    names = "F is the inner flow, g* its equilibrium and g⁽ⁱ⁾ an Euler iterate of step size η."
    return f"{names} Left: {dense} Others: {trained}"


def _told(ds: xr.Dataset) -> str:
    """How the steps ended, and the factor by which an iteration multiplies the distance where it has settled."""
    ends = ds["outcome"].values.ravel().tolist()
    each = [(ends.count(one), words) for one, words in ENDS.items() if one in ends]
    whose = f"of {len(ends)} steps {joined([f'{count} {words}' for count, words in each])}"
    if len(each) == 1 and NONE not in ends:
        whose = f"all {len(ends)} steps {each[0][1]}"
    within = f" within {int(ds[schema.ITERATION][-1]):,} iterations" if each else ""
    nowhere = f"at {ends.count(NONE)} the search found no equilibrium" if NONE in ends else ""
    settled, factor = ds["settled"].values == 1, ""
    if settled.any():
        of = {name: number(float(np.median(ds[name].values[settled]))) for name in ("rate", "predicted_rate")}
        factor = f"an iteration multiplies the distance by {of['rate']}, predicted {of['predicted_rate']} (medians)"
    return f"{'; '.join(filter(None, [whose + within, nowhere, factor]))}."


make = Script("ernn-6", compute, draw)


def dense(inner_steps: int = 1, eta: float = 0.01) -> ERNN:
    """A dense tanh ERNN whose U is 0.9 times an orthogonal matrix."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        system = ERNN(9, UNITS, LENGTH, inner_steps, rank=None, activation="tanh", eta=eta).double()
        torch.nn.init.orthogonal_(system.U.matrix(), gain=RECURRENT_GAIN)
    system.name = "ernn"
    return system
