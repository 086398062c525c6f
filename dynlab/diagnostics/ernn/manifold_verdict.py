"""Whether an ERNN moves on its equilibrium manifold, in one or two plain sentences with numbers."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.wording import counted, number

# A network counts as moving on its manifold where its largest distance is below this part of the states' size.
ON_MANIFOLD = 1e-6


def verdict(ds: xr.Dataset) -> str:
    """Sentences on the distance of each ERNN from its manifold, from a Dataset of `dynlab.ernn_manifold`."""
    settings = schema.settings(ds)
    s = "h_{k−1}" if settings["sign"] == 1 else "(−h_{k−1})"
    sentences = []
    for name in ds["network"].values:
        one = ds.sel(network=name)
        distances = one["distance"].values[:, 1:]
        if not np.isfinite(one["pair_sum"].values[:, 1:]).any():
            continue
        found = np.isfinite(distances)
        who = _who(str(name), settings)
        if not found.any():
            sentences.append(f"{who}: no equilibrium was found at any of {found.size:,} steps.")
            continue
        share = "" if found.all() else f" at the {found.sum():,} of {found.size:,} steps where z* was found"
        largest, middle = np.nanmax(distances), np.nanmedian(distances)
        size = np.nanmax(np.abs(one["pair_sum"].values))
        if largest <= ON_MANIFOLD * size:
            steps = f"over {counted(distances.shape[-1], 'step')}" if found.all() else share.strip()
            to = f"to {number(largest, 2)}" if largest else "exactly"
            sentences.append(f"{who}: h_k = z*(x_k) − {s} holds {to} {steps}.")
        else:
            away = number(largest, 2)
            away = f"{number(middle, 2)} (median) and up to {away}" if found.sum() > 1 else away
            sentences.append(f"{who}: h_k is off the manifold, {away} from z*(x_k) − {s}{share}.")
    return " ".join(sentences)


def _who(name: str, settings: dict[str, Any]) -> str:
    steps, eta = settings["inner"][name]
    return f"ERNN with K = {steps}, η = {number(eta, 3)}"
