"""The sentences of basins: the attractors and their shares, what is undecided, and what limits the answer."""

from collections import Counter

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.trajectories.assignment import DRIFTS, LEAVES, UNDECIDED
from dynlab.words import agree, article, capital, counted, joined, number, of_map, share, with_error

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted
FEW_ENDS = 2  # ways to end, one of which all starts but one may have
AT_IT = 1e-9  # of the window: a start that near to a point is the point

End = tuple[NDArray[np.bool_], str, str]  # the starts, and what one or several of them do


def verdict(ds: xr.Dataset, is_flow: bool, fewer: int) -> str:
    """Return one to three sentences; `fewer` is the size of a network for which fewer starts were taken, else 0."""
    settings, basin = schema.settings(ds), ds["basin"].values
    step = settings.get("step_size")
    of = "" if step is None else f" under Euler's map at ε = {number(step)}"
    ends = _ends(ds, is_flow)
    sentences = [f"{_told(ends, basin.size, of)}."] if ends else []
    if (basin == UNDECIDED).any():
        some = capital(_some(basin == UNDECIDED, "is", "are"))
        sentences.append(f"{some} undecided after {settings['steps']:,} steps{'' if ends else of}.")
    said = " ".join([*sentences, _limit(ds, fewer)]).strip()
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return under_input(said, at) if settings["input"] else said


def _told(ends: list[End], size: int, of: str) -> str:
    """Return the first sentence, shorter where all starts but one do the same."""
    few, most = min(ends, key=_count), max(ends, key=_count)
    if len(ends) == FEW_ENDS and _count(few) == 1 and _count(most) == size - 1 > FEW:
        return capital(f"{of} all starts but one {most[2]}; one {few[1]}".strip())
    parts = [_some(here, one, several) for here, one, several in ends]
    return f"Of {counted(size, 'start')}{of}, {joined(parts)}"


def _count(end: End) -> int:
    return int(end[0].sum())


def _ends(ds: xr.Dataset, is_flow: bool) -> list[End]:
    """Return where starts on the plane end, by kind, and how many leave or drift."""
    basin = ds["basin"].values
    kinds, found = np.array(ds["attractor_class"].values.tolist(), dtype=object), []
    for kind, numbers in Counter(kinds[np.isin(np.arange(len(kinds)), basin)].tolist()).items():
        here = np.isin(basin, np.flatnonzero(kinds == kind))
        word = kind.replace("fixed point", "equilibrium") if is_flow else of_map(kind)
        what = article(word) if numbers == 1 or kind.startswith("continuum") else counted(numbers, word)
        one = f"is the {word}" if _is_there(ds, here) else f"ends on {what}"
        found.append((here, one, f"end on {what}"))
    ways = len(np.unique(basin[basin <= DRIFTS]))
    bound, where = number(schema.settings(ds)["largest_state"]), f"outward for ever in {counted(ways, 'direction')}"
    found.append((basin == LEAVES, f"leaves |h_i| ≤ {bound}", f"leave |h_i| ≤ {bound}"))
    found.append((basin <= DRIFTS, f"drifts {where}", f"drift {where}"))
    return [end for end in found if _count(end)]


def _is_there(ds: xr.Dataset, here: np.ndarray) -> bool:
    """Tell whether one start alone is chosen, and begins at the attractor that it ends on."""
    (rows, columns), along = np.nonzero(here), ds["direction"].values
    if len(rows) != 1:
        return False
    at = np.array([ds[schema.X].values[columns[0]], ds[schema.Y].values[rows[0]]])
    end = ds["attractor_state"].values[ds["basin"].values[rows[0], columns[0]]]
    off = np.abs(ds["origin"].values + at @ along - end).max()
    return bool(off <= AT_IT * np.abs(ds[schema.X].values).max())


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
