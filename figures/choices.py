"""The settings that AntisymmetricRNN's paper leaves open: what was tried on held-out images, and what was taken.

Each is a short training of the queue. The long trainings take those of the candidate that is best on the images held
out; the test split chooses nothing.
"""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.words import joined

from .scores import DIVERGED, NOT_RUN
from .scripts import Table, table_script, trainings
from .training_queue import Queued, held_out_accuracy, queue

SETTINGS = {"step_size": "ε", "gamma": "γ", "sigma_w": "σ_w"}  # beside the learning rate
TAKEN = "taken"
GUESS, NEAR = 10.0, 1.0  # percent: of ten classes, and what is not told from it on 5,000 images or more


def candidates() -> list[list[Queued]]:
    """Return the trainings that choose, of each network together."""
    groups = dict.fromkeys(one.candidates for one in queue().values() if one.candidates)  # seeds share theirs
    return [[queue()[name] for name in names] for names in groups]


def tried(recorded: xr.Dataset) -> xr.Dataset:
    """The settings of each candidate, and how accurate it was on held-out images.

    Parameters
    ----------
    recorded : Dataset
        As ``make queue-results`` writes it.

    Returns
    -------
    Dataset
        ``lr``, ``step_size``, ``gamma``, ``sigma_w``, ``iterations``, ``accuracy`` in percent and ``outcome``
        (training).
    """
    rows: dict[str, dict[str, Any]] = {}
    for each in candidates():
        scores = [held_out_accuracy(recorded, one.name) for one in each]
        ran = [one.name in recorded[schema.TRAINING].values for one in each]
        best = int(np.nanargmax(scores)) if all(ran) and np.isfinite(scores).any() else -1
        for number, one in enumerate(each):
            row = recorded.sel({schema.TRAINING: one.name}) if ran[number] else None
            lost = row is not None and bool(str(row["diverged"].values))
            rows[one.name] = {
                "lr": one.run.settings.lr,
                **{name: float(one.run.config.get(name, np.nan)) for name in SETTINGS},
                "iterations": 0 if row is None else int(row["iterations"]),
                "accuracy": scores[number],
                "outcome": TAKEN if number == best else NOT_RUN if row is None else DIVERGED if lost else "",
            }
    words = {
        "lr": "learning rate",
        "accuracy": "accuracy on held-out images in percent",
        "outcome": "what became of it",
    }
    columns = {name: np.array([row[name] for row in rows.values()]) for name in next(iter(rows.values()))}
    flags = dict.fromkeys(SETTINGS, "the network has no such setting")
    return schema.dataset(
        {name: schema.variable((schema.TRAINING,), each, words.get(name, name)) for name, each in columns.items()},
        system="several",
        settings={},
        method="the settings that are best on held-out training images are taken, the first of equals",
        coords={schema.TRAINING: list(rows)},
        flags=flags | {"accuracy": "no training, or it diverged in its first epoch"},
    )


@table_script("choices")
def table() -> Table:
    """Return every candidate with its settings, its held-out accuracy and what became of it."""
    ds = tried(trainings())
    numeric = ["learning rate", *SETTINGS.values(), "iterations", "on held-out images"]
    return Table(
        "choices",
        _measured(ds),
        ["training", *numeric, "outcome"],
        [_row(ds.sel({schema.TRAINING: name})) for name in ds[schema.TRAINING].values],
        numeric,
        ds,
    )


def _row(one: xr.Dataset) -> list[str]:
    settings = ["" if np.isnan(one[name]) else f"{float(one[name]):g}" for name in ("lr", *SETTINGS)]
    accuracy = "" if np.isnan(one["accuracy"]) else f"{float(one['accuracy']):.2f}"
    name, outcome = (str(one[of].values) for of in (schema.TRAINING, "outcome"))
    return [name, *settings, f"{int(one['iterations']):,}", accuracy, outcome]


def _measured(ds: xr.Dataset) -> str:
    """How many were tried, and whose choice is a guess."""
    names, ran = ds[schema.TRAINING].values, ds["iterations"].values[ds["iterations"].values > 0]
    taken = ds["outcome"].values == TAKEN
    low = [str(name).rpartition("-")[0] for name in names[taken & (ds["accuracy"].values < GUESS + NEAR)]]
    told = f" The best of {joined(low)} is within {NEAR:g} point of guessing: that choice is a guess." if low else ""
    return (
        f"Of {int(taken.sum())} networks {len(names)} short trainings chose the settings, with seed 0 and "
        f"{int(ran.min()):,} to {int(ran.max()):,} iterations each. What is best on held-out training images was taken "
        f"for the long training, whatever its seed. The accuracies are those of the best of three epochs.{told}"
    )
