"""What a plane of starts leads to, in two sentences."""

from collections import Counter

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.basins.known import OUTWARD
from dynlab.numerics.arrays import Real
from dynlab.wording import agree, counted, joined, number, of_map, share, why_cut

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted in place of told as a share
FRACTAL = float(np.log(2))  # nats: more than a box can have in which two basins meet
IN_PLANE = 1e-6  # times 1 + the size of the states: what is nearer to the plane lies in it

MANY_MEET = (
    ", above ln 2 = 0.693 nat: more than two basins meet in many boxes of 5 × 5 starts, as on fractal borders or where "
    "basins are as small as the boxes"
)
TWO = ". With two basins it is at most ln 2 = 0.693 nat, and so leaves open whether their border is fractal"
BELOW = (
    ". This leaves open whether a border is fractal: above {} nat, ln 2 and three standard errors, one surely would be"
)


def verdict(
    ds: xr.Dataset, reasons: list[str], basins: int, lost: NDArray[np.bool_], away: Real, spanned_by: str, others: int
) -> str:
    """The attractors and their shares, and how uncertain a start's fate is.

    Parameters
    ----------
    ds : Dataset
    reasons : list of str
        Those of undecided starts.
    basins : int
        How many basins are told to lie in the window, that of leaving every bound among them.
    lost : ndarray of bool
        Of each start that was cut, whether it became no number.
    away : ndarray
        How far from 0 each orbit is that runs away.
    spanned_by : str
        Whose principal components span the plane; "" where it is the whole state space.
    others : int
        How many of these states themselves were followed.
    """
    found = _found(ds, reasons, basins, lost, away)
    if not spanned_by:
        return found
    plane = f"The starts lie in the plane of the two leading principal components of {spanned_by}."
    return f"{found} {plane}{_beside(ds, others)}"


def _found(ds: xr.Dataset, reasons: list[str], basins: int, lost: NDArray[np.bool_], away: Real) -> str:
    """What the starts lead to, and the borders between basins."""
    settings = schema.settings(ds)
    basin = ds["basin"].values
    kinds = [of_map(kind) for kind in ds["attractor_class"].values.tolist()]
    steps, longest = settings["steps"], int(ds["steps"].max())
    longer = f" (up to {longest:,} where still coming to rest)" if longest > steps else ""
    ends = _listed(ds, kinds)
    gone = why_cut(lost, f"‖h‖ ≤ {number(settings['largest_state'])}", False, True)
    parts = [*ends, f"{share(lost.size / basin.size)} {gone}"] if lost.size else ends
    rest = bool(ends) and away.size + int((basin >= 0).sum()) == basin.size
    parts += [_outward(basin, away, steps, rest)] if away.size else []
    open_ = [f"{share(count / basin.size)} ({reason})" for reason, count in Counter(reasons).most_common()]
    parts += [f"undecided: {joined(open_)}"] if open_ else []
    step = settings.get("step_size")
    of_euler = "" if step is None else f" of Euler's map at ε = {number(step)}"
    followed = f"{counted(steps, 'step')}{of_euler}{longer}"
    said = f"Of {counted(basin.size, 'start')} followed for {followed}, {'; '.join(parts)}"
    if any(kind.startswith("family") for kind in kinds):
        said += ". Nothing attracts the orbits of a family: each start has its own"
    if not ends:
        return f"{said}."
    if not basins:
        return f"{said}. No basin was found."
    border = float(ds["boundary_basin_entropy"])
    if basins == 1 and away.size:
        return f"{said}. Nothing that attracts was found."
    if basins == 1:
        return f"{said}. No border between two basins is seen in this window."
    if np.isnan(border):  # two basins in one window have a border in it, wherever the boxes end
        return (
            f"{said}. Borders between {basins} basins cross this window. They lie between the boxes of 5 × 5 starts in "
            f"which the basin entropy looks for them, so that it is not known."
        )
    # boxes in which more than two basins meet at smooth borders are few: the more there are, the larger is the error
    error = float(ds["boundary_basin_entropy_error"])
    surely = border - SURE * error > FRACTAL
    more = MANY_MEET if surely else TWO if basins == 2 else BELOW.format(number(FRACTAL + SURE * error, 3))
    return (
        f"{said}. The basin entropy is {number(float(ds['basin_entropy']), 3)} nat; it would be 0 if in each box of "
        f"5 × 5 starts all ended alike. In boxes that hold a border it is {number(border, 3)} nat{more}."
    )


def _outward(basin: NDArray[np.int64], away: Real, steps: int, rest: bool) -> str:
    """How many orbits run away, in how many directions, and how far they are; `rest`: all but those told before do."""
    directions = len(np.unique(basin[basin <= OUTWARD]))
    some = "all others" if rest and away.size > 1 else _some(away.size, basin.size)
    nearest, farthest = (number(float(end), 3) for end in (away.min(), away.max()))
    distance = nearest if nearest == farthest else f"{nearest} to {farthest}"
    where = f" in {directions} directions" if directions > 1 else ""
    return (
        f"{some} {agree(away.size, 'runs', 'run')} away{where}, still moving outward at a steady speed after "
        f"{steps:,} steps, at a distance of {distance} from 0"
    )


def _beside(ds: xr.Dataset, others: int) -> str:
    """How far from the plane of the starts lies what they lead to, and what they miss."""
    states = ds["attractor_state"].values - ds["origin"].values
    missed, followed = int(ds["missed_attractors"]), f"{others} of the states that the plane was made from"
    if missed:
        more = f"{counted(missed, 'further attractor')} {agree(missed)} not reached from this plane"
        other = f" {more}. {followed} were followed too, and reach {agree(missed, 'it', 'them')}."
    else:
        other = (
            f" {followed} were followed too, and reach no other attractor. What is reached from elsewhere alone "
            f"is missing here."
        )
    if not len(states):
        return other if missed else ""
    directions = ds["direction"].values
    away = np.linalg.norm(states - states @ directions.T @ directions, axis=1)
    off = away > IN_PLANE * (1 + np.abs(states).max())
    farthest = number(float(away.max()), 3)
    where = f" The points they end on lie at distances of up to {farthest} from the plane." if off.any() else ""
    return f"{where}{other}"


def _listed(ds: xr.Dataset, kinds: list[str]) -> list[str]:
    parts = []
    for kind, count in Counter(kinds).items():
        starts = int(np.isin(ds["basin"].values, [place for place, one in enumerate(kinds) if one == kind]).sum())
        some = _some(starts, ds["basin"].size)
        none = ", which has no basin" if kind.startswith("unstable") and count == 1 else ""
        parts.append(f"{some} {agree(starts, 'ends', 'end')} on {counted(count, kind)}{none}")
    return parts


def _some(starts: int, of: int) -> str:
    """So many of all starts: "1 start", "47.6 %", "all but 1"."""
    if starts <= FEW:
        return counted(starts, "start")
    return f"all but {of - starts}" if 0 < of - starts <= FEW else share(starts / of)
