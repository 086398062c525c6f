"""Slow points: local minima of the squared speed q(h) = ½ ‖F(h) − h‖² that are no fixed points.

∇q = (J − I)ᵀ(F(h) − h) is zero there though F(h) − h is not: J has the left eigenvector F(h) − h, with the eigenvalue
1. So J − I itself may be as small as ∇q, as beside a fold of one dimension, and says nothing of how small ∇q must be.
What says it is q: where the quadratic model of q has no more than a small part of q to gain, q is stationary.

References
----------
Sussillo and Barak, "Opening the black box: low-dimensional dynamics in high-dimensional recurrent neural networks",
Neural Computation 25 (2013), section 2; Boyd and Vandenberghe, Convex Optimization, section 9.5.1 (Newton's decrement);
Nocedal and Wright, Numerical Optimization, sections 2.1 and 3.4.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.optimize
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.by_layers import Found, Layer, Point
from dynlab.diagnostics.fixed_points.places import SLOW, Place
from dynlab.diagnostics.fixed_points.search import GIVEN, VISITED, Starts, outside
from dynlab.jacobians import displacement_matrices, jacobian
from dynlab.numerics import merging
from dynlab.numerics.roots import solve, tolerance
from dynlab.systems.held import Held

MAX_ITERATIONS = 2000
RELATIVE_DECREASE = 1e-10  # of q in an iteration, below which L-BFGS stops: Newton's method goes on from there
RESTARTS, RESTART = 5, 0.9  # L-BFGS begins anew, with q in units of what it has become, while that is a tenth lower
FLAT = 1e-9  # times its largest modulus: an eigenvalue of q's Hessian below that is not told from zero
STATIONARY = 1e-6  # times q: a decrement ½ gᵀH⁻¹g below that leaves nothing to gain
CLOSE = 1e-4  # times q: from such a decrement on a whole step of Newton's is taken, whatever rounding makes of q
NEWTON_STEPS, HALVINGS = 50, 12
SETTLED = 1e-9  # times max(1, ‖h‖): a step below that ends the iteration


class Model(NamedTuple):
    """q about a state to second order.

    Attributes
    ----------
    step : Tensor, shape (n,)
        Newton's, with the Hessian's eigenvalues by modulus, not below `FLAT` of the largest.
    decrement : float
        ½ gᵀ|H|⁻¹g, what the model gains by it.
    is_minimum : bool
        Whether no eigenvalue is negative.
    """

    step: Tensor
    decrement: float
    is_minimum: bool


def speed(frozen: Held, states: Tensor) -> Tensor:
    """Return q(h) = ½ ‖F(h) − h‖₂², of a flow ½ ‖f(h)‖₂², shape (k,)."""
    return frozen.displacement(states).square().sum(-1) / 2


def with_slow_points(
    held: Held,
    exact: Held,
    found: Found,
    given: Tensor | None,
    visited: Tensor | None,
    count: int,
    largest_speed: float,
    seed: int,
) -> Found:
    """Add slow points with q up to `largest_speed` to what a search found, and the starts that they were reached from.

    These are `given`, or half of them `visited` states, half random ones; parameters are those of `by_layers.search`.
    """
    generator = np.random.default_rng(seed)
    begun = given
    if begun is None:
        seen = where.bounded(where.orbits(held, generator) if visited is None else visited)
        picked = seen[torch.as_tensor(generator.integers(len(seen), size=count - count // 2))]
        begun = torch.cat([picked, where.random_starts(held, count // 2, where.reach_of(held, seen), generator)])
    states, _ = slow_points_from(exact, begun.to(exact.input), largest_speed)
    states = states[~outside(exact, torch.as_tensor(states))]
    if not len(states):
        return found
    labels = merging.merged(states)
    speeds = exact.displacement(torch.as_tensor(states)).norm(dim=-1).numpy()
    first = np.lexsort((speeds, labels))[np.unique(np.sort(labels), return_index=True)[1]]
    nothing = np.zeros(states.shape[1])
    places = [Place(states[index], SLOW, 0.0, nothing) for index in first]
    points = [Point((Layer(exact, exact, place, 0.0),), np.zeros(0, dtype=np.int64)) for place in places]
    ones = np.ones(len(states), dtype=np.int64)
    origin = np.full(len(states), VISITED if given is None else GIVEN)
    reached = Starts(len(found.places) + labels, np.full(len(states), SLOW), origin, ones, speeds, ones)
    return replace(found, places=[*found.places, *points], starts=Starts.joined([found.starts, reached]))


def slow_points_from(
    exact: Held, starts: Tensor, largest_speed: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return slow points (k, n), and from which start each was reached.

    The search for roots stops at local minima of ‖F(h) − h‖; q is minimised from there, to the end by Newton's method.
    """
    ended = solve(exact.displacement, partial(displacement_matrices, exact), starts)
    lost = (~ended.converged & torch.isfinite(ended.states).all(-1)).nonzero()[:, 0]
    descents, minimum = settled(exact, descended(exact, ended.states[lost]), largest_speed)
    at_root = (exact.displacement(descents).norm(dim=-1) <= tolerance(descents)).numpy()
    kept = minimum & ~at_root
    return descents.numpy()[kept], lost.numpy()[kept]


