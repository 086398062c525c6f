"""Where the states lie, in a few sentences."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.wording import counted, joined, number, share, with_error

MOST = 0.95  # of the variance, which the components named hold


def verdict(ds: xr.Dataset, averaged: str) -> str:
    """Return how many dimensions the states take up, and which fixed points lie among them.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.geometry`, but for its verdict.
    averaged : str
        Over what: "100 steps of 16 sequences of flipflop".
    """
    return f"{_dimension(ds, averaged)} {_points(ds)}"


def _dimension(ds: xr.Dataset, averaged: str) -> str:
    ratio, error = float(ds["participation_ratio"]), float(ds["participation_ratio_error"])
    n = ds.sizes[schema.STATE]
    if np.isnan(ratio):
        return f"Along {averaged} nothing varies that stays within the bound: no dimension is known."
    held = np.cumsum(ds["explained_variance"].values)
    count = min(int(np.searchsorted(held, MOST)) + 1, n)
    known = with_error(ratio, error) if np.isfinite(error) else number(ratio, 3)
    components = "The first principal component holds" if count == 1 else f"{count} principal components hold"
    return (
        f"Over {averaged} the states take up {known} of {counted(n, 'dimension')} (participation ratio). {components} "
        f"{share(float(held[count - 1]))} of the variance."
    )


def _points(ds: xr.Dataset) -> str:
    alone = ds["status"].values == "fixed point"
    counts = Counter(
        zip(ds["stable"].values[alone].tolist(), ds["unstable_directions"].values[alone].tolist(), strict=True)
    )
    others = Counter(ds["status"].values[~alone].tolist())
    also = f" Also found: {joined([f'{count} {status}' for status, count in others.items()])}." if others else ""
    if not counts:
        return f"No isolated fixed point was found.{also}"
    listed = joined([f"{count} {_named(*kind)}" for kind, count in counts.items()])
    settings = schema.settings(ds)
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    said = f"{counted(int(alone.sum()), 'fixed point')} ({listed})."
    return f"{under_input(said, at) if settings['input'] else said}{_connections(ds)}{also}"


def _connections(ds: xr.Dataset) -> str:
    traced = np.isfinite(ds["unstable_manifold"].values).all(axis=(1, 2, 3))
    if not traced.any():
        return ""
    reached = int((ds["leads_to"].values[traced] >= 0).sum())
    steps = schema.settings(ds)["curve_steps"]
    return (
        f" Of {counted(2 * int(traced.sum()), 'branch')} of unstable manifolds, {reached} end at a stable fixed point "
        f"within {steps:,} steps."
    )


def _named(stable: int, unstable: int) -> str:
    if stable == 1:
        return "stable"
    return f"with {counted(unstable, 'growing direction')}" if unstable else "undecided"
