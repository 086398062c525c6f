"""The search for fixed points: where every start ends, what that is worth, and which ends are the same point."""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.fixed_points.continuum import SINGULAR, continua, on_continuum
from dynlab.diagnostics.fixed_points.slow_points import descended, settled
from dynlab.jacobians import displacement_matrices, ungated_matrices
from dynlab.numerics import merging
from dynlab.numerics.affine_roots import AffineRoots
from dynlab.numerics.fsolve_check import position_error
from dynlab.numerics.lapack import in_threads
from dynlab.numerics.levenberg_marquardt import solve, tolerance
from dynlab.numerics.pseudo_transient import solve_or_follow
from dynlab.systems.held import Held

# What became of a start.
CONVERGED, SLOW, LOST = "fixed point", "slow point", "not converged"
CONTINUUM = "continuum"  # the status of the root such a start found
UNDECIDED = "undecided"  # rounding does not tell whether there is a root, or how many
OUTSIDE, CLOSED_GATE = "outside the state's bounds", "closed gate"

BOUND_SLACK = 1e-9  # a coordinate that rounding puts on its bound is within it
OPEN = 1e-8  # times max(1, ‖h‖): an ungated residual above that means that a closed gate made the residual small


class Candidates(NamedTuple):
    """Roots and slow points, each once, and which of them every start found.

    Attributes
    ----------
    states : ndarray, shape (fixed_point, n)
    kept : list of str
        For each "fixed point", "continuum", "undecided" or "slow point".
    smallest : ndarray, shape (fixed_point,)
        σ_min(J − I); on a continuum the smallest one that is not zero.
    directions : ndarray, shape (fixed_point, n)
        The unit vector v with ‖(J − I) v‖ = σ_min: the position's error is largest that way.
    assignment : ndarray of int, shape (start,)
        −1 for a start that found none.
    """

    states: NDArray[np.float64]
    kept: list[str]
    smallest: NDArray[np.float64]
    directions: NDArray[np.float64]
    assignment: NDArray[np.int64]


def affine_search(
    exact: Held, answer: AffineRoots, starts: Tensor
) -> tuple[Candidates, NDArray[np.float64], NDArray[np.str_], NDArray[np.int64]]:
    """What an affine map's starts come to: the nearest point of its one affine set of fixed points, in one step.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    answer : AffineRoots
    starts : Tensor, shape (start, n)

    Returns
    -------
    candidates : Candidates
        One, or none.
    ends, outcome, iterations : ndarray, shapes (start, n), (start,) and (start,)
    """
    states = starts.to(exact.input)
    before = states.numpy()
    ends = before.copy()
    if answer.exists:
        ends = answer.point + (before - answer.point) @ answer.directions.T @ answer.directions
    moved = (exact.displacement(states).norm(dim=-1) > tolerance(states)).numpy()
    outcome = np.full(len(ends), CONVERGED if answer.exists == 1 and answer.decided else LOST).astype(object)
    outcome[_outside(exact, torch.as_tensor(ends)) & (outcome != LOST)] = OUTSIDE
    status = (
        UNDECIDED if answer.exists < 0 or not answer.decided else CONTINUUM if len(answer.directions) else CONVERGED
    )
    point = answer.point[None][: int(answer.exists != 0 and (outcome != OUTSIDE).any())]
    sigma, rows = np.linalg.svd(displacement_matrices(exact, torch.as_tensor(point)).numpy())[1:]
    sigma = np.concatenate([np.full((len(point), 1), np.inf), sigma], axis=1)  # inf where no direction is regular
    regular = sigma[:, starts.shape[1] - len(answer.directions)]
    assignment = np.where(outcome == CONVERGED, 0, -1)
    found = Candidates(point, [status] * len(point), regular, rows[:, -1], assignment)
    return found, ends, outcome.astype(str), moved.astype(np.int64)


def search(
    frozen: Held, exact: Held, starts: Tensor
) -> tuple[NDArray[np.float64], NDArray[np.str_], NDArray[np.int64]]:
    """Where each start ends, shape (start, n), its outcome, and how many iterations that took.

    Parameters
    ----------
    frozen, exact : Held
        As the caller chose dtype and device, and in float64 on the CPU, where every search ends.
    starts : Tensor, shape (start, n)
    """
    ended = solve_or_follow(frozen.displacement, partial(displacement_matrices, frozen), starts)
    taken = ended.iterations
    if frozen is not exact:
        ended = solve(exact.displacement, partial(displacement_matrices, exact), ended.states.to(exact.input))
        taken = taken.cpu() + ended.iterations
    outcome = np.where(ended.converged.numpy(), CONVERGED, LOST).astype(object)
    _reject_closed_gates(exact, ended.states, outcome)
    outcome[_outside(exact, ended.states) & (outcome != LOST)] = OUTSIDE
    return ended.states.numpy(), outcome.astype(str), taken.numpy()


