"""Copying memory over 2,000 steps: the singular values of ∂h_T/∂h_0 while orthogonal networks learn it.

What is drawn was measured on the checkpoints that ``make queue`` keeps of its trainings, every 500 steps of 4,000. It
lies in ``copying_modes.nc`` beside this file.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from dynlab import io, schema, zoo
from dynlab.errors import UserError
from dynlab.gallery.copying import NAMES
from dynlab.gallery.made import Made
from dynlab.numerics.arrays import Real
from dynlab.numerics.plain_product import FAILING, plain_products, plain_singular_values
from dynlab.plots import style
from dynlab.systems import Map
from dynlab.tasks import create
from dynlab.training.queue.folder import home, run_folder
from dynlab.trajectories.driven import drive
from dynlab.wording import joined, power

RECORDED = Path(__file__).parent / "copying_modes.nc"
NETWORKS = ("exprnn", "dtriv", "scornn", "asrnn")
DELAY, SEED = 2000, 0
KNOWN = 0.1  # of ln σ: a value that is less sure is left out
KEPT = np.log(0.1)  # a direction with a larger σ keeps a tenth of its length
APART = 2000  # steps between two numbers below a panel
LOWEST = -12.0  # of ln σ that is drawn
TITLE = "Copying memory (asRNN): what ∂h_T/∂h_0 keeps while networks learn"
CLAIM = (
    "Gradients of orthogonal networks are constrained to unit norms; asRNN adjusts how far it saturates, and enjoys "
    "the same stability in training (the source's abstract; it draws no singular values over training)."
)


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The recorded values, a panel for each network; fast is every second checkpoint."""
    if recompute:
        io.save(record(), RECORDED, overwrite=True)
    recorded = io.open(RECORDED)
    if fast:
        recorded = recorded.isel({schema.TRAINING_STEP: slice(None, None, 2)})
    with style.style((11.5, 4.6)) as size:
        figure, axes = plt.subplots(1, len(NETWORKS), figsize=size, sharex=True, sharey=True)
        for ax, name in zip(axes, recorded[schema.NETWORK].values, strict=True):
            _panel(recorded.sel({schema.NETWORK: name}), str(name), ax)
        axes[0].set(ylabel="ln σ of $∂h_T/∂h_0$", ylim=(LOWEST, None))
        handles, labels = axes[0].get_legend_handles_labels()
        style.caption(figure, style.subscripts(TITLE), _caption(recorded), dict(zip(labels, handles, strict=True)))
    return Made(TITLE, CLAIM, measured(recorded), figure, {"modes": recorded})


