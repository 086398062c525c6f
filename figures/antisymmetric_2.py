"""Figure 2 of the AntisymmetricRNN paper: eigenvalues of ∂h_t/∂h_0 over time for an LSTM and AntisymmetricRNNs.

The paper draws networks that learned noise-padded CIFAR-10. Here are those of the zoo that learned this or pixel MNIST,
along a test sequence, and networks at their start under the noise that pads. Singular values stand below: eigenvalues
of a product that is not normal hide how much it stretches.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dynlab import schema
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.plots import style
from dynlab.systems import create
from dynlab.words import power

from .scripts import Drawn, Panels, Results, script, trained

INPUTS = 96
LSTM = "lstm-noisy-cifar"
PADDED = (LSTM, "antisymmetric-noisy-cifar", "antisymmetric-gated-noisy-cifar")
BESIDE = ("lstm-smnist", "antisymmetric-smnist")
STEPS, FEW = 1000, 10
UNITS, FEW_UNITS = 128, 16
TIMES = 41
GAMMAS, STEP_SIZES = (0.001, 0.01, 0.1, 1.0), (0.01, 0.1)  # of the paper's grids
SEED = 0
COLOURS = (style.BLUE, style.GREEN, style.ORANGE, style.VERMILION, style.BLACK)
RANGES = (-14.0, 6.0), (-12.0, 1.5), (-32.0, 10.0)  # of ln |μ| and ln σ that is drawn, in each column
TRAINED_COLOURS = (style.PURPLE, style.SKY, style.GREY, style.BLACK, style.YELLOW)  # by names of the networks
LONG_NAMES = {
    "mean": "ln mean |λ| of ∂h_t/∂h_0",
    "spread": "ln deviation of |λ| of ∂h_t/∂h_0",
    "largest": "ln largest singular value",
    "middle": "ln middle singular value",
}


def compute(fast: bool) -> Results:
    """An LSTM and AntisymmetricRNNs of the grid at their start, and what the zoo has trained."""
    steps, units = (FEW, FEW_UNITS) if fast else (STEPS, UNITS)
    noise = np.random.default_rng(SEED).normal(size=(1, steps, INPUTS))
    untrained = {"LSTM": _start("lstm", hidden_size=units, forget_bias=1.0)} | {
        f"ε = {step_size:g}, γ = {gamma:g}": _start("antisymmetric", state_size=units, step_size=step_size, gamma=gamma)
        for step_size in STEP_SIZES
        for gamma in GAMMAS
    }
    settings = {"units": units, "steps": steps, "inputs": INPUTS, "sigma_w": 1.0, "seed": SEED}
    results = {"eigenvalues": _together({name: _along(system, noise) for name, system in untrained.items()}, settings)}
    for name in (*PADDED, *BESIDE):
        system, driving = trained(name, samples=1)
        along = _along(system, driving.inputs[:, : FEW if fast else None])
        results[name] = _together({name: along}, {"inputs": driving.description})
    return results


def _together(found: Mapping[str, xr.Dataset], settings: Mapping[str, Any]) -> xr.Dataset:
    """Return logarithms of several networks: mean and deviation of |λ|, the largest and the middle singular value."""
    rows = list(found.values())
    dims = (schema.NETWORK, schema.TIME)
    columns = {
        "mean": [one["log_mean_modulus"].values for one in rows],
        "spread": [one["log_std_modulus"].values for one in rows],
        "largest": [one["log_singular_value"].values[:, 0] for one in rows],
        "middle": [one["log_singular_value"].values[:, one.sizes[schema.MODE] // 2] for one in rows],
    }
    return schema.dataset(
        {key: schema.variable(dims, values, LONG_NAMES[key]) for key, values in columns.items()},
        system="lstm, antisymmetric",
        settings=dict(settings),
        method="dynlab.end_to_end along one sequence",
        coords={schema.NETWORK: list(found), schema.TIME: rows[0][schema.TIME]},
    )


def _start(name: str, **config: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return create(name, input_size=INPUTS, **config).double()


def _along(system: Any, inputs: Any) -> xr.Dataset:
    return end_to_end(system, inputs, times=min(TIMES, inputs.shape[1] + 1)).isel({schema.SAMPLE: 0})


@script("antisymmetric-2", (12.0, 7.4), compute, nrows=2, ncols=3, sharex=True, sharey="col")
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw eigenvalues above and singular values below: what is trained, and untrained networks of each ε."""
    ds = results["eigenvalues"]
    columns = {"trained: a test sequence": list(of_trained(results).values())} | {
        f"untrained: noise, ε = {s:g}": [ds.sel({schema.NETWORK: [name]}) for name in [*each, "LSTM"]]
        for s, each in _of_step(ds).items()
    }
    named: dict[str, Any] = {}
    for (above, below), (title, shown), limits in zip(axes.T, columns.items(), RANGES, strict=True):
        for one, colour in zip(shown, COLOURS if "ε" in title else TRAINED_COLOURS, strict=False):
            name = str(one[schema.NETWORK].values[0]).rpartition(", ")[2]
            named[name.replace("LSTM", "LSTM, untrained")] = _lines(one, ("mean", "spread"), colour, above)
            _lines(one, ("largest", "middle"), colour, below)
        above.set_title(f"{title}\neigenvalues μ", fontsize="medium")
        below.set_title("singular values σ", fontsize="medium")
        below.set(xlabel="step t", ylim=limits)
    axes[0, 0].set_ylabel("ln of mean and standard deviation of |μ|")
    axes[1, 0].set_ylabel("ln of largest and middle σ")
    of_lines = {
        "mean of |μ|, largest σ": Line2D([], [], color=style.GREY),
        "standard deviation of |μ|, middle σ": Line2D([], [], color=style.GREY, ls="--", lw=1),
    }
    return Drawn(measured(results), named | of_lines)


