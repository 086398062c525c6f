"""What a plane of starts leads to, in two sentences."""

from collections import Counter

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.wording import counted, joined, number, of_map, share, why_cut

SURE = 3.0  # standard errors
FRACTAL = float(np.log(2))  # nats: more than a smooth border of two basins can have

MANY_MEET = (
    ", above ln 2 = 0.693: more than two basins meet in many boxes of 5 × 5 starts, as on fractal borders or where "
    "basins are as small as the boxes"
)


def verdict(ds: xr.Dataset, reasons: list[str], basins: int, lost: NDArray[np.bool_]) -> str:
    """The attractors and their shares, and how uncertain a start's fate is; `reasons` are those of undecided starts.

    `basins` is how many basins are told to lie in the window, that of leaving every bound among them.
    `lost` says of each start that was cut whether it became no number.
    """
    settings = schema.settings(ds)
    basin = ds["basin"].values
    kinds = [of_map(kind) for kind in ds["attractor_class"].values.tolist()]
    steps, longest = settings["steps"], int(ds["steps"].max())
    longer = f" (up to {longest:,} where still coming to rest)" if longest > steps else ""
    ends = _listed(ds, kinds)
    gone = why_cut(lost, f"‖h‖ ≤ {number(settings['largest_state'])}", False, True)
    parts = [*ends, f"{share(lost.size / basin.size)} {gone}"] if lost.size else ends
    open_ = [f"{share(count / basin.size)} ({reason})" for reason, count in Counter(reasons).most_common()]
    parts += [f"undecided: {joined(open_)}"] if open_ else []
    said = f"Of {counted(basin.size, 'start')} followed for {counted(steps, 'step')}{longer}, {'; '.join(parts)}"
    if any(kind.startswith("family") for kind in kinds):
        said += ". Nothing attracts the orbits of a family: each start has its own"
    if not ends:
        return f"{said}."
    if not basins:
        return f"{said}. No basin was found."
    border = float(ds["boundary_basin_entropy"])
    if basins == 1:
        return f"{said}. No border between two basins is seen in this window."
    if np.isnan(border):  # two basins in one window have a border in it, wherever the boxes end
        return f"{said}. Borders between {basins} basins cross this window; no box of 5 × 5 starts holds two of them."
    # boxes in which more than two basins meet at smooth borders are few: the more there are, the larger is the error
    surely = border - SURE * float(ds["boundary_basin_entropy_error"]) > FRACTAL
    more = MANY_MEET if surely else ""
    return (
        f"{said}. The basin entropy is {number(float(ds['basin_entropy']), 3)}, in boxes that hold a border "
        f"{number(border, 3)}{more}."
    )


def _listed(ds: xr.Dataset, kinds: list[str]) -> list[str]:
    parts = []
    for kind, count in Counter(kinds).items():
        starts = int(np.isin(ds["basin"].values, [place for place, one in enumerate(kinds) if one == kind]).sum())
        parts.append(f"{share(starts / ds['basin'].size)} end on {counted(count, kind)}")
    return parts
