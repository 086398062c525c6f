"""What a plane of starts leads to, in two sentences."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema

SURE = 3.0  # standard errors
FRACTAL = float(np.log(2))  # nats: more than a smooth border of two basins can have


def verdict(ds: xr.Dataset) -> str:
    """The attractors and their shares, and how uncertain a start's fate is."""
    settings = schema.settings(ds)
    basin = ds["basin"].values
    kinds = ds["attractor_class"].values.tolist()
    steps, longest = settings["steps"], int(ds["steps"].max())
    longer = f" (up to {longest:,} where still coming to rest)" if longest > steps else ""
    said = f"{basin.size:,} starts followed for {steps:,} steps{longer} end on " + (_listed(ds, kinds) or "nothing")
    for number, words in ((-1, "leave every bound"), (-2, "have not settled, undecided: more steps may tell")):
        count = int((basin == number).sum())
        if count:
            said += f"; {part(count, basin.size)} {words}"
    border = float(ds["boundary_basin_entropy"])
    if np.isnan(border):
        return f"{said}. No box of 5 × 5 starts has two basins."
    # boxes in which more than two basins meet at smooth borders are few: the more there are, the larger is the error
    surely = border - SURE * float(ds["boundary_basin_entropy_error"]) > FRACTAL
    more = " above ln 2 = 0.693, as only fractal borders have it" if surely else ""
    return f"{said}. The basin entropy is {float(ds['basin_entropy']):.3f}, on borders {border:.3f}{more}."


def _listed(ds: xr.Dataset, kinds: list[str]) -> str:
    parts = []
    for kind, count in Counter(kinds).items():
        starts = int(np.isin(ds["basin"].values, [number for number, one in enumerate(kinds) if one == kind]).sum())
        parts.append(f"{count} {_plural(kind) if count > 1 else kind} ({part(starts, ds['basin'].size)})")
    return ", ".join(parts)


def _plural(kind: str) -> str:
    if kind.endswith("torus"):
        return f"{kind.removesuffix('us')}i"
    head, of, rest = kind.partition(" of ")
    return f"{head}s{of}{rest}"


def part(count: int, whole: int) -> str:
    """A share in per cent; in starts where that would say none or all, and it is neither."""
    rounded = f"{count / whole:.1%}"
    if count == whole:
        return "all"
    return f"{count:,} of {whole:,}" if rounded in ("0.0%", "100.0%") else rounded
