"""The frozen map, rebuilt from a result of `fixed_points`, and its Jacobians at the points."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.numerics.eigenvectors import Eigenmodes, eigenmodes
from dynlab.numerics.threads import in_threads
from dynlab.systems import System, frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

INCOMPLETE = "incomplete"  # the attribute that says so of a search that missed points, or may have
VERIFIED = ("fixed point", "not isolated")  # what is no root, or not the one fsolve found, is not interpreted


def held_map(system: System, found: xr.Dataset) -> Held:
    """Return the held system of a Dataset of `dynlab.fixed_points`, in float64 on the CPU."""
    settings = schema.settings(found)
    return Held(frozen(system), torch.tensor(settings["input"], dtype=torch.float64), settings["at_step"])


def verified(found: xr.Dataset) -> xr.Dataset:
    """Return those of the fixed points that are roots, verified, and have a derivative, in the same order."""
    known = np.isfinite(found["eigenvalue"].values).all(axis=1)
    return found.isel({schema.FIXED_POINT: np.isin(found["status"].values, VERIFIED) & known})


def also_incomplete(found: xr.Dataset) -> str:
    """Return the last sentence of a verdict on the points, where their search is incomplete."""
    return f" {found.attrs[INCOMPLETE]}" if INCOMPLETE in found.attrs else ""


def leading_modes(held: Held, found: xr.Dataset, counts: Sequence[int]) -> list[Eigenmodes]:
    """Return the first so many modes at each: of a large network all of them are more than the memory should hold."""
    states, errors = torch.as_tensor(found["fixed_point_state"].values), found["eigenvalue_error"].values

    def work(rows: slice) -> tuple[list[Eigenmodes]]:
        chosen = list(zip(states[rows], errors[rows], counts[rows], strict=True))
        matrices = [held_matrices(held, state[None])[0].numpy() for state, *_ in chosen]
        pairs = zip(matrices, chosen, strict=True)
        return ([eigenmodes(matrix, error, held.system.blocks, count) for matrix, (_, error, count) in pairs],)

    return in_threads(work, len(states))[0]
