"""The set that an orbit without repetition is on: a cycle that it comes to slowly, a closed curve, a torus, or chaos.

Sets are told by the signs of its exponents.

References
----------
Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980): exponents from the R of successive QR factors.
"""

import functools

import numpy as np
import torch
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.closed_path import closed_curves
from dynlab.numerics.statistics import BLOCKS, signs, standard_errors, sure
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices
from dynlab.trajectories.cycles import CHAOS, CURVE, TORUS, Attractor, cycles, propagators
from dynlab.trajectories.following import REPEATS, orbit

MOST_JOINED = 4096  # of an orbit's last states are joined by a tree: its work grows with their square
MEASURED = 3  # exponents, the largest ones
ALIGNED = 0.25  # of the orbit: the frame turns to the growing directions before its growth counts
AT_ONCE = 4  # steps between two factorisations: beyond, the lesser directions drown in rounding
BESIDE = 1e-8  # of the orbit's size: how far aside its neighbour starts
NEAR = 2.0  # times the largest distance to a nearest neighbour: an end so near to the orbit is on the same set
LATE = 512  # last states of the neighbour, most of which are near where the set attracts
DRIFT = 0.1  # of the orbit's width: by more than this the means of its halves differ where it has not settled
LONGEST = 1024  # steps: the longest period of a cycle that an orbit is slowly coming to
CLOSEST, ALMOST, LAGS = 1e-2, 2.0, 3  # of its width, and of the least: it misses itself by less after so many periods
HALVED, AT_IT, CAME = 0.5, 1e-6, 64  # it comes nearer by so much, its last states
CHAOTIC_DRIFT = 0.5  # the same of chaos, whose halves never agree so well


def distances(held: Held, one: Attractor, states: Real) -> Real:
    """Return how far each of the states (k, n) is from the attractor's."""
    return np.asarray(cKDTree(held.placed(one.states)).query(held.placed(states))[0])


def with_neighbour(held: Held, begin: Real, length: int, seed: int, code: Compiled | None) -> tuple[Real, Real, float]:
    """Return an orbit from where a state (n,) is after `length` steps, one beside it, and a step's time."""
    begin = orbit(held, torch.as_tensor(begin).to(held.input)[None], length, code)[0][-1, 0].double().cpu().numpy()
    aside = np.random.default_rng(seed).standard_normal(len(begin))
    both = np.stack([begin, begin + BESIDE * np.abs(begin).max() * aside / np.linalg.norm(aside)])
    states, dt = orbit(held, torch.as_tensor(both).to(held.input), length, code)
    trail, beside = states.double().cpu().numpy().swapaxes(0, 1)
    return trail, beside, dt


def slow_cycle(held: Held, trail: Real) -> Attractor | None:
    """Return the stable cycle of a map that an orbit (m, n) comes to; None where it comes nearer to none."""
    if held.is_flow or not np.isfinite(trail).all():
        return None
    half, width = len(trail) // 2, float(np.ptp(trail, axis=0).max())
    missed, before = (np.abs(part[-1 - LONGEST : -1] - part[-1]).max(axis=1)[::-1] for part in (trail, trail[:half]))
    near = missed <= min(CLOSEST * width, max(ALMOST * missed.min(), REPEATS * width))
    near &= (missed <= HALVED * before) | (missed <= REPEATS * width)
    for lag in (np.flatnonzero(near) + 1)[:LAGS].tolist():
        for one in cycles(held, lag, trail[-1:]):
            if one is not None and one.stable == 1:
                late, early = (distances(held, one, part).max() for part in (trail[-CAME:], trail[:half]))
                if late <= CLOSEST * width and (late < HALVED * early or late <= AT_IT * width):
                    return one
    return None


