"""The sentences of basins: the attractors and their shares, what is undecided, and what limits the answer."""

from collections import Counter

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.trajectories.assignment import DRIFTS, LEAVES, UNDECIDED
from dynlab.words import agree, counted, joined, number, of_map, share, with_error

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted in place of told as a share


def verdict(ds: xr.Dataset, is_flow: bool, fewer: int) -> str:
    """Return one to three sentences; `fewer` is the size of a network for which fewer starts were taken, else 0."""
    settings = schema.settings(ds)
    basin, steps = ds["basin"].values, settings["steps"]
    step = settings.get("step_size")
    of = "" if step is None else f" under Euler's map at ε = {number(step)}"
    sentences = [f"Of {counted(basin.size, 'start')}{of}, {joined(_ends(ds, is_flow))}."] if _ends(ds, is_flow) else []
    undecided = int((basin == UNDECIDED).sum())
    if undecided:
        where = "" if sentences else f" of {counted(basin.size, 'start')}{of}"
        some = _some(undecided, basin.size)
        verb = agree(undecided if undecided <= FEW else 2)
        sentences.append(f"{some[:1].upper()}{some[1:]}{where} {verb} undecided after {steps:,} steps.")
    limit = _limit(ds, fewer)
    said = " ".join(sentences + [limit] * bool(limit))
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return under_input(said, at) if settings["input"] else said


def _ends(ds: xr.Dataset, is_flow: bool) -> list[str]:
    """Where starts on the plane end, by kind, and how many leave or drift."""
    basin = ds["basin"].values
    kinds, found = np.array(ds["attractor_class"].values.tolist(), dtype=object), []
    for kind, numbers in Counter(kinds[np.isin(np.arange(len(kinds)), basin)].tolist()).items():
        here = np.isin(basin, np.flatnonzero(kinds == kind))
        word = kind.replace("fixed point", "equilibrium") if is_flow else of_map(kind)
        what = f"a {word}" if kind.startswith("continuum") else counted(numbers, word)
        found.append(f"{_some(int(here.sum()), basin.size)} {_verb(here, 'ends', 'end')} on {what}")
    leaves, drifts = basin == LEAVES, basin <= DRIFTS
    if leaves.any():
        bound = number(schema.settings(ds)["largest_state"])
        found.append(f"{_some(int(leaves.sum()), basin.size)} {_verb(leaves, 'leaves', 'leave')} |h_i| ≤ {bound}")
    if drifts.any():
        ways = len(np.unique(basin[drifts]))
        where = f" in {ways} directions" if ways > 1 else ""
        found.append(
            f"{_some(int(drifts.sum()), basin.size)} {_verb(drifts, 'drifts', 'drift')} outward for ever{where}"
        )
    return found


def _limit(ds: xr.Dataset, fewer: int) -> str:
    """What limits the answer: attractors beyond the plane, a fractal border, or few starts."""
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


def _some(starts: int, of: int) -> str:
    """So many of all starts: "1 start", "47.6 %", "all but 1"."""
    if starts <= FEW:
        return counted(starts, "start")
    return f"all but {of - starts}" if 0 < of - starts <= FEW else share(starts / of)


def _verb(starts: np.ndarray, one: str, several: str) -> str:
    return agree(int(starts.sum()), one, several)
