"""Copying memory over 2,000 steps: the singular values of ∂h_T/∂h_0 while orthogonal networks learn it.

What is drawn was measured on the checkpoints that ``make queue`` keeps of its trainings, every 500 steps of 4,000.
"""

from collections import deque
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from dynlab import schema, zoo
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.plain_product import FAILING, plain_products, plain_singular_values
from dynlab.plots import style
from dynlab.systems import Map
from dynlab.tasks import create
from dynlab.trajectories.driven import drive
from dynlab.words import power

from .copying import NAMES
from .scripts import Drawn, Panels, Results, script

NETWORKS = ("exprnn", "dtriv", "scornn", "asrnn")
DELAY, SEED = 2000, 0
KNOWN = 0.1  # of ln σ: a value that is less sure is left out
KEPT = np.log(0.1)  # a direction with a larger σ keeps a tenth of its length
APART = 2000  # steps between two numbers below a panel
RUNS = Path("runs/queue")  # where `make queue` trains
LOWEST = -12.0  # of ln σ that is drawn


def compute(fast: bool) -> Results:
    """Return the singular values of one sequence at every checkpoint of the four trainings; minutes.

    Raises
    ------
    UserError
        If the queue's folder does not hold them.
    """
    task = create("copying", symbols=10, delay=DELAY, convention="overlap", train_size=1, fresh=True, retrain=True)
    inputs = np.asarray(task.test.inputs[:1])
    found = []
    for network in NETWORKS:
        files = sorted((RUNS / f"copying-{DELAY}-{network}").glob("step-*.ckpt"))
        if not files:
            raise UserError(f"There are no checkpoints of copying-{DELAY}-{network}: `make queue` trains it.")
        rows = np.array([_log_singular_values(zoo.load(file), inputs) for file in files])
        found.append(([int(file.stem.rpartition("-")[2]) for file in files], rows))
    modes = max(rows.shape[1] for _, rows in found)
    values = np.array([np.pad(rows, ((0, 0), (0, modes - rows.shape[1])), constant_values=np.nan) for _, rows in found])
    ds = schema.dataset(
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
    return {"modes": ds}


def _log_singular_values(system: Map, inputs: Real) -> Real:
    driven = drive(system, inputs, None, dtype="float64", device="cpu", seed=SEED, inputs_description="copying")
    products = plain_products(driven.factors(range(driven.steps, 0, -1)), 1, system.state_size, FAILING, SEED)
    value, wrong, _ = plain_singular_values(deque(products, maxlen=1).pop()[-1:])
    return np.where(wrong[0, 0] <= KNOWN, value[0, 0], np.nan)


@script("copying-modes", (11.5, 4.6), compute, ncols=len(NETWORKS), sharex=True, sharey=True)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the recorded values, a panel for each network."""
    recorded = results["modes"]
    for ax, name in zip(axes, recorded[schema.NETWORK].values, strict=True):
        _panel(recorded.sel({schema.NETWORK: name}), str(name), ax)
    axes[0].set(ylabel="ln σ of $∂h_T/∂h_0$", ylim=(LOWEST, None))
    return Drawn(measured(recorded), style.entries(axes[0]))


def _panel(one: xr.Dataset, name: str, ax: Axes) -> None:
    steps, values = one[schema.TRAINING_STEP].values, one["log_singular_value"].values
    ax.axhline(0, color=style.BLACK, ls=":", lw=1, label="σ = 1: keeps its length")
    ax.plot(steps, values, ".", color=style.GREY, ms=2.5, rasterized=True)[0].set_label("every σ")
    ax.plot(steps, np.nanmax(values, axis=1), "^-", color=style.VERMILION, ms=6, label="the largest σ")
    ax.plot(steps, values[:, int(one["units"]) // 2], "o-", color=style.BLUE, ms=4, label="the middle σ")
    ax.axhline(KEPT, color=style.BLACK, ls="--", lw=0.8, label="σ = 1/10")
    ax.set(xlabel="step of the training", title=name)
    ax.xaxis.set_major_locator(MultipleLocator(APART))


def above(recorded: xr.Dataset, name: str) -> tuple[int, int]:
    """Return how many directions keep a tenth of their length or more, untrained and trained."""
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
