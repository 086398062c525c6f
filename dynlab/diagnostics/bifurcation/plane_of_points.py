"""One fixed point followed over a grid of two parameters, and the periods of what orbits beside it settle to."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.locating import JUMP, TINY
from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.grids import blocks
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.progress import through

MAX_NEWTON = 50
SETTLED = 1e-11  # times the size of the state: the residual ‖G‖₂ up to which it is a fixed point
PARTS = 8  # of the way between two values, where one step leads elsewhere
SHORTER = 0.5  # times the step of Newton's method before: so short it is where the way leads to the nearest fixed point
MISSED = 1e-6  # times the way and the size: so near Newton's method leads back to where it came from
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS = 1e-7  # times the size: an orbit that comes back so near repeats
STAYS_AWAY = 1e-3  # likewise: one that never comes so near has no period up to the longest
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 8  # of a Jacobian and a state that a step holds at once


class Fixed(NamedTuple):
    """The fixed point at each value: the state, ‖G‖₂, Newton's iterations, and what its eigenvalues say.

    `leading` is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part, NaN where no
    fixed point was reached or it lies at a kink; `stable` is 1, 0, or −1 where that is not told.
    """

    states: Real
    iterations: Index
    converged: NDArray[np.bool_]
    residual: Real
    leading: Real
    stable: NDArray[np.int8]
    unstable: Index


class Plane:
    """A system at values (value, 2) of two parameters on a square grid, in blocks that fit the memory."""

    def __init__(self, varied: Varied, values: Real, max_memory: float) -> None:
        self.varied, self.values, n = varied, torch.from_numpy(values), varied.system.state_size
        weights = sum(weight.numel() for weight in varied.changed(self.values[0])[0].values())
        self.blocks = blocks(
            len(values), 8 * (COPIES * (n * n + n) + 2 * weights), max_memory, 8 * len(values) * (n + 8)
        )

    def moved(self, values: Tensor, states: Tensor) -> Tensor:
        """Return the step, or velocity, at states (k, n), each at a value of its own, (k, 2)."""
        return self.varied.batched(values, self.varied.method, states)

    def jacobian(self, values: Tensor, states: Tensor) -> Tensor:
        """Return the Jacobians there, (k, n, n)."""
        return self.varied.batched(values, "jacobian", states)

    def fixed_point(self, start: Real) -> tuple[Fixed, int]:
        """Return one fixed point at each value, and at which it is followed from.

        Newton's method from `start` (n,) finds one at every value that it can. The one that is nearest to `start` is
        followed over the grid, from each value to its neighbours: a step is believed where Newton's method goes
        straight there and straight back.
        """
        count, side = len(self.values), int(np.sqrt(len(self.values)))
        every = np.arange(count)
        states, iterations, reached, _ = self.newton(self.values, np.tile(start, (count, 1)))
        first = int(np.where(reached, np.linalg.norm(states - start, axis=1), np.inf).argmin())
        reached &= every == first
        row, column = np.divmod(every, side)
        for _ in through(range(2 * side)):
            new = 0
            for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                inside = (row - down >= 0) & (row - down < side) & (column - right >= 0) & (column - right < side)
                known = np.clip(every - side * down - right, 0, count - 1)
                some = np.flatnonzero(~reached & inside & reached[known])
                if not len(some):
                    continue
                found, taken, straight = self.followed(self.values[known[some]], self.values[some], states[known[some]])
                some = some[straight]
                states[some], iterations[some], reached[some] = found[straight], taken[straight], True
                new += len(some)
            if not new:
                break
        states = np.where(reached[:, None] | ~reached.any(), states, np.nan)
        judged = [self.judged(self.values[part], states[part], reached[part]) for part in self.blocks]
        told = (np.concatenate(each) for each in zip(*judged, strict=True))
        return Fixed(states, np.where(reached, iterations, 0), reached, *told), first

    def followed(self, known: Tensor, new: Tensor, states: Real) -> tuple[Real, Index, NDArray[np.bool_]]:
        """Return where fixed points at `known` values are at `new` ones, the iterations, and whether that is certain.

        Where one step is not, `PARTS` are tried.
        """
        found, iterations, certain = self._there_and_back(known, new, states)
        lost = np.flatnonzero(~certain)
        if len(lost):
            ahead, way, sure = states[lost], (new - known)[lost] / PARTS, np.ones(len(lost), dtype=bool)
            for part in range(PARTS):
                before = known[lost] + part * way
                ahead, _, each = self._there_and_back(before, before + way, ahead)
                sure &= each
            found[lost], certain[lost] = ahead, sure
        return found, iterations, certain

    def _there_and_back(self, known: Tensor, new: Tensor, states: Real) -> tuple[Real, Index, NDArray[np.bool_]]:
        there, iterations, converged, direct = self.newton(new, states)
        there = np.where(converged[:, None], there, states)
        back, _, returned, straight = self.newton(known, there)
        moved, missed = (np.linalg.norm(each - states, axis=1) for each in (there, back))
        returned &= missed <= MISSED * np.maximum(moved, np.linalg.norm(states, axis=1))
        return there, iterations, converged & returned & direct & straight

    def newton(
        self, values: Tensor, starts: Real, period: int = 1
    ) -> tuple[Real, Index, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return where Newton's method leads from (k, n), its iterations, and where it converges, and directly."""
        parts = [part for part in self.blocks if part.start < len(starts)]
        ends = [self._newton(values[part], starts[part], period) for part in parts]
        return tuple(np.concatenate(each) for each in zip(*ends, strict=True))  # type: ignore[return-value]

    def _newton(self, values: Tensor, starts: Real, period: int) -> tuple[Real, ...]:
        is_map, states = not self.varied.held.is_flow, torch.from_numpy(starts.copy())
        size, identity = states.norm(dim=-1), float(is_map) * torch.eye(starts.shape[1], dtype=torch.float64)
        iterations, before = torch.zeros(len(values), dtype=torch.int64), torch.full((len(values),), torch.inf)
        direct = torch.ones(len(values), dtype=torch.bool)
        for number in range(MAX_NEWTON + 1):
            orbit = [states]
            for _ in range(period):
                orbit.append(self.moved(values, orbit[-1]))
            value = orbit.pop() - states * is_map
            live = ~(value.norm(dim=-1) <= SETTLED * torch.maximum(states.norm(dim=-1), size).clamp_min(TINY))
            if number == MAX_NEWTON or not live.any():
                break
            matrix = self.jacobian(values, orbit[0])
            for each in orbit[1:]:
                matrix = self.jacobian(values, each) @ matrix
            step, info = torch.linalg.solve_ex(matrix - identity, value.unsqueeze(-1))
            usable, length = live & (info == 0), step[..., 0].norm(dim=-1)
            direct &= ~live | ~(length > SHORTER * before)
            before = torch.where(usable, length, before)
            states = torch.where(usable[:, None], states - step[..., 0], states)
            iterations += live
        return tuple(each.numpy() for each in (states, iterations, ~live & torch.isfinite(states).all(-1), direct))

    def periods(self, starts: Real, longest: int, largest: float) -> Index:
        """Return the period, up to `longest`, of what the orbit from each of `starts` (value, n) settles to, or a code.

        An orbit that repeats is refined by Newton's method, whose root says the period: just before a flip an orbit
        still goes to and fro about the fixed point that it comes to.
        """
        found = np.empty(len(starts), dtype=np.int64)
        for part in through(self.blocks):
            values, states = self.values[part], torch.from_numpy(starts[part])
            for _ in range(TRANSIENT):
                states = self._inside(values, states, largest)
            orbit = [states]
            for _ in range(longest):
                orbit.append(self._inside(values, orbit[-1], largest))
            size = torch.stack(orbit).norm(dim=-1).amax(dim=0).clamp_min(TINY)
            away = torch.stack([(each - states).norm(dim=-1) / size for each in orbit[1:]]).numpy()
            near = away <= RETURNS
            period = np.where(near.any(axis=0), near.argmax(axis=0) + 1, APERIODIC)
            period[(period == APERIODIC) & (np.nan_to_num(away, nan=np.inf).min(axis=0) < STAYS_AWAY)] = UNDECIDED
            period[np.isnan(away).any(axis=0)] = CUT
            for m in np.unique(period[period > 1]).tolist():
                some = np.flatnonzero(period == m)
                sizes = np.linalg.norm(starts[part][some], axis=1)
                period[some] = self._least_period(values[some], states.numpy()[some], m, sizes)
            found[part] = period
        return found

    def _inside(self, values: Tensor, states: Tensor, largest: float) -> Tensor:
        """Return the next states, NaN where they have left the bound, and so from there on."""
        moved = self.moved(values, states)
        return torch.where((moved.abs() <= largest).all(dim=-1, keepdim=True), moved, torch.nan)

    def _least_period(self, values: Tensor, states: Real, period: int, sizes: Real) -> Index:
        """Return the least period of the cycles of `period` steps that Newton's method finds from states (k, n)."""
        ends, _, converged, _ = self.newton(values, states, period)
        at = moved = torch.from_numpy(ends)
        found = np.where(converged, period, UNDECIDED)
        for m in range(1, period):
            moved = self.moved(values, moved)
            back = ((moved - at).norm(dim=-1).numpy() <= MISSED * sizes) & (found == period) & (period % m == 0)
            found = np.where(back, m, found)
        return found

    def judged(
        self, values: Tensor, found: Real, reached: NDArray[np.bool_]
    ) -> tuple[Real, Real, NDArray[np.int8], Index]:
        """Return ‖G‖₂ at states (k, n), and what their eigenvalues say: leading, stable and unstable directions."""
        is_map, (count, n), eps = not self.varied.held.is_flow, found.shape, float(np.finfo(np.float64).eps)
        states = torch.from_numpy(found)
        residual = (self.moved(values, states) - states * is_map).norm(dim=-1).numpy()
        aside = eps * states.norm(dim=-1, keepdim=True).clamp_min(TINY) * torch.linspace(1, 2, n, dtype=torch.float64)
        three = torch.stack([states, states + aside, states - aside], dim=1).nan_to_num(0.0)
        matrices = self.jacobian(values, three).numpy()
        change = np.linalg.norm(matrices[:, 1:] - matrices[:, :1], axis=(2, 3)).max(axis=1)
        norms = np.linalg.norm(matrices[:, 0], axis=(1, 2))
        leading, stable, unstable = np.full(count, np.nan), np.full(count, -1, np.int8), np.zeros(count, np.int64)
        some = np.flatnonzero(reached & (change <= JUMP * norms) & np.isfinite(norms))
        if len(some):
            told, errors, _ = eigenvalues(matrices[some, 0], change[some] + n * eps * norms[some])
            kinds = [(kind_of_map if is_map else kind_of_flow)(*each) for each in zip(told, errors, strict=True)]
            leading[some] = np.abs(told).max(axis=1) if is_map else told.real.max(axis=1)
            stable[some], unstable[some] = [one.stable for one in kinds], [one.unstable for one in kinds]
        return residual, leading, stable, unstable
