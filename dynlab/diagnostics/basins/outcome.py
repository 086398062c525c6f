"""Which start on the plane ends on which attractor, of those that draw any."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.basins.attractor import Attractor
from dynlab.diagnostics.basins.ends import Ends
from dynlab.diagnostics.basins.known import DIVERGED, OUTWARD, UNDECIDED, Known
from dynlab.diagnostics.basins.starts import Starts
from dynlab.numerics.arrays import Index, Real
from dynlab.systems.held import Held


@dataclass(frozen=True)
class Outcome:
    """Where the starts on the plane end.

    Attributes
    ----------
    attractors : list of Attractor
        By the share of the starts that they draw, in the system's unit.
    basin : ndarray of int, shape (y, x)
        The number of each start's attractor, or the code in its place.
    belongs : ndarray of bool, shape (y, x)
        Whether the start belongs to a basin, that of leaving every bound among them.
    steps : ndarray of int, shape (y, x)
        After how many the orbit was at rest or gone.
    last : ndarray, shape (y, x, state)
        The last states, in the unit that orbits were followed in.
    velocities : ndarray, shape (y, x, state)
        The step of each orbit that runs away; NaN of others.
    reasons : list of str
        Those of undecided starts.
    missed : int
        How many attractors the states that the plane was made from reach, and no start on it.
    """

    attractors: list[Attractor]
    basin: Index
    belongs: NDArray[np.bool_]
    steps: Index
    last: Real
    velocities: Real
    reasons: list[str]
    missed: int

    @property
    def basins(self) -> int:
        """How many basins are told to lie in the window, all directions of running away as one."""
        return len(np.unique(np.maximum(self.basin, OUTWARD)[self.belongs]))

    def distances(self, unit: float | Real) -> Real:
        """How far from 0 each orbit is at last that runs away."""
        return np.asarray(np.linalg.norm(unit * self.last[self.basin <= OUTWARD], axis=1))

    def lost(self, held: Held) -> NDArray[np.bool_]:
        """Of each start that was cut, whether it is no number after its last state, and not beyond the bound."""
        cut = self.last[self.basin == DIVERGED]
        if not len(cut):
            return np.zeros(0, dtype=bool)
        return np.asarray(held.moved(torch.as_tensor(cut).to(held.input)).isnan().any(dim=-1).cpu())


def outcome(begin: Starts, found: Ends, known: Known) -> Outcome:
    """What is known of all starts, told of those on the plane."""
    many, grid = begin.on_plane, len(begin.line)
    assigned = known.assigned[:many]
    attractors, basin = _by_share(known.attractors, assigned.reshape(grid, grid), begin.unit)
    belongs = np.isin(basin, [DIVERGED, *(number for number, one in enumerate(attractors) if one.has_basin)])
    return Outcome(
        attractors,
        basin,
        belongs | (basin <= OUTWARD),
        found.steps[:many].reshape(grid, grid),
        found.states[:many].reshape(grid, grid, -1),
        known.velocities[:many].reshape(grid, grid, -1),
        known.reasons[:many][assigned == UNDECIDED].tolist(),
        _missed(known.attractors, assigned, known.assigned[many:]),
    )


def _by_share(
    attractors: list[Attractor], basin: NDArray[np.int64], unit: float | Real
) -> tuple[list[Attractor], NDArray[np.int64]]:
    """The attractors by the share of the starts that they draw, those that draw none left out, in the system's unit."""
    counts = np.bincount(basin[basin >= 0], minlength=len(attractors))
    order = sorted(np.flatnonzero(counts), key=lambda i: (-counts[i], *np.round(attractors[i].state, 6)))
    number = np.full(len(attractors) + 2, UNDECIDED)  # the last two places are those of −1 and −2
    number[order] = np.arange(len(order))
    number[-1] = DIVERGED
    numbers = np.where(basin <= OUTWARD, basin, number[np.maximum(basin, UNDECIDED)])
    kept = [attractors[i] for i in order]
    return [replace(one, state=unit * one.state, points=unit * one.points) for one in kept], numbers


def _missed(attractors: list[Attractor], of_plane: NDArray[np.int64], of_others: NDArray[np.int64]) -> int:
    """How many attractors the others reach and no start on the plane."""
    beside = np.setdiff1d(of_others[of_others >= 0], of_plane)
    return sum(attractors[number].has_basin for number in beside)
