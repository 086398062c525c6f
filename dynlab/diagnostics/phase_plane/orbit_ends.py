"""The ends of a planar system's orbits: at rest, on a limit cycle of a flow, on a cycle or a curve of a map."""

from typing import Any

import numpy as np
import torch

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.systems.autonomous import Held
from dynlab.trajectories.assignment import DRIFTS, LEAVES
from dynlab.trajectories.attractors import classify
from dynlab.trajectories.cycles import CHAOS, CURVE, CYCLE, REST, TORUS, Attractor
from dynlab.trajectories.following import orbit

STEPS, KEPT = 4800, 400  # of a map's orbit that is followed; its last states, which are drawn
POINTS = 512  # of a curve that is drawn
PARTS = 8  # of the later three quarters of an orbit: each reaches farther than the one before, or less far
BOUND = 1e15  # states beyond which an orbit has left
FIXED_POINT, EQUILIBRIUM = "fixed point", "equilibrium"
PERIODIC, LIMIT_CYCLE, CLOSED = "periodic orbit", "limit cycle", "closed orbit"
CLOSED_CURVE, CHAOTIC, QUASIPERIODIC = "invariant closed curve", "chaotic attractor", "quasiperiodic attractor"
OUTWARD, INWARD = "still moving outward", "still moving inward"
UNSETTLED, GONE = "undecided", "beyond every bound"
OF_MAPS = {REST: FIXED_POINT, CYCLE: PERIODIC, CURVE: CLOSED_CURVE, CHAOS: CHAOTIC, TORUS: QUASIPERIODIC}


def orbit_ends(held: Held, initial: Real, equilibria: Real) -> dict[str, Any]:
    """Return what orbits from `initial` (sample, 2) come to, with its period, and last states or a limit cycle.

    Parameters
    ----------
    held : Held
        A map, or a flow that is not linear.
    initial : ndarray, shape (sample, 2)
    equilibria : ndarray, shape (fixed_point, 2)
        An undecided orbit of a map moves outward or inward from the nearest one, or from 0.
    """
    ends, along = classify(held, initial, bound=BOUND, sets=not held.is_flow), (schema.SAMPLE,)
    labels = ends.labels.tolist()
    reached = [ends.attractors[label] if label >= 0 else None for label in labels]
    outcomes = [_outcome(one, label, held.is_flow) for one, label in zip(reached, labels, strict=True)]
    told = [None if name == CLOSED else one for one, name in zip(reached, outcomes, strict=True)]
    periods = np.array([one.period if one else 0.0 for one in told])
    if held.is_flow:
        unit, found = schema.SECOND, _limit_cycles(told)
    else:
        unit, found, periods = schema.STEP, {}, periods.astype(np.int64)
        with torch.no_grad():
            states = orbit(held, torch.as_tensor(initial).to(held.input), STEPS)[0].double().cpu().numpy()
        moving = [_moving(path, equilibria) for path in states.swapaxes(0, 1)]
        outcomes = [how if name == UNSETTLED else name for name, how in zip(outcomes, moving, strict=True)]
        last = np.where(np.isfinite(states).all(axis=2, keepdims=True), states, np.nan)[-KEPT:].swapaxes(0, 1)
        number = np.arange(STEPS - KEPT + 1, STEPS + 1)
        dims = (schema.SAMPLE, schema.ITERATION, schema.STATE)
        found["long_orbit"] = (dims, last, "state h after many steps")
        found[schema.ITERATION] = ((schema.ITERATION,), number, "step t", schema.STEP)
    return found | {
        "outcome": (along, np.array(outcomes, dtype=object), "where the orbit ends"),
        "orbit_period": (along, periods, "period of that, 0 of no cycle", unit),
    }


def _outcome(one: Attractor | None, label: int, is_flow: bool) -> str:
    if one is None:
        return GONE if label == LEAVES else OUTWARD if label <= DRIFTS else UNSETTLED
    if not is_flow:
        return OF_MAPS[one.form]
    return EQUILIBRIUM if one.form == REST else LIMIT_CYCLE if one.isolated else CLOSED


def _limit_cycles(reached: list[Attractor | None]) -> dict[str, Any]:
    """Return the limit cycles of a flow on which orbits end, and their Floquet multipliers."""
    states, floquet = np.full((len(reached), POINTS, 2), np.nan), np.full((2, len(reached)), np.nan)
    for sample, one in enumerate(reached):
        if one is not None and one.form == CYCLE:
            states[sample] = one.states[np.linspace(0, len(one.states) - 1, POINTS).astype(int)]
            floquet[:, sample] = one.multipliers[0].real, one.multiplier_errors[0]
    along = (schema.SAMPLE,)
    return {
        "limit_cycle": ((schema.SAMPLE, schema.POINT, schema.STATE), states, "limit cycle"),
        "floquet_multiplier": (along, floquet[0], "Floquet multiplier of the limit cycle"),
        "floquet_error": (along, floquet[1], "bound on the error of the Floquet multiplier"),
    }


def _moving(path: Real, equilibria: Real) -> str:
    """Return whether an orbit (step, 2) reaches ever farther from the equilibrium nearest to it, or ever less far."""
    if not (np.abs(path) <= BOUND).all():
        return GONE
    away = np.linalg.norm(equilibria - path[-KEPT:].mean(axis=0), axis=1)
    centre = equilibria[away.argmin()] if len(away) else np.zeros(2)
    distances = np.linalg.norm(path[len(path) // 4 :] - centre, axis=1)
    growth = np.diff([part.max() for part in np.array_split(distances, PARTS)])
    return OUTWARD if (growth > 0).all() else INWARD if (growth < 0).all() else UNSETTLED
