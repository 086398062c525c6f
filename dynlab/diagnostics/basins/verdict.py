"""The sentences of basins: the attractors and their shares, what is undecided, and what limits the answer."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.trajectories.assignment import DRIFTS, LEAVES, UNDECIDED
from dynlab.words import agree, capital, counted, joined, number, of_map, share, with_error

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted


def verdict(ds: xr.Dataset, is_flow: bool, fewer: int) -> str:
    """Return one to three sentences; `fewer` is the size of a network for which fewer starts were taken, else 0."""
    settings, basin = schema.settings(ds), ds["basin"].values
    step = settings.get("step_size")
    of = "" if step is None else f" under Euler's map at ε = {number(step)}"
    ends = joined(_ends(ds, is_flow))
    sentences = [f"Of {counted(basin.size, 'start')}{of}, {ends}."] if ends else []
    if (basin == UNDECIDED).any():
        some = capital(_some(basin == UNDECIDED, "is", "are"))
        sentences.append(f"{some} undecided after {settings['steps']:,} steps{'' if ends else of}.")
    said = " ".join([*sentences, _limit(ds, fewer)]).strip()
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return under_input(said, at) if settings["input"] else said


def _ends(ds: xr.Dataset, is_flow: bool) -> list[str]:
    """Return where starts on the plane end, by kind, and how many leave or drift."""
    basin = ds["basin"].values
    kinds, found = np.array(ds["attractor_class"].values.tolist(), dtype=object), []
    for kind, numbers in Counter(kinds[np.isin(np.arange(len(kinds)), basin)].tolist()).items():
        here = np.isin(basin, np.flatnonzero(kinds == kind))
        word = kind.replace("fixed point", "equilibrium") if is_flow else of_map(kind)
        what = f"a {word}" if kind.startswith("continuum") else counted(numbers, word)
        found.append(f"{_some(here, 'ends', 'end')} on {what}")
    ways = len(np.unique(basin[basin <= DRIFTS]))
    bound = number(schema.settings(ds)["largest_state"])
    found += [f"{_some(basin == LEAVES, 'leaves', 'leave')} |h_i| ≤ {bound}"] * bool((basin == LEAVES).any())
    where = f"outward for ever in {counted(ways, 'direction')}"
    return found + [f"{_some(basin <= DRIFTS, 'drifts', 'drift')} {where}"] * bool(ways)


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


def _some(here: np.ndarray, *verb: str) -> str:
    """Return how many starts do something: "1 start ends", "47.6 % end", "all but 1 end"."""
    count = int(here.sum())
    said = f"all but {here.size - count}" if 0 < here.size - count <= FEW else share(count / here.size)
    return f"{counted(count, 'start') if count <= FEW else said} {agree(count if count <= FEW else 2, *verb)}"
