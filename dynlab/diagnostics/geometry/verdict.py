"""Where the states lie, in two sentences."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.geometry.unstable_manifold import STEPS, usual_steps
from dynlab.wording import counted, joined, number, share, with_error

MOST = 0.95  # of the variance, which the components named hold


def verdict(ds: xr.Dataset, averaged: str) -> str:
    """How many dimensions the states take up, and which fixed points lie among them.

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
    what = "participation ratio" + ", one standard error" * ("±" in known)
    part = share(float(held[count - 1]))
    components = f"The first principal component alone holds {part} of the variance"
    if count > 1:
        components = (
            f"It takes {count} principal components to hold {share(MOST)} of the variance, and these hold {part}"
        )
    return f"Over {averaged} the states take up {known} of {counted(n, 'dimension')} ({what}). {components}."


def _points(ds: xr.Dataset) -> str:
    found = ds.isel({schema.FIXED_POINT: ds["status"].values == "fixed point"})
    counts = Counter(
        _named(stable, unstable)
        for stable, unstable in zip(found["stable"].values, found["unstable_directions"].values, strict=True)
    )
    others = Counter(str(status) for status in ds["status"].values if status != "fixed point")
    also = f" Also found: {joined([counted(count, status) for status, count in others.items()])}." if others else ""
    if not counts:
        return f"No isolated fixed point was found.{also}"
    growing = [name for name in counts if "growing" in name]
    short = {name: " ".join(name.split()[:2]) for name in growing[1:]}  # "with 2" after "with 1 growing direction"
    listed = joined([f"{count} {short.get(name, name)}" for name, count in counts.items()])
    several = sum(counts.values())
    said = f"{several} fixed points ({listed})." if several > 1 else f"1 fixed point ({next(iter(counts))})."
    settings = schema.settings(ds)
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return f"{under_input(said, at) if settings['input'] else said}{_connections(ds)}{also}"


def _connections(ds: xr.Dataset) -> str:
    traced = np.isfinite(ds["unstable_manifold"].values).all(axis=(1, 2, 3))
    if not traced.any():
        return ""
    reached = int((ds["leads_to"].values[traced] >= 0).sum())
    n = ds.sizes[schema.STATE]
    count = int(traced.sum())
    saddle = "saddle" if n > 1 else "point"
    left = f"each of {count} {saddle}s" if count > 1 else f"1 {saddle}"
    followed = "both branches of the unstable manifold were followed"
    steps = schema.settings(ds)["curve_steps"]
    ends = f"{reached} of {2 * traced.sum()} end at a stable fixed point within {steps:,} steps"
    if steps == usual_steps(n) < STEPS:
        ends += f" (of {n:,} dimensions; for more --curve-steps, in Python curve_steps=)"
    return f" From {left} with 1 growing direction {followed}: {ends}."


def _named(stable: int, unstable: int) -> str:
    if stable == 1:
        return "stable"
    if unstable == 0:
        return "undecided"
    return f"with {counted(unstable, 'growing direction')}"