def _panel(one: xr.Dataset, name: str, ax: Axes) -> None:
    steps, values = one[schema.TRAINING_STEP].values, one["log_singular_value"].values
    ax.axhline(0, color=style.BLACK, ls=":", lw=1, label="σ = 1: keeps its length")
    every = ax.plot(steps, values, ".", color=style.GREY, ms=2.5, rasterized=True)
    every[0].set_label("every σ")
    ax.plot(steps, np.nanmax(values, axis=1), color=style.VERMILION, marker="^", ms=6, label="the largest σ")
    middle: dict[str, Any] = {"color": style.BLUE, "marker": "o", "ms": 4, "label": "the middle σ"}
    ax.plot(steps, values[:, int(one["units"]) // 2], **middle)
    if not values[-1, int(one["units"]) // 2] > LOWEST:
        ax.text(0.97, 0.03, "↓ middle σ", transform=ax.transAxes, ha="right", color=style.BLUE, bbox=style.ground(ax))
    ax.axhline(KEPT, color=style.BLACK, ls="--", lw=0.8, label="σ = 1/10")
    ax.set(xlabel="step of the training", title=name)
    ax.xaxis.set_major_locator(MultipleLocator(APART))


def record() -> xr.Dataset:
    """The singular values of one sequence at every checkpoint of the four trainings; minutes.

    Raises
    ------
    UserError
        Where the queue's folder does not hold them.
    """
    task = create("copying", symbols=10, delay=DELAY, convention="overlap", train_size=1, fresh=True, retrain=True)
    inputs = np.asarray(task.test.inputs[:1])
    found = []
    for network in NETWORKS:
        files = sorted(run_folder(home(), f"copying-{DELAY}-{network}").glob("step-*.ckpt"))
        if not files:
            raise UserError(f"There are no checkpoints of copying-{DELAY}-{network}: `make queue` trains it.")
        rows = [_log_singular_values(zoo.load(file), inputs) for file in files]
        steps = [int(file.stem.rpartition("-")[2]) for file in files]
        found.append((steps, np.array(rows)))
    modes = max(rows.shape[1] for _, rows in found)
    values = np.array([np.pad(rows, ((0, 0), (0, modes - rows.shape[1])), constant_values=np.nan) for _, rows in found])
    return schema.dataset(
        {
            "log_singular_value": schema.variable(
                (schema.NETWORK, schema.TRAINING_STEP, schema.MODE),
                values.astype(np.float32),
                "ln σ of ∂h_T/∂h_0 for one sequence, decreasing; NaN where it is not known to 0.1",
            ),
            "units": schema.variable((schema.NETWORK,), [rows.shape[1] for _, rows in found], "units"),
        },
        system="exprnn, scornn, asrnn",
        settings={"task": "copying", "delay": DELAY, "sample": 0, "seed": SEED},
        method="dynlab.numerics.plain_product: one product of all Jacobians, with a bound on its error",
        coords={schema.NETWORK: [NAMES[network] for network in NETWORKS], schema.TRAINING_STEP: found[0][0]},
    )


def _log_singular_values(system: Map, inputs: Real) -> Real:
    driven = drive(system, inputs, None, dtype="float64", device="cpu", seed=SEED, inputs_description="copying")
    n = system.state_size
    last = None
    for products in plain_products(driven.factors(range(driven.steps, 0, -1)), 1, n, FAILING, SEED):
        last = products[-1:]
    if last is None:
        raise ValueError("a sequence without steps")
    value, wrong, _ = plain_singular_values(last)
    return np.where(wrong[0, 0] <= KNOWN, value[0, 0], np.nan)


def _caption(recorded: xr.Dataset) -> str:
    last = {str(name).split(",")[0]: above(recorded, name)[1] for name in recorded[schema.NETWORK].values}
    units = recorded["units"].values
    middle = [one[-1, n // 2] for one, n in zip(recorded["log_singular_value"].values, units, strict=True)]
    low = [name for name, value in zip(last, middle, strict=True) if not value > LOWEST]
    return (
        f"One sequence, T = {DELAY + 20:,} steps; every σ whose ln is known to {KNOWN:g}. "
        f"Trained, {joined([f'{name} keeps {count}' for name, count in last.items()])} directions to a tenth or more. "
        f"{f'The middle σ of {joined(low)} falls below what is drawn. ' if low else ''}"
        "asRNN's D_f stays 1e−5: its cell is linear, and every σ is 1."
    )


def above(recorded: xr.Dataset, name: str) -> tuple[int, int]:
    """How many directions keep a tenth of their length or more, untrained and trained."""
    values = recorded["log_singular_value"].sel({schema.NETWORK: name}).values
    return int((values[0] > KEPT).sum()), int((values[-1] > KEPT).sum())


def measured(recorded: xr.Dataset) -> str:
    """The largest one, and how many are not small, untrained and trained."""
    said = []
    for name in recorded[schema.NETWORK].values:
        values = recorded["log_singular_value"].sel({schema.NETWORK: name}).values
        first, last = (power(float(np.nanmax(row))) for row in (values[0], values[-1]))
        before, after = above(recorded, name)
        network, _, units = str(name).partition(", ")
        said.append(
            f"Of {network} ({units}) it is {first} and {last}, and {before} and {after} singular values are above 1/10"
        )
    return (
        f"Singular values of ∂h_T/∂h_0 over {DELAY + 20:,} steps of one sequence. Of each network the largest one is "
        f"told, untrained and trained, and how many are above 1/10. {'. '.join(said)}. asRNN's D_f is the source's, "
        "1e-5 for good. So its cell is linear and orthogonal, and never saturates."
    )
