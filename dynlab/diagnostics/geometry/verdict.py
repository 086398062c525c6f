"""The dimension of the states and the fixed points among them, in a few sentences."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.words import agree, counted, joined, number, share, with_error

MOST = 0.95  # of the variance, which the components named hold


def verdict(ds: xr.Dataset, averaged: str) -> str:
    """Say how many dimensions the states take up, and which fixed points lie among them.

    `averaged` describes the states: "100 steps of 16 sequences of flipflop".
    """
    ratio, error = float(ds["participation_ratio"]), float(ds["participation_ratio_error"])
    if not np.isfinite(ratio):
        return f"All states along {averaged} are constant or leave the bound: their dimension is unknown. {_points(ds)}"
    held = np.cumsum(ds["explained_variance"].values)
    count = min(int(np.searchsorted(held, MOST)) + 1, len(held))
    known = with_error(ratio, error) if np.isfinite(error) else number(ratio, 3)
    return (
        f"Over {averaged} the states take up {known} of {counted(len(held), 'dimension')} (participation ratio). "
        f"{counted(count, 'principal component')} {agree(count, 'holds', 'hold')} {share(float(held[count - 1]))} of "
        f"the variance. {_points(ds)}"
    )


def _points(ds: xr.Dataset) -> str:
    alone = ds["status"].values == "fixed point"
    names = map(_named, ds["stable"].values[alone], ds["unstable_directions"].values[alone])
    counts, others = Counter(names), Counter(ds["status"].values[~alone].tolist())
    also = f" Also found: {joined([f'{count} {status}' for status, count in others.items()])}." if others else ""
    settings = schema.settings(ds)
    noun = "equilibrium" if schema.of_flow(ds["eigenvalue"]) else "fixed point"
    if not counts:
        return f"No nondegenerate {noun} was found.{also}"
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    listed = joined([f"{count} {name}" for name, count in counts.items()])
    said = f"{counted(int(alone.sum()), noun)} ({listed})."
    return under_input(said, at, settings["input"]) + also


def _named(stable: int, unstable: int) -> str:
    return "stable" if stable == 1 else f"with {counted(unstable, 'growing direction')}" if unstable else "undecided"
