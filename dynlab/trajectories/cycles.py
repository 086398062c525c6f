"""Fixed points, equilibria and periodic orbits refined by Newton's method, with the error of their multipliers.

A cycle of period p of a map F is a root of F^p(h) − h, and the product of the Jacobians along it has its multipliers. A
periodic orbit of a flow f is a root (h, T) of φ_T(h) − h = 0 on the plane f(h_0)·(h − h_0) = 0 through its start.

References
----------
Kuznetsov, Elements of Applied Bifurcation Theory, sections 1.5 and 10.2 (Floquet multipliers, shooting).
"""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import kind_of
from dynlab.numerics.roots import tolerance
from dynlab.program.compiled import Compiled
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import finite_or_zero, held_matrices
from dynlab.trajectories.following import iterates, orbit

REST, CYCLE, CURVE, TORUS, CHAOS = "rest", "cycle", "closed curve", "torus", "chaos"
CLOSED = "continuum of closed orbits around a center"  # the kind of one of them, in a plane
WORDS = {1: "stable", 0: "unstable", -1: "undecided"}
ITERATIONS = 12  # of Newton's method, from an orbit that all but repeats
SINGULAR = 1e-10  # of the largest singular value of the derivative: smaller ones lead along a continuum of roots
LEAST = 1e-6  # of the distance between two states: a point that comes back so near before its period has a shorter one
SAME = 1e-12  # of the largest state: roots that agree so well are one
BLOCK = 2**21  # entries of Jacobians that are found at once
ROUNDINGS = 4  # times n p ε |J_p| … |J_1|: what rounding leaves in the product of p Jacobians
SHOT = 1e-9  # the relative error of a flow's φ_T
FIFTEEN = 15  # 2⁴ − 1: the error of half as many steps of fourth order is so many times as large
ROUGH = 1e-6  # relative: a periodic orbit that Newton's method leaves farther off is none
TIMES = 16  # turns at most, of which what repeats may be found to consist
POINTS = 512  # a quarter of the states of a flow's periodic orbit, which a stiff one has more of
DOUBLED = 4  # times that they are doubled


@dataclass(frozen=True, eq=False)
class Attractor:
    """An orbit or a set where orbits end; it attracts what is near where `stable` is 1.

    Attributes
    ----------
    form : str
        `REST`, `CYCLE`, `CURVE` (a map's invariant closed curve), `TORUS` or `CHAOS`.
    kind : str
        "stable focus", "stable period-4 orbit", "stable limit cycle", "chaotic attractor", …
    period : float
        Steps of a map (1 at rest), seconds of a flow (0 at rest); 0 where nothing repeats, NaN where orbits of
        several periods are one continuum.
    states : ndarray, shape (m, state)
        The point, the cycle, or an orbit on the set.
    stable : int
        1, 0, or −1 undecided.
    residual : float
        ‖F^p(h) − h‖₂, ‖f(h)‖₂ of an equilibrium, NaN where nothing repeats.
    multipliers : ndarray of complex, shape (mode,)
        Multipliers of F^p, or Floquet's without the flow's own 1; an equilibrium's eigenvalues λ in 1/s. Empty of sets.
    multiplier_errors : ndarray, shape (mode,)
        A bound on the error of each.
    exponents, exponent_errors : ndarray, shape (k,)
        Lyapunov exponents, in decreasing order, all or the largest ones, in nat a step or a second.
    near : float
        Ends at most this far from `states` belong to it.
    isolated : bool
        True where no multiplier may be 1 (no eigenvalue 0): else others may lie at any distance.
    """

    form: str
    kind: str
    period: float
    states: Real
    stable: int
    residual: float
    multipliers: Complex
    multiplier_errors: Real
    exponents: Real
    exponent_errors: Real
    near: float
    isolated: bool = True