def descended(frozen: Held, starts: Tensor) -> Tensor:
    """Return where L-BFGS on q ends from each start, shape (k, n)."""
    return torch.stack([_descended(frozen, start) for start in starts]) if len(starts) else starts


def settled(frozen: Held, states: Tensor, largest_speed: float) -> tuple[Tensor, NDArray[np.bool_]]:
    """Return the local minima (k, n) of q that Newton's method reaches, and whether each is one with q small enough.

    A state is a minimum where ∇q is zero to what `STATIONARY` says, and no eigenvalue of q's Hessian is negative. With
    a q beyond `largest_speed` a state is left as it is: descent came to its end there.
    """
    ended, found = states.clone(), np.zeros(len(states), dtype=bool)
    for index in np.flatnonzero((speed(frozen, states) <= largest_speed).numpy()):
        ended[index], found[index] = _settled(frozen, states[index])
    return ended, found


def _settled(frozen: Held, state: Tensor) -> tuple[Tensor, bool]:
    q = float(speed(frozen, state[None]))
    model = _model(frozen, state)
    for _ in range(NEWTON_STEPS):
        moved = _moved(frozen, state, q, model)
        if moved is None:
            break
        length, (state, q, model) = float((moved[0] - state).norm()), moved
        if length <= SETTLED * float(merging.scale(state.numpy())):
            break
    return state, model.is_minimum and model.decrement <= STATIONARY * q


def _moved(frozen: Held, state: Tensor, q: float, model: Model) -> tuple[Tensor, float, Model] | None:
    """The next state, its q and its model; None where no step lowers q, nor ∇q where only rounding is left of q."""
    if model.decrement <= CLOSE * q:
        trial = state + model.step
        trial_q, following = float(speed(frozen, trial[None])), _model(frozen, trial)
        better = following.decrement < model.decrement and trial_q <= q * (1 + CLOSE)
        return (trial, trial_q, following) if better else None
    for halving in range(HALVINGS):
        trial = state + 0.5**halving * model.step
        trial_q = float(speed(frozen, trial[None]))
        if trial_q < q:
            return trial, trial_q, _model(frozen, trial)
    return None


def _model(frozen: Held, state: Tensor) -> Model:
    gradient_of = torch.func.jacrev(lambda h: speed(frozen, h.unsqueeze(0))[0])
    gradient, hessian = gradient_of(state), torch.func.jacrev(gradient_of)(state)
    if not torch.isfinite(hessian).all():
        return Model(torch.zeros_like(state), np.inf, False)
    curvature, axes = torch.linalg.eigh(hessian)
    flat = FLAT * curvature.abs().max()
    along = axes.mT @ gradient / curvature.abs().clamp_min(flat)
    along[~torch.isfinite(along)] = 0.0  # q is constant: 0/0
    decrement = float((along * (axes.mT @ gradient)).sum() / 2)
    return Model(-axes @ along, decrement, bool(curvature.min() >= -flat))


def _descended(frozen: Held, start: Tensor) -> Tensor:
    def q(h: NDArray[np.float64], unit: float) -> tuple[float, NDArray[np.float64]]:
        state = torch.from_numpy(h).unsqueeze(0)
        displacement = frozen.displacement(state)
        J = jacobian(frozen.system, *frozen.given(state))
        gradient = J.apply_transpose(displacement.unsqueeze(-1))[0, :, 0] - (0 if frozen.is_flow else displacement[0])
        return float(displacement.square().sum() / 2) / unit, gradient.numpy() / unit

    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "ftol": RELATIVE_DECREASE, "gtol": 0.0}
    state, unit = start.numpy(), float(speed(frozen, start[None]))
    for _ in range(RESTARTS):
        if not 0 < unit < np.inf:
            break
        # L-BFGS-B takes a decrease relative to max(1, |f|), so that f must not be far below 1
        ended = scipy.optimize.minimize(q, state, args=(unit,), jac=True, method="L-BFGS-B", options=options)
        state = ended.x
        if not ended.fun < RESTART:
            break
        unit *= float(ended.fun)
    return torch.from_numpy(state)