def aperiodic(held: Held, trail: Real, beside: Real, dt: float, seed: int) -> Attractor | None:
    """Return the set that an orbit is on, None where its exponents or its shape do not decide.

    Parameters
    ----------
    held : Held
    trail, beside : ndarray, shape (m, n)
        Consecutive states of the orbit, and of one that starts beside it.
    dt : float
        The time between them.
    seed : int
        Seed of the frame that grows along the orbit.

    Notes
    -----
    With s_i the signs of the exponents beyond their errors: s_1 > 0 is chaos; s_1 = 0 and s_2 < 0 with states on a
    closed path is an invariant closed curve; s_1 = s_2 = 0 and s_3 < 0 a torus. A flow has one more 0, its own
    direction. The set attracts where an orbit that starts beside it comes back to it.
    """
    if not np.isfinite(trail).all():
        return None
    exponents, errors = exponents_along(held, trail, dt, seed)
    sign = signs(exponents, errors)
    placed = held.placed(trail)
    tree = cKDTree(placed)
    near = NEAR * float(tree.query(placed, k=2)[0][:, 1].max())
    if _drift(trail) > (CHAOTIC_DRIFT if sign[0] > 0 else DRIFT):
        return None
    form, kind, widest = _form(held, trail, sign)
    if not form:
        return None
    near, late = max(near, widest), beside[-LATE:]
    stable = int(np.isfinite(late).all() and float(np.mean(tree.query(held.placed(late))[0] <= near)) > 0.5)
    if form == CHAOS and stable and _preserves_volume(held, trail):
        kind, stable = "chaotic, volume-preserving orbits", -1
    if stable == 0:
        kind = "unstable chaotic set" if form == CHAOS else f"unstable {kind}"
    none = np.zeros(0, dtype=np.complex128), np.zeros(0)
    return Attractor(form, kind, 0.0, trail, stable, np.nan, *none, exponents, errors, near)


def _form(held: Held, trail: Real, sign: Index) -> tuple[str, str, float]:
    """Return the form of the set, its name, and the widest hole in its states; "" where the signs do not decide."""
    if sign[0] > 0:  # by Poincaré and Bendixson no flow of two states is chaotic
        return ("", "", 0.0) if held.is_flow and trail.shape[1] < 3 else (CHAOS, "chaotic attractor", 0.0)
    zeros = int((sign == 0).sum())
    if zeros == len(sign) or not (sign[zeros:] < 0).all() or zeros < 1 + held.is_flow:
        return "", "", 0.0
    if zeros > 1:
        return TORUS, "quasiperiodic attractor", 0.0
    curves = closed_curves(held.placed(trail[-MOST_JOINED:]))
    if curves is None:
        return "", "", 0.0
    count, widest = curves
    return CURVE, "invariant closed curve" if count == 1 else f"cycle of {count} invariant closed curves", widest


def exponents_along(held: Held, trail: Real, dt: float, seed: int) -> tuple[Real, Real]:
    """Return the largest exponents along consecutive states (m, n), and errors that hold but for one case in 500."""
    rng, k = np.random.default_rng(seed), min(MEASURED, trail.shape[1])
    frame = np.linalg.qr(rng.standard_normal((trail.shape[1], k)))[0]
    growth, steps = [], propagators(held, trail, dt)
    parts = steps[: len(steps) // AT_ONCE * AT_ONCE].reshape(-1, AT_ONCE, *steps.shape[1:])
    for matrix in functools.reduce(lambda product, k: parts[:, k] @ product, range(1, AT_ONCE), parts[:, 0]):
        frame, triangle = np.linalg.qr(matrix @ frame)
        with np.errstate(divide="ignore"):
            growth.append(np.log(np.abs(np.diagonal(triangle))))
    counted = np.array(growth[int(ALIGNED * len(growth)) :])
    elapsed: Real = (AT_ONCE * (2 * dt if held.is_flow else 1.0) * np.arange(1, len(counted) + 1)).astype(np.float64)
    total: Real = counted.cumsum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):
        errors = sure(BLOCKS) * standard_errors(total[None], elapsed, BLOCKS)[0]
    return total[-1] / elapsed[-1], errors


def _preserves_volume(held: Held, trail: Real) -> bool:
    """Return whether the mean of ln|det J| (of a flow tr J) is 0 to rounding: then nothing attracts."""
    n = trail.shape[1]
    with torch.no_grad():
        matrices = held_matrices(held, torch.as_tensor(trail[:LATE]).to(held.input)).double().cpu().numpy()
    rates = matrices.trace(axis1=1, axis2=2) if held.is_flow else np.linalg.slogdet(matrices)[1]
    return bool(np.abs(rates).max() <= np.sqrt(np.finfo(np.float64).eps) * n * (1 + np.abs(matrices).max()))


def _drift(trail: Real) -> float:
    """Return by how much the halves of an orbit differ in mean and spread, relative to its width."""
    first, second = np.array_split(trail, 2)
    change = max(np.abs(first.mean(axis=0) - second.mean(axis=0)).max(), np.abs(first.std(0) - second.std(0)).max())
    return float(change / max(trail.std(axis=0).max(), np.finfo(np.float64).tiny))