def search_slow(exact: Held, starts: Tensor, largest_speed: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Slow points (k, n), and from which start each was reached, those included that `search` leads on to a root.

    Levenberg–Marquardt stops at local minima of ‖F(h) − h‖; q is minimised from there, to the end by Newton's method.
    """
    ended = solve(exact.displacement, partial(displacement_matrices, exact), starts)
    lost = (~ended.converged & torch.isfinite(ended.states).all(-1)).nonzero()[:, 0]
    descents, minimum = settled(exact, descended(exact, ended.states[lost]), largest_speed)
    at_root = (exact.displacement(descents).norm(dim=-1) <= tolerance(descents)).numpy()
    kept = minimum & ~at_root & ~_outside(exact, descents)
    return descents.numpy()[kept], lost.numpy()[kept]


def distinct(exact: Held, ends: NDArray[np.float64], outcome: NDArray[np.str_]) -> Candidates:
    """Merge the ends that are one point, whatever the order of the starts.

    Ends are merged by distance, then once more by what is uncertain about their positions, then by the continuum
    they lie on.
    """
    assignment = np.full(len(ends), -1)
    roots = np.flatnonzero(outcome == CONVERGED)
    labels = merging.merged(ends[roots])
    chosen = _best(exact, ends[roots], labels)
    states = ends[roots][chosen]
    smallest, _, directions = _singular_values(exact, states)
    regrouped = merging.merged(states, position_errors(_residuals(exact, states), smallest, states))
    labels, chosen = regrouped[labels], _best(exact, states, regrouped)
    states = states[chosen]
    smallest, not_zero, directions = _singular_values(exact, states)

    lines = np.flatnonzero(not_zero > smallest)
    lines = lines[on_continuum(exact, states[lines], directions[lines])]
    grouped = np.arange(len(states))
    if len(lines):
        grouped[lines] = len(states) + continua(exact, states[lines])
        smallest[lines] = not_zero[lines]
    _, first, grouped = np.unique(grouped, return_index=True, return_inverse=True)
    kept = [CONTINUUM if index in lines else CONVERGED for index in first]
    assignment[roots] = grouped[labels]

    slow_ends = np.flatnonzero(outcome == SLOW)
    slow_labels = merging.merged(ends[slow_ends])
    slow_states = ends[slow_ends][_best(exact, ends[slow_ends], slow_labels)]
    assignment[slow_ends] = len(kept) + slow_labels
    slow_smallest, _, slow_directions = _singular_values(exact, slow_states)
    return Candidates(
        np.concatenate([states[first], slow_states]),
        kept + [SLOW] * len(slow_states),
        np.concatenate([smallest[first], slow_smallest]),
        np.concatenate([directions[first], slow_directions]),
        assignment,
    )


def _reject_closed_gates(exact: Held, states: Tensor, outcome: NDArray[np.object_]) -> None:
    """Mark roots that owe their small residual to a gate that lets nothing through; move to the true one close by.

    Where a gate is nearly shut, F(h) − h is small in a whole neighbourhood of a true root: it is found anew as a root
    of the ungated residual.
    """
    roots = torch.as_tensor(np.flatnonzero(outcome == CONVERGED))
    suspect = roots[~(exact.ungated(states[roots]).norm(dim=-1) <= tolerance(states[roots]))]
    if len(suspect) == 0:
        return
    refined = solve(exact.ungated, partial(ungated_matrices, exact), states[suspect])
    scale = torch.as_tensor(merging.scale(refined.states.numpy()))
    still = exact.displacement(refined.states).norm(dim=-1) <= tolerance(refined.states)
    fixed = (refined.residuals <= OPEN * scale) & still
    states[suspect[fixed]] = refined.states[fixed]
    outcome[suspect[~fixed].numpy()] = CLOSED_GATE


def _outside(exact: Held, states: Tensor) -> NDArray[np.bool_]:
    bound = exact.system.state_bound()
    if bound is None:
        return np.zeros(len(states), dtype=bool)
    beyond: NDArray[np.bool_] = (states.abs() > bound * (1 + BOUND_SLACK)).any(-1).numpy()
    return beyond


def _best(exact: Held, states: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each label the index of the state with the smallest residual."""
    order = np.lexsort((_residuals(exact, states), labels))
    return order[np.unique(labels[order], return_index=True)[1]]


def position_errors(
    residuals: NDArray[np.float64], smallest: NDArray[np.float64], states: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far each root (k, n) may be from the true one; its residual is known to its own rounding, ε ‖h‖, only."""
    known = np.maximum(residuals, np.finfo(np.float64).eps * np.linalg.norm(states, axis=1))
    errors = np.array([position_error(*pair) for pair in zip(known, smallest, strict=True)])
    return np.minimum(errors, merging.FARTHEST * merging.scale(states))


def _residuals(exact: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    return exact.displacement(torch.as_tensor(states)).norm(dim=-1).numpy()


def _singular_values(
    exact: Held, states: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """σ_min(J − I), the smallest σ that is not zero (inf where all are), and the direction v of σ_min."""
    if len(states) == 0:
        return np.zeros(0), np.zeros(0), np.zeros_like(states)
    matrices = displacement_matrices(exact, torch.as_tensor(states)).numpy()
    sigma, rows = in_threads(lambda chunk: np.linalg.svd(chunk)[1:], matrices)
    zero = sigma <= SINGULAR * (1 + sigma[:, :1])  # ‖J‖ ≤ 1 + ‖J − I‖
    return sigma[:, -1], np.where(zero, np.inf, sigma).min(axis=1), rows[:, -1]
