"""What a plane of starts leads to, in two sentences."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema

FRACTAL = float(np.log(2))  # nats: more than a smooth border of two basins can have


def verdict(ds: xr.Dataset) -> str:
    """The attractors and their shares, and how uncertain a start's fate is."""
    settings = schema.settings(ds)
    basin = ds["basin"].values
    kinds = ds["attractor_class"].values.tolist()
    said = f"{basin.size:,} starts followed for {settings['steps']:,} steps end on " + (_listed(ds, kinds) or "nothing")
    for number, words in ((-1, "leave every bound"), (-2, "have not settled, undecided")):
        share = float((basin == number).mean())
        if share:
            said += f"; {share:.1%} {words}"
    border = float(ds["boundary_basin_entropy"])
    if np.isnan(border):
        return f"{said}. No border between basins was met."
    more = " above ln 2 = 0.693, as only fractal borders have it" if border > FRACTAL else ""
    return f"{said}. The basin entropy is {float(ds['basin_entropy']):.3f}, on borders {border:.3f}{more}."


def _listed(ds: xr.Dataset, kinds: list[str]) -> str:
    parts = []
    for kind, count in Counter(kinds).items():
        share = float(ds["share"].values[[one == kind for one in kinds]].sum())
        parts.append(f"{count} {kind}{'s' if count > 1 else ''} ({share:.1%})")
    return ", ".join(parts)
