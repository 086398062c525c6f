"""Fixed points, sought once more from halfway between every two of the stable ones."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import Map

MOST_STABLE = 32  # points between every two of which a search still starts


def fixed_points_and_between(system: Map, inputs: Any, starts: int | ArrayLike, search: dict[str, Any]) -> xr.Dataset:
    """The Dataset of `dynlab.fixed_points`, with the saddles between memories.

    Such a saddle draws few orbits, so that few starts find it: halfway between two memories is near it. Where the
    starts are given themselves, no others are added.

    Parameters
    ----------
    system, inputs, starts
        As `dynlab.fixed_points` takes them.
    search : dict
        Its other arguments.
    """
    first = fixed_points(system, inputs, starts=starts, **search)
    stable = first["fixed_point_state"].values[(first["stable"] == 1) & (first["status"] == "fixed point")]
    if not isinstance(starts, int) or not 2 <= len(stable) <= MOST_STABLE:
        return first
    halfway = [(a + b) / 2 for i, a in enumerate(stable) for b in stable[:i]]
    return fixed_points(system, inputs, starts=np.array([*first["fixed_point_state"].values, *halfway]), **search)
