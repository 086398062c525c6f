"""The frozen map, rebuilt from a result of `fixed_points`, and its Jacobians at the points."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.jacobians import held_blocks, held_matrices
from dynlab.numerics.block_triangular import block_modes, parts_of
from dynlab.numerics.eigenvectors import Eigenmodes, eigenmodes
from dynlab.numerics.lapack import Schur
from dynlab.numerics.threads import in_threads
from dynlab.systems import Map, frozen
from dynlab.systems.held import Held
from dynlab.systems.torch_stacks import Stack

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
    blocks, shared = held.system.blocks, _of_shared_layers(held, states)

    def work(some: slice) -> tuple[list[Eigenmodes]]:
        modes = []
        for number in range(len(states))[some]:
            matrix, count = held_matrices(held, states[number][None])[0].numpy(), counts[number]
            known = {level: shared[key] for level, key in _below(held, states[number]) if key in shared}
            found = eigenmodes(matrix, errors[number], blocks, count, known)
            modes.append(Eigenmodes._make(part[:count].copy() for part in found))
        return (modes,)

    return in_threads(work, len(states))[0]


def _of_shared_layers(held: Held, states: torch.Tensor) -> dict[bytes, Schur]:
    """The modes of lower layers' blocks that several of the states (k, n) have in common, by the bytes of `_below`."""
    first: dict[bytes, tuple[int, int]] = {}
    several: list[bytes] = []
    for number, state in enumerate(states):
        for level, key in _below(held, state):
            if first.setdefault(key, (number, level))[0] != number and key not in several:
                several.append(key)

    def work(some: slice) -> tuple[list[Schur]]:
        placed = [first[key] for key in several[some]]
        return ([block_modes(held_blocks(held, states[number][None])[level][0].numpy()) for number, level in placed],)

    return dict(zip(several, in_threads(work, len(several))[0], strict=True)) if several else {}


def _below(held: Held, state: torch.Tensor) -> list[tuple[int, bytes]]:
    """The layers of a stack below the highest, each with what its block depends on: its state and those below."""
    if not isinstance(held.system, Stack):
        return []
    return [
        (level, state[: part.stop].numpy().tobytes()) for level, part in enumerate(parts_of(held.system.blocks)[:-1])
    ]