def of_trained(results: Results) -> dict[str, xr.Dataset]:
    """Return what was measured along each trained network."""
    return {key: results[key] for key in sorted(results) if key != "eigenvalues"}


def mean_at_end(one: xr.Dataset) -> float:
    """Return ln of the mean |μ|, or of its bound, the largest σ, where rounding leaves the eigenvalues unknown."""
    mean, largest = (float(one[name][0, -1]) for name in ("mean", "largest"))
    return largest if np.isnan(mean) else mean


def _lines(one: xr.Dataset, names: tuple[str, str], colour: str, ax: Axes) -> Any:
    """Draw the first of two measurements solid, the second dashed, through the steps where they are known."""
    ax.axhline(0, color=style.BLACK, ls=":", lw=1, zorder=5)
    solid, dashed = (one[name][0].dropna(schema.TIME) for name in names)
    ax.plot(dashed[schema.TIME], dashed, color=colour, lw=1, ls="--")
    return ax.plot(solid[schema.TIME], solid, color=colour, alpha=0.7)[0]


def measured(results: Results) -> str:
    """Return what is left of the eigenvalues at the end, and what the singular values say beside them."""
    untrained = results["eigenvalues"]
    ends = "; ".join(f"{key}: {_end(one)}" for key, one in of_trained(results).items())
    others = "; ".join(f"{n}: {_end(untrained.sel({schema.NETWORK: [n]}))}" for n in untrained[schema.NETWORK].values)
    units, steps = schema.settings(untrained)["units"], int(untrained[schema.TIME][-1])
    return (
        f"Moduli of the eigenvalues at the end, mean ± standard deviation, and the largest singular value. Trained, "
        f"one network each, along a test sequence: {ends}. Untrained, with {units} units after {steps:,} steps of "
        f"noise: {others}."
    )


def _end(one: xr.Dataset) -> str:
    known, spread = np.isfinite(one["mean"][0, -1]), np.exp(float(one["spread"][0, -1]))
    bound, deviation = ("", f" ± {spread:.2g}") if known else ("at most ", "")
    return f"{bound}{power(mean_at_end(one))}{deviation} ({power(float(one['largest'][0, -1]))})"


def _of_step(ds: xr.Dataset) -> dict[float, list[str]]:
    """The untrained networks by their ε."""
    names = ds[schema.NETWORK].values.tolist()
    return {s: [name for name in names if name.startswith(f"ε = {s:g},")] for s in STEP_SIZES}