def continuum(one: Attractor, other: Attractor) -> Attractor:
    """Return the continuum that two points, or cycles, are parts of that are not isolated."""
    alike = np.isclose(one.period, other.period, rtol=LEAST)
    what = "fixed points" if one.form == REST else f"period-{one.period:g} orbits"
    kind, period = CLOSED if one.kind == CLOSED else f"continuum of {what}", one.period if alike else np.nan
    states = np.concatenate([one.states, other.states])
    return replace(one, states=states, kind=kind, period=period, stable=-1)


def cycles(held: Held, period: float, starts: Real, code: Compiled | None = None) -> list[Attractor | None]:
    """Return the fixed point or cycle to which Newton's method leads from each start, None where it finds none.

    Parameters
    ----------
    held : Held
    period : float
        Steps of a map; seconds of a flow, from which the period is refined, and 0 for its equilibria.
    starts : ndarray, shape (k, state)
    code : Compiled, optional
        The result of `following.scalar_code`.
    """
    if not len(starts):
        return []
    if held.is_flow and period:
        return [_limit_cycle(held, start, period, code) for start in starts]
    p, unit = max(1, int(period)), 0.0 if held.is_flow else 1.0
    h = torch.as_tensor(starts).to(held.input)
    with torch.no_grad():
        for iteration in range(ITERATIONS + 1):
            moved, product = carried(held, p, h)
            slope = finite_or_zero(product - unit * torch.eye(h.shape[1], dtype=h.dtype))
            off = moved if held.is_flow else held.difference(moved, h)
            step = torch.linalg.pinv(slope, rtol=SINGULAR) @ off.unsqueeze(-1)
            step = step.squeeze(-1).nan_to_num(0.0, 0.0, 0.0)
            if iteration == ITERATIONS or (step.abs() <= torch.finfo(h.dtype).eps * h.abs().amax()).all():
                break
            h = h - step
        h, missed = held.difference(h), off.norm(dim=-1)
    size = 1.0 if not held.is_flow else float(torch.linalg.matrix_norm(product, 2).max().clamp_min(1))
    found: list[Attractor | None] = [None] * len(h)
    places = (missed <= size * tolerance(h)).nonzero()[:, 0]
    if len(places):
        roots = h[places].double().cpu().numpy()
        rounded = np.round(roots / (SAME * max(np.abs(roots).max(), np.abs(starts).max(), np.finfo(float).tiny / SAME)))
        _, first, which = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
        unlike = [_described(held, p, h[place], float(missed[place])) for place in places[first]]
        for place, one in zip(places.tolist(), which.ravel().tolist(), strict=True):
            found[place] = unlike[one]
    return found


