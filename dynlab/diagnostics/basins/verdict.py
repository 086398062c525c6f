"""The sentences of basins: the attractors and their shares, what is undecided, and what limits the answer."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.trajectories.attractors import DRIFTS, LEAVES, UNDECIDED
from dynlab.words import agree, article, counted, joined, number, of_map, share, with_error

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted


def verdict(ds: xr.Dataset, is_flow: bool, fewer: int) -> str:
    """Return one or two sentences; `fewer` is the size of a network for which fewer starts were taken, else 0."""
    settings = schema.settings(ds)
    of = f" under Euler's map at ε = {number(settings['step_size'])}" if "step_size" in settings else ""
    starts = counted(ds["basin"].size, "start")
    said = f"Of {starts}{of}, {joined(_ends(ds, is_flow))}. {_limit(ds, fewer)}".strip()
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return under_input(said, at) if settings["input"] else said


def _ends(ds: xr.Dataset, is_flow: bool) -> list[str]:
    """Return how many starts on the plane end on attractors of each kind, leave, drift or are undecided."""
    basin, kinds, settings, found = ds["basin"].values, ds["attractor_class"].values, schema.settings(ds), []
    for kind in dict.fromkeys(kinds.tolist()):
        reached = np.intersect1d(np.flatnonzero(kinds == kind), basin)
        word = kind.replace("fixed point", "equilibrium") if is_flow else of_map(kind)
        what = article(word) if len(reached) == 1 or kind.startswith("continuum") else counted(len(reached), word)
        found.append((np.isin(basin, reached), "ends", "end", f"on {what}"))
    ways = counted(len(np.unique(basin[basin <= DRIFTS])), "direction")
    found.append((basin == LEAVES, "leaves", "leave", f"|h_i| ≤ {number(settings['largest_state'])}"))
    found.append((basin <= DRIFTS, "drifts", "drift", f"outward for ever in {ways}"))
    found.append((basin == UNDECIDED, "is", "are", f"undecided after {settings['steps']:,} steps"))
    return [f"{_some(here, one, several)} {where}" for here, one, several, where in found if here.any()]


def _some(here: NDArray[np.bool_], one: str, several: str) -> str:
    """Return how many starts do something: "1 start ends", "47.6 % end"."""
    count = int(here.sum())
    said = counted(count, "start") if count <= FEW else share(count / here.size)
    return f"{said} {agree(count, one, several)}"


def _limit(ds: xr.Dataset, fewer: int) -> str:
    """Return what limits the answer: attractors beyond the plane, a fractal border, or few starts."""
    missed, border = int(ds["missed_attractors"]), float(ds["boundary_basin_entropy"])
    error = float(ds["boundary_basin_entropy_error"])
    if missed:
        further = counted(missed, "further attractor")
        return f"{further} {agree(missed)} reached only from outside this plane, and listed with share 0."
    if fewer:
        grid = ds.sizes[schema.X]
        return f"This grid is {grid} × {grid} to save time, as the network has {fewer:,} parameters (--grid, grid=)."
    if border - SURE * error > np.log(2):
        return f"The basin entropy on borders is {with_error(border, error, 'nat')}, above ln 2: they are fractal."
    return ""
