"""One fixed point followed over a grid of two parameters, and the periods of what orbits beside it settle to."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation.equation import spectra
from dynlab.diagnostics.bifurcation.locating import TINY
from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.kinds import kind_of
from dynlab.numerics.roots import solve
from dynlab.numerics.threads import in_threads
from dynlab.progress import through
from dynlab.systems.autonomous_jacobians import displacement_matrices, held_matrices
from dynlab.trajectories.following import REPEATS, followed, scalar_code

PARTS = 8  # of the way between two values, where one step leads elsewhere
MISSED = 1e-6  # times the way and the size: so near Newton's method leads back to where it came from
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS = 1e-7  # times the size: an orbit that comes back so near repeats
STAYS_AWAY = 1e-3  # likewise: one that comes so near, and no nearer, after fewer steps may be on its way to a cycle
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 8  # of a Jacobian and a state that a step holds at once


class Plane:
    """A system at places (place, 2) of two parameters on a square grid.

    States are those of the extended system of `Varied`, (h, y), with y in the unit square.
    """

    def __init__(self, varied: Varied, side: int) -> None:
        self.held, self.n, self.side = varied.held, varied.system.state_size, side
        line = np.linspace(0, 1, side)
        self.places = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)

    def fixed_point(self, start: Real) -> tuple[Real, NDArray[np.bool_], int]:
        """Return one fixed point (place, n) at each place, whether it was reached, and at which it is followed from.

        Newton's method from `start` (n,) finds one at every place that it can. The one that is nearest to `start` is
        followed over the grid, from each place to its neighbours: a step is believed where Newton's method goes there
        and back. It is NaN where it was not reached.
        """
        every = np.arange(len(self.places))
        states, reached = self._newton(self._at(np.tile(start, (len(every), 1)), every))
        first = int(np.where(reached, np.linalg.norm(states[:, : self.n] - start, axis=1), np.inf).argmin())
        reached &= every == first
        grid = every.reshape(self.side, self.side)
        down, right = (grid[1:], grid[:-1]), (grid[:, 1:], grid[:, :-1])
        for _ in through(range(2 * self.side)):
            before = reached.sum()
            for new, known in (right, right[::-1], down, down[::-1]):
                some = ~reached[new] & reached[known]
                if some.any():
                    states[new[some]], reached[new[some]] = self._followed(states[known[some]], new[some])
            if reached.sum() == before:
                break
        return np.where(reached[:, None], states[:, : self.n], np.nan), reached, first

    def _at(self, states: Real, places: Index) -> Real:
        return np.concatenate([states[:, : self.n], self.places[places]], axis=1)

    def _followed(self, states: Real, new: Index) -> tuple[Real, NDArray[np.bool_]]:
        """Return where fixed points (k, n + 2) are at `new` places, and whether that is certain.

        Where one step is not, `PARTS` are tried.
        """
        found, certain = self._there_and_back(states, self._at(states, new))
        lost = np.flatnonzero(~certain)
        ahead, sure = states[lost], np.ones(len(lost), dtype=bool)
        way = np.pad((self.places[new] - states[:, self.n :])[lost], ((0, 0), (self.n, 0))) / PARTS
        for _ in range(PARTS * bool(len(lost))):
            ahead, each = self._there_and_back(ahead, ahead + way)
            sure &= each
        found[lost], certain[lost] = ahead, sure
        return found, certain

    def _there_and_back(self, states: Real, begin: Real) -> tuple[Real, NDArray[np.bool_]]:
        there, converged = self._newton(begin)
        back, returned = self._newton(np.concatenate([there[:, : self.n], states[:, self.n :]], axis=1))
        moved, missed = (np.linalg.norm((each - states)[:, : self.n], axis=1) for each in (there, back))
        near = missed <= MISSED * np.maximum(moved, np.linalg.norm(states[:, : self.n], axis=1))
        return there, near & converged & returned

    def _newton(self, states: Real) -> tuple[Real, NDArray[np.bool_]]:
        """Return where Newton's method leads from states (k, n + 2), and whether to a root; the places are held."""
        n, begin = self.n, torch.from_numpy(states.copy())
        places = begin[:, n:]
        found = solve(
            lambda h, rows: self.held.displacement(torch.cat([h, places[rows]], dim=1))[:, :n],
            lambda h, rows: displacement_matrices(self.held, torch.cat([h, places[rows]], dim=1))[:, :n, :n],
            begin[:, :n],
            most=0,
        )
        return torch.cat([found.states, places], dim=1).numpy(), found.converged.numpy()

    def periods(self, starts: Real, longest: int, largest: float) -> Index:
        """Return the period, up to `longest`, of what the orbit from each of `starts` (place, n) settles to, or a code.

        An orbit that nearly comes back after fewer steps, as beside a flip, is undecided.
        """
        code, begin = scalar_code(self.held), torch.from_numpy(self._at(starts, np.arange(len(starts))))

        def period(rows: slice) -> tuple[Index]:
            size, bound = begin[rows, : self.n].norm(dim=-1), max(largest, 1.0)
            settled = followed(self.held, begin[rows], TRANSIENT, bound, 0 * size, code)
            size = torch.maximum(size, settled.states[:, : self.n].norm(dim=-1)).clamp_min(TINY) / REPEATS
            exact, near = (
                followed(self.held, settled.states, longest, bound, within * size, code)
                for within in (RETURNS, STAYS_AWAY)
            )
            found = np.where(exact.period == near.period, exact.period, UNDECIDED)
            return (np.where(settled.gone | exact.gone, CUT, found).astype(np.int64),)

        return in_threads(period, len(begin), 8.0 * longest * begin.shape[1])[0]

    def judged(self, fixed: Real) -> tuple[Real, Real, NDArray[np.int8], Index]:
        """Return ‖G‖₂ at fixed points (place, n), and what their eigenvalues say, row by row.

        That is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part, NaN where no
        fixed point was reached or it lies at a kink; 1 stable, 0 unstable or −1 undecided; and how many are unstable.
        """
        n, eps, is_flow = self.n, float(np.finfo(np.float64).eps), self.held.is_flow
        every = torch.from_numpy(self._at(fixed, np.arange(len(fixed))))

        def judge(rows: slice) -> tuple[Real, Real, NDArray[np.int8], Index]:
            states = every[rows]
            residual = self.held.displacement(states)[:, :n].norm(dim=-1).numpy()
            size = states[:, :n].norm(dim=-1, keepdim=True).clamp_min(TINY)
            aside = torch.cat([eps * size * torch.linspace(1, 2, n, dtype=torch.float64), 0 * states[:, n:]], dim=1)
            three = torch.stack([states, states + aside, states - aside], dim=1).nan_to_num(0.0)
            values, errors = spectra(held_matrices(self.held, three)[..., :n, :n].numpy())
            errors[~np.isfinite(residual)] = np.inf
            kinds = [kind_of(*each, is_flow) for each in zip(values, errors, strict=True)]
            leading = values.real.max(axis=1) if is_flow else np.abs(values).max(axis=1)
            leading = np.where(np.isfinite(errors).all(axis=1), leading, np.nan)
            stable = np.array([one.stable for one in kinds], dtype=np.int8)
            return residual, leading, stable, np.array([one.unstable for one in kinds])

        return in_threads(judge, len(every), 8 * COPIES * (n + 2) ** 2)
