"""The map that fixed points are points of, once more, and its Jacobians there."""

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.jacobians import held_matrices
from dynlab.systems import Map, frozen
from dynlab.systems.held import Held

INCOMPLETE = "incomplete"  # the attribute that says so of a search that missed points, or may have
VERIFIED = ("fixed point", "continuum")  # what is no root, or not the one fsolve found, is not interpreted


def held_map(system: Map, found: xr.Dataset) -> Held:
    """In float64 on the CPU, of the Dataset of `dynlab.fixed_points`."""
    settings = schema.settings(found)
    return Held(frozen(system), torch.tensor(settings["input"], dtype=torch.float64), settings["at_step"])


def verified(found: xr.Dataset) -> xr.Dataset:
    """Those of the fixed points that are roots, verified, and have a derivative, in the same order."""
    known = np.isfinite(found["eigenvalue"].values).all(axis=1)
    return found.isel({schema.FIXED_POINT: np.isin(found["status"].values, VERIFIED) & known})


def also_incomplete(found: xr.Dataset) -> str:
    """What a verdict on the points of the Dataset ends with where their search is incomplete."""
    return f" {found.attrs[INCOMPLETE]}" if INCOMPLETE in found.attrs else ""


def jacobians_at(held: Held, found: xr.Dataset) -> NDArray[np.float64]:
    """∂F/∂h at each, shape (fixed_point, n, n): the matrices whose eigenvalues the Dataset holds."""
    states = torch.as_tensor(found["fixed_point_state"].values)
    # one by one, as the search took them: another batch may round otherwise
    matrices = [held_matrices(held, state[None])[0].numpy() for state in states]
    return np.array(matrices).reshape(len(states), states.shape[1], states.shape[1])
