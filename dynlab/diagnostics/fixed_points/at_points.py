"""The frozen map, rebuilt from a result of `fixed_points`, and its Jacobians at the points."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.numerics.eigenvectors import Eigenmodes, eigenmodes
from dynlab.numerics.threads import in_threads
from dynlab.systems import Map, frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

INCOMPLETE = "incomplete"  # the attribute that says so of a search that missed points, or may have
VERIFIED = ("fixed point", "not isolated")  # what is no root, or not the one fsolve found, is not interpreted


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


def leading_modes(held: Held, found: xr.Dataset, counts: Sequence[int]) -> list[Eigenmodes]:
    """The first so many modes at each: of a large network all of them are more than the memory should hold."""
    states, errors = torch.as_tensor(found["fixed_point_state"].values), found["eigenvalue_error"].values

    def work(some: slice) -> tuple[list[Eigenmodes]]:
        modes = []
        for number in range(len(states))[some]:
            matrix, count = held_matrices(held, states[number][None])[0].numpy(), counts[number]
            modes.append(eigenmodes(matrix, errors[number], held.system.blocks, count))
        return (modes,)

    return in_threads(work, len(states))[0]
