"""What ERNN's inner iteration does, in a few sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.ernn.equilibria import CONTINUUM, NONE, ONE, SEVERAL
from dynlab.wording import counted, joined, number, share

CONVERGES, APPROACHES, FAILS = "converges", "still approaching", "does not converge"
NOT_YET = "does not approach yet"  # although the equilibrium attracts what is near it: undecided
NOWHERE = "no equilibrium to converge to"
SAID = {
    CONVERGES: "has come down to rounding",
    APPROACHES: "is still falling",
    NOT_YET: "has not begun to fall",
    FAILS: "does not fall",
}
WORDS = {
    ONE: "one equilibrium",
    SEVERAL: "several equilibria",
    CONTINUUM: "a continuum of equilibria",
    NONE: "no equilibrium that was found",
}


def verdict(ds: xr.Dataset) -> str:
    """The sentences for a Dataset of `dynlab.ernn_convergence`."""
    kinds, outcomes = ds["equilibrium_status"].values, ds["outcome"].values
    counts = [f"{WORDS[kind]} at {int((kinds == kind).sum())}" for kind in WORDS if (kinds == kind).any()]
    sentences = [f"Of {counted(kinds.size, 'step')} the inner flow has {joined(counts)}."]
    counts = [f"{SAID[one]} at {int((outcomes == one).sum())}" for one in SAID if (outcomes == one).any()]
    if counts:
        after = counted(ds.sizes[schema.ITERATION] - 1, "iteration")
        sentences.append(
            f"After {after} the distance to the equilibrium {joined(counts)} of {counted(outcomes.size, 'step')}."
        )
    if (outcomes == NOWHERE).any():
        sentences.append(_astray(ds, outcomes == NOWHERE))
    if np.isin(outcomes, (CONVERGES, APPROACHES)).any():
        sentences.append(_rates(ds, np.isin(outcomes, (CONVERGES, APPROACHES))))
    sentences.append(_conditions(ds))
    return " ".join(sentences)


def _astray(ds: xr.Dataset, nowhere: np.ndarray) -> str:
    """What the iteration does where it has no equilibrium."""
    speed = ds["speed"].values[nowhere]
    first = float(np.median(speed[:, 0]))
    finite = np.where(np.isfinite(speed), speed, np.inf)[:, -1]
    last = float(np.median(finite))
    behaviour = "does not come to rest" if np.isfinite(last) else "diverges"
    count = ds.sizes[schema.ITERATION] - 1
    end = number(last, 3) if np.isfinite(last) else "beyond the largest number"
    within = f"{number(first, 3)} to {end} in {counted(count, 'iteration')}"
    return f"Where there is none, the iteration {behaviour}: ‖F‖ goes from {within} (medians)."


def _rates(ds: xr.Dataset, converges: np.ndarray) -> str:
    settled = converges & (ds["settled"].values == 1)
    if not settled.any():
        last, predicted = ds.sizes[schema.ITERATION] - 1, np.median(ds["predicted_rate"].values[converges])
        within = counted(last, "iteration")
        return f"No measured rate has settled within {within}; the predicted one is {number(predicted)}."
    measured, predicted = ds["rate"].values[settled], ds["predicted_rate"].values[settled]
    worst = np.max(np.abs(measured / predicted - 1))
    return (
        f"The measured rate is {number(np.median(measured))} per iteration, the predicted one "
        f"{number(np.median(predicted))} (medians of {settled.sum()} rates that have settled); they differ by at most "
        f"{number(100 * worst, 1)} %."
    )


def _conditions(ds: xr.Dataset) -> str:
    parts = []
    for name, words in (("theorem2", "Theorem 2's condition holds"), ("corollary1", "Corollary 1's")):
        values = ds[name].values[np.isfinite(ds[name].values)]
        parts.append(f"{words} at {share((values < 1).mean())}" if values.size else f"{words} at none")
    return f"{parts[0]} of the iterates, {parts[1]}."
