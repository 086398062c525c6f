"""The fixed points that a search has found, each once: two computed roots within Newton's error are one.

An affine map, h → J h + c, needs no search: its fixed points are one affine set, or none.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from dynlab.numerics import merging
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.isolation import SEVERAL, Equations, isolation
from dynlab.program import NoProgram
from dynlab.program.differentiation import jacobian_and_error, step_and_error
from dynlab.program.operations import LINEAR
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import ungated_matrices

FIXED, SLOW = "fixed point", "slow point"
DEGENERATE = "degenerate"  # I − J is singular within its error: a line of points, a multiple one, or a near miss
AT_KINK, UNVERIFIED = "at a kink", "unverified"
STATUSES = (FIXED, AT_KINK, DEGENERATE, UNVERIFIED, SLOW)  # in the order of the Dataset

NOWHERE = -1  # in place of a root's number
ROUNDINGS = 16.0  # times n ε: of an affine map's matrix and of its value
COPIES = 1e-10  # times max(1, ‖h‖): ends of a search this near are one before they are looked at


@dataclass(frozen=True)
class Root:
    """A fixed point as a search found it, not verified yet.

    Attributes
    ----------
    state : ndarray, shape (n,)
    status : str
        `FIXED`, `DEGENERATE` or `SLOW`.
    error : float
        Bound on how far it may be off, to first order; inf where I − J is singular to rounding.
    weakest : ndarray, shape (n,)
        The direction in which it may be off most.
    index : int
        sign det(I − J), 0 where it is not known.
    dimension : int
        Dimension of the affine set of fixed points that an affine map has; 0 of other maps.
    spread : float
        Distance of the farthest end of the search that is counted to it.
    """

    state: Real
    status: str
    error: float
    weakest: Real
    index: int = 0
    dimension: int = 0
    spread: float = 0.0


@dataclass
class DistinctRoots:
    """The roots found of a system whose input is held; `numbers` adds what is new.

    Attributes
    ----------
    held : Held
        System in float64 on the CPU.
    found : list of Root
        One of them stands for all whose place rounding leaves open by more than 1e-7: the one with the smallest
        residual, of equal ones the one nearest to 0.
    """

    held: Held
    found: list[Root] = field(default_factory=list)

    def isolated(self) -> Real:
        """Return the states (k, n) of those that are alone."""
        states = [root.state for root in self.found if root.status == FIXED]
        return np.array(states).reshape(-1, self.held.system.state_size)

    def index_sum(self) -> int | None:
        """Return Σ sign det(I − J), which is 1 if no point is missing; None where that theorem does not hold.

        A map of a bounded convex set into itself has the sum 1 (Brouwer's theorem, with Lefschetz's count). An LSTM
        is one too: its memory comes nearer to 0 from far away, since its forget gates stay below 1.
        """
        indices = [root.index for root in self.found]
        return None if self.held.is_flow or self.held.system.state_bound() is None or 0 in indices else sum(indices)

    def numbers(self, ends: Real) -> Index:
        """Return the number of the root that each of these (k, n), as computed, belongs to; −1 of none."""
        labels = self._known(ends)
        left = np.flatnonzero(labels == NOWHERE)
        if len(left):
            new = ends[left]
            groups = merging.merged(new, same=COPIES)
            residuals = np.linalg.norm(equations(self.held).value(torch.as_tensor(new)).numpy(), axis=1)
            best = np.lexsort((np.linalg.norm(new, axis=1), residuals))
            chosen = best[np.sort(np.unique(groups[best], return_index=True)[1])]  # one of each group, the best first
            numbers = np.array([self._number(root) for root in self._roots(new[chosen])])
            labels[left] = numbers[np.argsort(groups[chosen])][groups]
        for number in np.unique(labels[labels != NOWHERE]):
            root = self.found[number]
            farthest = float(np.linalg.norm(ends[labels == number] - root.state, axis=1).max())
            self.found[number] = replace(root, spread=max(root.spread, farthest))
        return labels

    def _known(self, ends: Real) -> Index:
        """Return the root within whose error each end lies."""
        if not self.found:
            return np.full(len(ends), NOWHERE)
        states = np.array([root.state for root in self.found])
        errors = np.nan_to_num([root.error for root in self.found], posinf=0.0)
        reach = np.maximum(COPIES * merging.scale(states), SEVERAL * errors)
        distance, nearest = KDTree(states).query(ends)
        return np.where(distance <= reach[nearest], nearest, NOWHERE)

    def _roots(self, states: Real) -> list[Root | None]:
        """Return what each of these (k, n) is; None of a small minimum of the residual."""
        shown = isolation(equations(self.held), torch.as_tensor(states))
        sign = 1 if is_gated(self.held) else (-1) ** states.shape[1]
        return [
            Root(state, FIXED if alone else DEGENERATE, float(error), weakest, sign * int(det) if alone else 0)
            if root
            else None
            for state, error, alone, root, det, weakest in zip(states, *(part.numpy() for part in shown), strict=True)
        ]

    def _number(self, new: Root | None) -> int:
        """Return the number of the root that a new one is, which is added unless it is known."""
        if new is None:
            return NOWHERE
        scale = float(merging.scale(new.state))
        for number, root in enumerate(self.found):
            open_ = [each.status == DEGENERATE and each.error > merging.SAME * scale for each in (new, root)]
            reach = merging.SAME * scale if any(open_) else SEVERAL * max(new.error, root.error)
            if all(open_) or np.linalg.norm(new.state - root.state) <= max(reach, COPIES * scale):
                if new.status == FIXED and (root.status != FIXED or new.error < root.error):
                    self.found[number] = new
                return number
        self.found.append(new)
        return len(self.found) - 1


def equations(held: Held) -> Equations:
    """Return the ungated residual of a map that has one, with its derivative; else F(h) − h with J − I, or f with J."""
    return Equations(held.ungated, partial(ungated_matrices, held), partial(_bounded, held))


def is_gated(held: Held) -> bool:
    """Return whether the map has an ungated residual, which is h − F(h) times what is positive, unlike F(h) − h."""
    zero = torch.zeros(1, held.system.state_size, dtype=held.input.dtype, device=held.input.device)
    return held.system.ungated_residual(*held.given(zero)) is not None


def _bounded(held: Held, points: Tensor) -> tuple[Tensor, Tensor] | None:
    gated = is_gated(held)
    found = step_and_error(held.system, *held.given(points), method="ungated_residual" if gated else "evolve")
    if found is None or held.is_flow or gated:
        return found
    displacement = found[0] - points
    return displacement, found[1] + torch.finfo(points.dtype).eps * displacement.abs()


def is_affine(held: Held) -> bool:
    """Return whether the step's program shows that it is affine in the state; False for a step without a program."""
    try:
        program = held.system.program(held.input, held.t)
    except NoProgram:
        return False
    varies = program.depends_on("state")
    for number in program.needed(program.output):
        operation = program.operations[number]
        factors = [varies[read] for read in operation.reads]
        keeps = operation.name in ("state", *LINEAR) or (operation.name == "multiply" and sum(factors) == 1)
        if varies[number] and not keeps and not (operation.name == "divide" and not factors[1]):
            return False
    return True


