"""Figure 2 of the ERNN paper: how large the gradient of h_T with respect to h_1 is while RNN and ERNN learn HAR-2.

What is drawn was measured on the checkpoints of four trainings, recorded in ``ernn_2.nc`` beside this file; its
attributes say with which commands. They take a few minutes and the whole of HAR-2, which does not ship with dynlab.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import io, schema
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.over_training import plot_over_training
from dynlab.wording import joined, percent, power

RECORDED = Path(__file__).parent / "ernn_2.nc"
ANALYSIS = "dynlab gradient FOLDER/step-*.ckpt --over step"
LOOK = {
    "RNN, tanh": {"color": style.VERMILION, "marker": "^"},
    "RNN, ReLU from the identity": {"color": style.ORANGE, "marker": "s"},
    "ERNN, K = 1": {"color": style.BLUE, "marker": "o"},
    "ERNN, K = 5": {"color": style.GREEN, "marker": "D"},
}

TITLE = "ERNN, Figure 2: the gradient while the network learns"


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The recorded runs; fast is every fourth of their checkpoints. To record again needs the trainings."""
    recorded = io.open(RECORDED)
    if fast:
        recorded = recorded.isel({schema.TRAINING_STEP: slice(None, None, 4)})
    runs = {name: _one(recorded, name) for name in LOOK}
    with style.style((11.5, 4.8)) as size:
        figure, axes = plt.subplots(1, 2, figsize=size, sharex=True)
        for ax, names in zip(axes, (list(LOOK), ["ERNN, K = 1", "ERNN, K = 5"]), strict=True):
            ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
            for name in names:
                plot_over_training(runs[name], ax=ax, label=name, **LOOK[name])
        axes[0].set_title("All: whatever is far below 0 has vanished")
        axes[1].set_title("ERNNs closer up; Theorem 1 says 0")
        handles, words = axes[0].get_legend_handles_labels()
        for ax in axes:
            ax.get_legend().remove()
        kept = [index for index, text in enumerate(words) if text.endswith("median")]
        names = [words[index].removesuffix(": median") for index in kept]
        style.caption(figure, TITLE, _caption(runs), dict(zip(names, [handles[i] for i in kept], strict=True)))
    return Made(
        TITLE,
        "On HAR-2 the RNN suffers from serious vanishing gradients in training, while ERNN's are close to 1; the "
        "variance arises mainly from the approximation of fixed points (section 2). Sizes, learning rates and the "
        "batches that were looked at are not given.",
        _measured(runs),
        figure,
        runs,
    )


def record(results: dict[str, xr.Dataset], commands: dict[str, str]) -> xr.Dataset:
    """What the command `ANALYSIS` gives for the four runs, as the file that this figure is drawn from.

    Parameters
    ----------
    results : dict of str to Dataset
        By the networks' names here.
    commands : dict of str to str
        The trainings.
    """
    chosen = [ds[["log_norm", "log_norm_error", "sha256"]].sel({schema.TIME: [1]}) for ds in results.values()]
    recorded = xr.concat(chosen, dim=schema.NETWORK, combine_attrs="drop_conflicts", join="exact")
    recorded = recorded.assign_coords({schema.NETWORK: list(results)})
    shared = [schema.settings(ds) for ds in results.values()]
    recorded.attrs |= {
        "system": "rnn, ernn",
        "commands": json.dumps(commands, ensure_ascii=False),
        "analysis": ANALYSIS,
        "settings": json.dumps(
            {key: value for key, value in shared[0].items() if all(one.get(key) == value for one in shared)}
        ),
    }
    return recorded


def _one(recorded: xr.Dataset, name: str) -> xr.Dataset:
    """One run as `dynlab.over_training` would have it."""
    ds = recorded.sel({schema.NETWORK: name}, drop=True)
    where = {schema.TIME: 0}  # of the times only t = 1 was recorded
    curve = {"variable": "log_norm", "isel": where, "name": "ln ‖∂h_T/∂h_1‖₂"}
    ds.attrs["panels"] = json.dumps([{"drawn": "bands", "curves": [curve]}])
    return ds


def _medians(ds: xr.Dataset) -> NDArray[np.float64]:
    """At each step of the training, the median over the sequences."""
    return np.asarray(ds["log_norm"].isel({schema.TIME: 0}).median(schema.SAMPLE).values)


def _later(ds: xr.Dataset) -> NDArray[np.float64]:
    """The medians in the second half of the training."""
    return _medians(ds)[len(_medians(ds)) // 2 :]


def _falls(runs: dict[str, xr.Dataset]) -> str:
    """How much of it the ReLU RNN's gradient keeps in the second half, from the least to the most."""
    low, high = np.exp(np.quantile(_later(runs["RNN, ReLU from the identity"]), [0.0, 1.0]))
    return f"{percent(float(low))} to {percent(float(high))}"


def _caption(runs: dict[str, xr.Dataset]) -> str:
    starts = joined([power(_medians(runs[name])[0]) for name in ("ERNN, K = 1", "ERNN, K = 5")])
    later = _later(runs["RNN, tanh"])
    return (
        f"Lines: medians of 16 test sequences; dark: their middle half, light: their range. The tanh RNN's gradient "
        f"vanishes ({power(later.min())} to {power(later.max())} in the second half). ERNN's comes near 1 as it "
        f"learns, from far above it ({starts}). That of a ReLU RNN from the identity falls to {_falls(runs)}."
    )


def _measured(runs: dict[str, xr.Dataset]) -> str:
    parts = []
    for name, ds in runs.items():
        medians = _medians(ds)
        later = _later(ds)
        parts.append(
            f"{name}: {power(medians[0])} untrained, {power(np.min(later))} to {power(np.max(later))} in the second "
            f"half"
        )
    steps = runs["ERNN, K = 1"][schema.TRAINING_STEP].values
    return (
        f"Medians of 16 of the test sequences that ship with dynlab, over {steps[-1]:,} training steps. "
        f"{'. '.join(parts)}. The tanh RNN's gradient vanishes throughout. ERNN's comes near 1 as the network learns, "
        "from far above it; Theorem 1 is not why, since with its learned η a step ends far from equilibrium (Figure "
        "6). The gradient of a ReLU RNN "
        f"that starts at the identity falls to {_falls(runs)} of its size in the second half. Recorded from one "
        "training each, whose commands the data file holds."
    )
