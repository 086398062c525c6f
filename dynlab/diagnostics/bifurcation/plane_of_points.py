"""One fixed point followed over a grid of two parameters, and the periods of what orbits beside it settle to."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.equation import spectra
from dynlab.diagnostics.bifurcation.locating import TINY
from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.grids import blocks
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.numerics.roots import solve
from dynlab.progress import through
from dynlab.systems.autonomous_jacobians import displacement_matrices, held_matrices
from dynlab.trajectories.following import followed, orbit, scalar_code

PARTS = 8  # of the way between two values, where one step leads elsewhere
STRAIGHT = 0.5  # times the first step of Newton's method: so near it leads to where the method ends
MISSED = 1e-6  # times the way and the size: so near Newton's method leads back to where it came from
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS = 1e-7  # times the size: an orbit that comes back so near repeats
STAYS_AWAY = 1e-3  # likewise: one that comes so near, and no nearer, after fewer steps may be on its way to a cycle
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 8  # of a Jacobian and a state that a step holds at once
NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0))


class Fixed(NamedTuple):
    """The fixed point at each value: the state, ‖G‖₂, and what its eigenvalues say.

    `leading` is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part, NaN where no
    fixed point was reached or it lies at a kink; `stable` is 1, 0, or −1 where that is not told.
    """

    states: Real
    converged: NDArray[np.bool_]
    residual: Real
    leading: Real
    stable: NDArray[np.int8]
    unstable: Index


class Plane:
    """A system at places (place, 2) of two parameters on a square grid, in blocks that fit the memory.

    States are those of the extended system of `Varied`, (h, y), with y in the unit square.
    """

    def __init__(self, varied: Varied, side: int, max_memory: float) -> None:
        self.held, self.n, self.side = varied.held, varied.system.state_size, side
        line = np.linspace(0, 1, side)
        self.places = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        size, count = (self.n + 2) ** 2 + self.n, len(self.places)
        self.blocks = blocks(count, 8 * COPIES * size, max_memory, 8 * count * (self.n + 8))

    def _blocked(self, function: Callable[..., tuple[Any, ...]], states: Real) -> list[Any]:
        """Return the arrays that a function returns for each block of rows of `states`, joined."""
        parts = [part for part in self.blocks if part.start < len(states)]
        found = [function(torch.from_numpy(states[part].copy())) for part in parts]
        return [np.concatenate(each) for each in zip(*found, strict=True)]

    def fixed_point(self, start: Real) -> tuple[Fixed, int]:
        """Return one fixed point at each place, and at which it is followed from.

        Newton's method from `start` (n,) finds one at every place that it can. The one that is nearest to `start` is
        followed over the grid, from each place to its neighbours: a step is believed where Newton's method goes there
        and back.
        """
        every = np.arange(len(self.places))
        states, reached, _ = self._blocked(self._newton, self._at(np.tile(start, (len(every), 1)), every))
        away = np.linalg.norm(states[:, : self.n] - start, axis=1)
        first = int(np.where(reached, away, np.inf).argmin())
        reached &= every == first
        row, column = np.divmod(every, self.side)
        for _ in through(range(2 * self.side)):
            before = reached.sum()
            for down, right in NEIGHBOURS:
                beside = np.stack([row - down, column - right])
                inside = ((beside >= 0) & (beside < self.side)).all(axis=0)
                known = np.clip(every - self.side * down - right, 0, len(every) - 1)
                some = np.flatnonzero(~reached & inside & reached[known])
                if len(some):
                    states[some], reached[some] = self._followed(states[known[some]], some)
            if reached.sum() == before:
                break
        states[~reached, : self.n] = np.nan
        return Fixed(states[:, : self.n], reached, *self._blocked(self._judged, states)), first

    def _at(self, states: Real, places: Index) -> Real:
        return np.concatenate([states[:, : self.n], self.places[places]], axis=1)

    def _followed(self, states: Real, new: Index) -> tuple[Real, NDArray[np.bool_]]:
        """Return where fixed points (k, n + 2) are at `new` places, and whether that is certain.

        Where one step is not, `PARTS` are tried.
        """
        found, certain = self._there_and_back(states, self._at(states, new))
        lost = np.flatnonzero(~certain)
        if len(lost):
            ahead, sure = states[lost], np.ones(len(lost), dtype=bool)
            way = np.pad((self.places[new] - states[:, self.n :])[lost], ((0, 0), (self.n, 0))) / PARTS
            for _ in range(PARTS):
                ahead, each = self._there_and_back(ahead, ahead + way)
                sure &= each
            found[lost], certain[lost] = ahead, sure
        return found, certain

    def _there_and_back(self, states: Real, begin: Real) -> tuple[Real, NDArray[np.bool_]]:
        there, converged, direct = self._blocked(self._newton, begin)
        returning = np.concatenate([there[:, : self.n], states[:, self.n :]], axis=1)
        back, returned, straight = self._blocked(self._newton, returning)
        moved, missed = (np.linalg.norm((each - states)[:, : self.n], axis=1) for each in (there, back))
        near = missed <= MISSED * np.maximum(moved, np.linalg.norm(states[:, : self.n], axis=1))
        return there, near & converged & returned & direct & straight

    def _newton(self, states: Tensor) -> tuple[Real, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where Newton's method leads from states (k, n + 2), whether to a root, and whether directly.

        It does where the first step ends within half its length of the root; the places are held.
        """
        n, places = self.n, states[:, self.n :]

        def value(h: Tensor, rows: Tensor) -> Tensor:
            return self.held.displacement(torch.cat([h, places[rows]], dim=1))[:, :n]

        def matrix(h: Tensor, rows: Tensor) -> Tensor:
            return displacement_matrices(self.held, torch.cat([h, places[rows]], dim=1))[:, :n, :n]

        rows, begin = torch.arange(len(states)), states[:, :n]
        found = solve(value, matrix, begin, most=0)
        first = torch.linalg.solve_ex(matrix(begin, rows), -value(begin, rows).unsqueeze(-1))[0].squeeze(-1)
        beside = (found.states - begin - first).norm(dim=-1)
        direct = beside <= STRAIGHT * first.norm(dim=-1) + MISSED * begin.norm(dim=-1)
        return torch.cat([found.states, places], dim=1).numpy(), found.converged.numpy(), direct.numpy()

    def periods(self, starts: Real, longest: int, largest: float) -> Index:
        """Return the period, up to `longest`, of what the orbit from each of `starts` (place, n) settles to, or a code.

        An orbit that nearly comes back after fewer steps, as beside a flip, is undecided.
        """
        code = scalar_code(self.held)

        def period(states: Tensor) -> tuple[Index]:
            size = states[:, : self.n].norm(dim=-1).clamp_min(TINY)
            settled = followed(self.held, states, TRANSIENT, max(largest, 1.0), 0 * size, code)
            last, moved = settled.states[:, : self.n], orbit(self.held, settled.states, longest, code)[0][..., : self.n]
            size = torch.maximum(last.norm(dim=-1), moved.norm(dim=-1).amax(dim=0)).clamp_min(TINY)
            away = ((moved - last).norm(dim=-1) / size).numpy()
            near = away <= RETURNS
            found = np.where(near.any(axis=0), near.argmax(axis=0) + 1, APERIODIC)
            earlier = np.arange(1, longest + 1)[:, None] < np.where(found > 0, found, longest + 1)
            found[(earlier & (away < STAYS_AWAY)).any(axis=0)] = UNDECIDED
            gone = settled.gone | ~(moved.abs() <= largest).all(dim=-1).all(dim=0)
            return (np.where(gone.numpy(), CUT, found),)

        periods: Index = self._blocked(period, self._at(starts, np.arange(len(starts))))[0]
        return periods

    def _judged(self, states: Tensor) -> tuple[Real, Real, NDArray[np.int8], Index]:
        """Return ‖G‖₂ at states (k, n + 2), and what their eigenvalues say: leading, stable and unstable directions."""
        n, eps, is_flow = self.n, float(np.finfo(np.float64).eps), self.held.is_flow
        residual = self.held.displacement(states)[:, :n].norm(dim=-1).numpy()
        size = states[:, :n].norm(dim=-1, keepdim=True).clamp_min(TINY)
        aside = torch.cat([eps * size * torch.linspace(1, 2, n, dtype=torch.float64), 0 * states[:, n:]], dim=1)
        three = torch.stack([states, states + aside, states - aside], dim=1).nan_to_num(0.0)
        values, errors = spectra(held_matrices(self.held, three)[..., :n, :n].numpy())
        errors[~np.isfinite(residual)] = np.inf
        kinds = [(kind_of_flow if is_flow else kind_of_map)(*each) for each in zip(values, errors, strict=True)]
        leading = values.real.max(axis=1) if is_flow else np.abs(values).max(axis=1)
        leading = np.where(np.isfinite(errors).all(axis=1), leading, np.nan)
        stable = np.array([one.stable for one in kinds], dtype=np.int8)
        return residual, leading, stable, np.array([one.unstable for one in kinds])