def affine_root(exact: Held) -> Root | None:
    """Return the fixed point of an affine map that is nearest to 0; None where it has none.

    With A = J − I, of a flow J, the set is {h: A h + c = 0}; its dimension is the number of singular values of A that
    are 0 within its error.

    Parameters
    ----------
    exact : Held
        System in float64 on the CPU.
    """
    n, sought = exact.system.state_size, equations(exact)
    zero = torch.zeros(1, n, dtype=torch.float64)
    value, matrix = sought.value(zero)[0].numpy(), sought.matrix(zero)[0].numpy()
    error = float(torch.linalg.matrix_norm(jacobian_and_error(exact.system, *exact.given(zero[0]))[1]))
    wrong = ROUNDINGS * n * np.finfo(float).eps
    u, sigma, v = np.linalg.svd(matrix)
    least = error + wrong * max(1.0, sigma[0])
    told = sigma > least
    state = -v[told].T @ ((u.T @ value)[told] / sigma[told])
    left, size = np.linalg.norm(matrix @ state + value), np.linalg.norm(state)
    if left > wrong * (np.linalg.norm(value) + (1 + sigma[0]) * size) + error * size:
        return None  # c is not in A's range
    dimension = int((~told).sum())
    position = (left + least * (1 + size)) / float(sigma[told].min(initial=np.inf))
    index = 0 if dimension else (-1) ** n * int(np.linalg.slogdet(matrix)[0])
    return Root(state, DEGENERATE if dimension else FIXED, position, v[-1], index, dimension)