def carried(held: Held, p: int, h: Tensor) -> tuple[Tensor, Tensor]:
    """Return F^p(h) of states (k, n) and its Jacobian, the product of those on the way; f(h) and ∂f/∂h of a flow."""
    k, n = h.shape
    product = torch.eye(n, dtype=h.dtype).expand(k, n, n)
    at_once = max(1, BLOCK // (k * n * n))
    for begin in range(0, p, at_once):
        *visited, h = iterates(held.moved, h, min(at_once, p - begin))
        for matrix in held_matrices(held, torch.cat(visited)).unflatten(0, (-1, k)):
            product = matrix @ product
    return h, product


def product_and_error(held: Held, states: Tensor) -> tuple[Real, Real]:
    """Return J_p … J_1 along consecutive states (p, n), and a bound on the error of each entry, inf at a kink.

    With E_i the error of J_i, the bound is Π(|J_i| + E_i) − Π|J_i|, and the rounding of the products.
    """
    n = states.shape[1]
    product = known = doubtful = np.eye(n)
    for block in states.split(max(1, BLOCK // n**2)):
        parts = (part.expand(len(block), n, n) for part in jacobian_and_error(held.system, *held.given(block)))
        for matrix, error in zip(*(part.double().cpu().numpy() for part in parts), strict=True):
            product, known = matrix @ product, np.abs(matrix) @ known
            with np.errstate(invalid="ignore"):  # 0 · inf
                doubtful = np.nan_to_num((np.abs(matrix) + error) @ doubtful, nan=np.inf, posinf=np.inf)
    return product, doubtful - known + ROUNDINGS * n * len(states) * np.finfo(np.float64).eps * known


def _described(held: Held, p: int, root: Tensor, residual: float) -> Attractor | None:
    """Return the fixed point, equilibrium or cycle through a root; None where it repeats earlier than after p steps."""
    with torch.no_grad():
        points = held.difference(torch.stack(iterates(held.moved, root, p - 1)))
        apart = held.difference(points[1:], root).abs().amax(dim=1)
        if p > 1 and float(apart.min()) <= max(LEAST * float(apart.max()), float(tolerance(root))):
            return None
        matrix, error = product_and_error(held, points)
        # the root lies off the exact one by the residual over the weakest slope: how the product changes on the way
        off = (residual + np.finfo(np.float64).eps * float(root.norm())) * _weakest(matrix, held.is_flow)
        beside = carried(held, p, (root + torch.as_tensor(off).to(root))[None])[1][0]
        error = error + 2 * np.abs(beside.double().cpu().numpy() - matrix)
    values, errors, _ = eigenvalues(matrix, error)
    kind = kind_of(values, errors, held.is_flow)
    name = kind.name if p == 1 else f"{WORDS[kind.stable]} period-{p} orbit"
    leading = np.argsort(-values.real, kind="stable")
    rates = (values.real[leading], errors[leading]) if held.is_flow else exponents_of(values, errors, p)
    period = 0.0 if held.is_flow else float(p)
    isolated = bool((np.abs(values - (0 if held.is_flow else 1)) > errors).all())
    numbers = points.double().cpu().numpy(), kind.stable, residual, values, errors
    return Attractor(REST if p == 1 else CYCLE, name, period, *numbers, *rates, 0.0, isolated)


def _weakest(matrix: Real, is_flow: bool) -> Real:
    """Return the direction in which F^p(h) − h (f of a flow) changes least, as long as the reciprocal of that slope."""
    _, singular, directions = np.linalg.svd(matrix - (0 if is_flow else 1) * np.eye(len(matrix)))
    return np.asarray(directions[-1] / max(singular[-1], np.sqrt(np.finfo(float).eps) * max(singular[0], 1e-300)))


def exponents_of(multipliers: Complex, errors: Real, period: float) -> tuple[Real, Real]:
    """Return ln|μ|/period of multipliers in decreasing order, and the errors: inf where |μ| is not told from 0."""
    sizes = np.abs(multipliers)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.log(sizes) / period
        wrong = np.where(errors < sizes, -np.log1p(-np.minimum(errors / sizes, 1)) / period, np.inf)
    order = np.argsort(-sizes, kind="stable")
    return rates[order], np.where((sizes == 0) & (errors == 0), 0.0, wrong)[order]


def _limit_cycle(held: Held, start: Real, period: float, code: Compiled | None) -> Attractor | None:
    """Return the periodic orbit of a flow near a start (n,) that returns after about `period` seconds, by shooting."""
    n, h, T, before = len(start), start, period, np.inf
    normal = _velocity(held, start)
    for _ in range(ITERATIONS):
        states, monodromy, error = _shot(held, h, T, code)
        if not np.isfinite(monodromy).all():
            return None
        slope = np.block(
            [[monodromy - np.eye(n), _velocity(held, states[-1])[:, None]], [normal[None], np.zeros((1, 1))]]
        )
        off = np.append(held.difference(states[-1], h), normal @ (h - start))
        step = np.linalg.lstsq(slope, off, rcond=ROUGH)[0]  # of orbits that are all closed it moves T alone
        size, scale = float(np.abs(step[:n]).max()), float(np.abs(states).max())
        size += float(abs(step[n]) * np.linalg.norm(normal))
        if size <= SHOT * scale or size > before / 2 or not 0.5 * period < T - step[n] < 2 * period:
            break
        h, T, before = h - step[:n], T - step[n], size
    residual, width = float(np.linalg.norm(held.difference(states[-1], h))), float(np.ptp(states, axis=0).max())
    if size > ROUGH * scale or residual > ROUGH * scale or width <= LEAST * scale + np.linalg.norm(h - start):
        return None
    gaps = np.linalg.norm(held.difference(states[1:], states[:-1]), axis=1)
    for times in range(TIMES, 1, -1):  # the period may be that of several turns
        if np.linalg.norm(held.difference(states[round((len(states) - 1) / times)], h)) <= gaps.max():
            once = _limit_cycle(held, h, T / times, code)
            if once is not None:
                return once
    values, errors, _ = eigenvalues(monodromy, error + SHOT * np.linalg.norm(monodromy, 2))
    own = int(np.abs(values - 1).argmin())  # of a step along the flow
    others, wrong = np.delete(values, own), np.delete(errors, own)
    stable = kind_of(others, wrong, is_flow=False).stable
    rates, rate_errors = exponents_of(np.append(others, 1.0), np.append(wrong, 0.0), T)
    isolated = bool((np.abs(others - 1) > wrong).all())
    kind = f"{WORDS[stable]} limit cycle" if isolated or n > 2 else CLOSED
    parts = (kind, float(T), states, stable, residual, others, wrong, rates, rate_errors)
    return Attractor(CYCLE, *parts, float(gaps.max()), isolated)


def _shot(held: Held, start: Real, seconds: float, code: Compiled | None) -> tuple[Real, Real, Real]:
    """Return states (m, n) along a flow's solution, ∂φ_T/∂h and the error of its entries, by half as many states.

    The states are extrapolated from those of half as many steps, which are doubled until these agree; ∂φ_T/∂h is NaN
    where they never do.
    """
    h = torch.as_tensor(start).to(held.input)[None]

    def solved(count: int) -> tuple[Real, Real]:
        dt = seconds / count
        with torch.no_grad():
            states = torch.cat([h[None], orbit(held, h, count, code, dt)[0]])[:, 0].double().cpu().numpy()
        return states, reduce(lambda product, step: step @ product, propagators(held, states, dt))

    rough, coarse = solved(2 * POINTS)
    for doubled in range(DOUBLED):
        states, fine = solved(4 * POINTS * 2**doubled)
        beside, size = held.difference(states[::2], rough), max(np.abs(states).max(), np.finfo(float).tiny)
        if np.abs(beside).max() < ROUGH * size:
            states[::2] += beside / FIFTEEN
            return states, fine, np.abs(fine - coarse)
        rough, coarse = states, fine
    return states, np.full_like(fine, np.nan), fine


def propagators(held: Held, states: Real, dt: float) -> Real:
    """Return the effect of each step to a tangent vector, shape (k, n, n).

    Of a map these are the Jacobians at the states (k, n). Of a flow, whose states are `dt` apart, two steps are one of
    Runge and Kutta's method for Y' = J Y.
    """
    n = states.shape[1]
    parts = torch.as_tensor(states).to(held.input).split(max(1, BLOCK // n**2))
    with torch.no_grad():
        slopes = np.concatenate([held_matrices(held, part).double().cpu().numpy() for part in parts])
    if not held.is_flow:
        return slopes
    one, middle, first, last = np.eye(n), slopes[1:-1:2], slopes[:-2:2], slopes[2::2]
    second = middle @ (one + dt * first)
    third = middle @ (one + dt * second)
    return np.asarray(one + dt / 3 * (first + 2 * second + 2 * third + last @ (one + 2 * dt * third)))


def _velocity(held: Held, state: Real) -> Real:
    with torch.no_grad():
        return np.asarray(held.moved(torch.from_numpy(state).to(held.input)[None])[0].double().cpu().numpy())
