"""Figure 2 of the AntisymmetricRNN paper: eigenvalues of ∂h_t/∂h_0 over time for an LSTM and AntisymmetricRNNs.

The paper draws networks that learned noise-padded CIFAR-10. Those of the zoo are drawn where it has them, beside
networks at their start under the noise that pads. Singular values stand below: eigenvalues of a product that is not
normal hide how much it stretches.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from dynlab import schema, zoo
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.systems import Map, create
from dynlab.tasks import driving_inputs
from dynlab.trajectories.driven import chosen_steps
from dynlab.words import joined, power

from .kept import Results
from .scripts import Drawn, Script

TASK, INPUTS = "noisy-cifar", 96
STEPS, FEW = 1000, 40
UNITS, FEW_UNITS = 128, 16
TIMES = 41
GAMMAS, STEP_SIZES = (0.001, 0.01, 0.1, 1.0), (0.01, 0.1)  # of the paper's grids
SEED = 0
COLOURS = (style.BLUE, style.GREEN, style.ORANGE, style.VERMILION)
OTHERS = (style.BLACK, style.PURPLE)
RANGES = (-32.0, 10.0), (-12.0, 1.5), (-32.0, 10.0)  # of ln |μ| and ln σ that is drawn, in each column


def compute(fast: bool) -> Results:
    """An LSTM and AntisymmetricRNNs of the grid at their start, and what of them the zoo has trained."""
    steps, units = (FEW, FEW_UNITS) if fast else (STEPS, UNITS)
    noise = np.random.default_rng(SEED).normal(size=(1, steps, INPUTS))
    times = chosen_steps(steps, TIMES)
    found = {"LSTM": _along(_start("lstm", hidden_size=units, forget_bias=1.0), noise, times)}
    for step_size in STEP_SIZES:
        for gamma in GAMMAS:
            system = _start("antisymmetric", state_size=units, step_size=step_size, gamma=gamma)
            found[f"ε = {step_size:g}, γ = {gamma:g}"] = _along(system, noise, times)
    for entry in zoo.entries():
        if entry["task"] == TASK:
            system = zoo.load(entry["name"])
            inputs = driving_inputs(None, system, samples=1, shipped=True).inputs
            found[f"trained {entry['name']}"] = _along(system, inputs[:, : times[-1]], times)
    names = {
        "mean": "ln mean |λ| of ∂h_t/∂h_0",
        "spread": "ln deviation of |λ| of ∂h_t/∂h_0",
        "largest": "ln largest singular value",
        "middle": "ln middle singular value",
    }
    values = np.array([[one[key] for key in names] for one in found.values()])
    dims = (schema.NETWORK, schema.TIME)
    ds = schema.dataset(
        {key: schema.variable(dims, values[:, i], text) for i, (key, text) in enumerate(names.items())},
        system="lstm, antisymmetric",
        settings={"units": units, "steps": steps, "inputs": INPUTS, "sigma_w": 1.0, "seed": SEED},
        method="dynlab.end_to_end, one sequence of independent normal noise; trained networks on their own task",
        coords={schema.NETWORK: list(found), schema.TIME: schema.time_coordinate(times)},
    )
    return {"eigenvalues": ds}


def _start(name: str, **config: Any) -> Map:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        system = create(name, input_size=INPUTS, **config).double()
    if not isinstance(system, Map):
        raise TypeError(f"{name} is {type(system).__name__}")
    return system


def _along(system: Map, inputs: Any, times: NDArray[np.int64]) -> dict[str, Real]:
    """Logarithms: mean and standard deviation of the eigenvalues' moduli, the largest and the middle singular value."""
    ds = end_to_end(system, inputs, times=len(times)).isel({schema.SAMPLE: 0})
    singular = ds["log_singular_value"].values
    return {
        "mean": ds["log_mean_modulus"].values,
        "spread": ds["log_std_modulus"].values,
        "largest": singular[:, 0],
        "middle": singular[:, singular.shape[1] // 2],
    }


def draw(results: Results) -> Drawn:
    """Draw eigenvalues above and singular values below: the LSTM and what is trained, and a column for each ε."""
    ds = results["eigenvalues"]
    names = ds[schema.NETWORK].values.tolist()
    others = [name for name in names if not name.startswith("ε")]
    columns = {" and ".join(others): others}
    columns |= {f"AntisymmetricRNN,\nε = {s:g}": [n for n in names if n.startswith(f"ε = {s:g},")] for s in STEP_SIZES}
    figure, axes = plt.subplots(2, 3, sharex=True, sharey="col")
    named: dict[str, Any] = {}
    for (above, below), (group, shown), limits in zip(axes.T, columns.items(), RANGES, strict=True):
        colours = COLOURS if group.startswith("AntisymmetricRNN") else OTHERS * len(shown)
        for name, colour in zip(shown, colours, strict=False):
            one = ds.sel({schema.NETWORK: name})
            named[name.rpartition(", ")[2]] = _lines(one, ("mean", "spread"), colour, above)
            _lines(one, ("largest", "middle"), colour, below)
        above.set_title(f"{group}\neigenvalues μ", fontsize="medium")
        below.set_title("singular values σ", fontsize="medium")
        below.set(xlabel="step t", ylim=limits)
    axes[0, 0].set_ylabel("ln of mean and standard deviation of |μ|")
    axes[1, 0].set_ylabel("ln of largest and middle σ")
    named |= {
        "mean of |μ|, largest σ": Line2D([], [], color=style.GREY),
        "standard deviation of |μ|, middle σ": Line2D([], [], color=style.GREY, ls="--", lw=1),
    }
    return Drawn(figure, measured(ds), named)


def _lines(one: xr.Dataset, names: tuple[str, str], colour: str, ax: Axes) -> Any:
    """Draw the first of two measurements solid, the second dashed."""
    ax.axhline(0, color=style.BLACK, ls=":", lw=1, zorder=5)
    ax.plot(one[schema.TIME], one[names[1]], color=colour, lw=1, ls="--")
    return ax.plot(one[schema.TIME], one[names[0]], color=colour, alpha=0.7)[0]


def measured(ds: xr.Dataset) -> str:
    """The means at the end, and where the singular values say otherwise."""
    last = ds.isel({schema.TIME: -1})
    names = ds[schema.NETWORK].values.tolist()

    def told(name: str, which: list[str]) -> str:
        return joined([power(float(last[name].sel({schema.NETWORK: one}))) for one in which])

    others = [one for one in names if not one.startswith("ε")]
    groups = {s: [one for one in names if one.startswith(f"ε = {s:g},")] for s in STEP_SIZES}
    said = []
    for name, words in {"mean": "mean modulus of the eigenvalues μ", "largest": "largest singular value σ"}.items():
        said.append(f"The {words} is {joined([f'{told(name, [one])} ({one})' for one in others])}")
        said += [f"With ε = {s:g} and {_diffusions(which)} it is {told(name, which)}" for s, which in groups.items()]
    trained = any(name.startswith("trained") for name in names)
    which = "Beside them trained networks" if trained else "Trained networks are not in the zoo yet: not run"
    return (
        f"Untrained networks of {schema.settings(ds)['units']} units, after {int(last[schema.TIME]):,} steps of noise. "
        f"{'. '.join(said)}. {which}."
    )


def _diffusions(names: list[str]) -> str:
    """The γ of several networks: "γ = 0.01 and 0.1"."""
    return f"γ = {joined([name.rpartition('γ = ')[2] for name in names])}"


figure = Script("antisymmetric-2", draw, (12.0, 7.4), compute)
