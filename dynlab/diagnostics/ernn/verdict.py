"""What ERNN's inner iteration does, in a few sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.ernn.equilibria import CONTINUUM, NONE, ONE, SEVERAL

CONVERGES, APPROACHES, FAILS = "converges", "still approaching", "does not converge"
NOT_YET = "does not approach yet"  # although the equilibrium attracts what is near it: undecided
NOWHERE = "no equilibrium to converge to"
OUTCOMES = (CONVERGES, APPROACHES, NOT_YET, FAILS)
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
    steps = f"Of {kinds.size} steps" if kinds.size > 1 else "Of 1 step"
    sentences = [f"{steps} the inner flow has {', '.join(counts)}."]
    counts = [f"{outcome} at {int((outcomes == outcome).sum())}" for outcome in OUTCOMES]
    counts = [text for text in counts if not text.endswith(" 0")]
    if counts:
        sentences.append(f"The iteration {', '.join(counts).replace(APPROACHES, f'is {APPROACHES} it')}.")
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
    end = f"{last:.3g}" if np.isfinite(last) else "beyond the largest number"
    iterations = f"{count} iteration{'s' if count > 1 else ''}"
    return f"Without one it {behaviour}: ‖F‖ goes from {first:.3g} to {end} in {iterations} (medians)."


def _rates(ds: xr.Dataset, converges: np.ndarray) -> str:
    settled = converges & (ds["settled"].values == 1)
    if not settled.any():
        last, predicted = ds.sizes[schema.ITERATION] - 1, np.median(ds["predicted_rate"].values[converges])
        within = f"{last} iteration{'s' if last > 1 else ''}"
        return f"No measured rate has settled within {within}; the predicted one is {predicted:.4f}."
    measured, predicted = ds["rate"].values[settled], ds["predicted_rate"].values[settled]
    worst = 100 * np.max(np.abs(measured / predicted - 1))
    return (
        f"Measured rate {np.median(measured):.4f} per iteration against the predicted {np.median(predicted):.4f}, "
        f"medians of {settled.sum()} rates that have settled; they differ by {worst:.1g} % at most."
    )


def _conditions(ds: xr.Dataset) -> str:
    parts = []
    for name, words in (("theorem2", "Theorem 2's condition holds"), ("corollary1", "Corollary 1's")):
        values = ds[name].values[np.isfinite(ds[name].values)]
        parts.append(f"{words} at {100 * (values < 1).mean():.0f} %" if values.size else f"{words} nowhere")
    return f"{parts[0]} of the iterates, {parts[1]}."
