"""Where the orbits of a planar system end, and their last states."""

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.phase_plane.field import without_input
from dynlab.numerics.arrays import Real
from dynlab.systems import Map
from dynlab.trajectories.assignment import DRIFTS, LEAVES, UNDECIDED
from dynlab.trajectories.attractors import classify
from dynlab.trajectories.cycles import CHAOS, CURVE, CYCLE, REST, TORUS
from dynlab.trajectories.following import orbit

STEPS, KEPT = 4800, 400  # of an orbit that is followed; its last states, which are drawn
PARTS = 8  # of the later three quarters of an orbit: each reaches farther than the one before, or less far
BOUND = 1e15  # states beyond which an orbit has left
FIXED_POINT, PERIODIC, CLOSED_CURVE = "fixed point", "periodic orbit", "invariant closed curve"
CHAOTIC, QUASIPERIODIC = "chaotic attractor", "quasiperiodic attractor"
OUTWARD, INWARD = "still moving outward", "still moving inward"
UNSETTLED, GONE = "undecided", "beyond every bound"
NAMES = {REST: FIXED_POINT, CYCLE: PERIODIC, CURVE: CLOSED_CURVE, CHAOS: CHAOTIC, TORUS: QUASIPERIODIC}


def long_orbits(system: Map, initial: Real, equilibria: Real) -> dict[str, xr.Variable]:
    """Return the last states of orbits (sample, 2) that are followed for long, and what they have come to.

    Parameters
    ----------
    equilibria : ndarray, shape (fixed_point, 2)
        An undecided orbit moves outward or inward from the nearest one, or from 0.
    """
    held = without_input(system)
    with torch.no_grad():
        states = orbit(held, torch.as_tensor(initial).to(held.input), STEPS)[0].double().cpu().numpy()
    ends = classify(held, initial, bound=BOUND)
    outcomes, periods = [], []
    for label, path in zip(ends.labels.tolist(), states.swapaxes(0, 1), strict=True):
        known = {LEAVES: GONE, UNDECIDED: _moving(path, equilibria)}
        one = ends.attractors[label] if label >= 0 else None
        outcomes.append(NAMES[one.form] if one else OUTWARD if label <= DRIFTS else known[label])
        periods.append(int(one.period) if one else 0)
    dims, along = (schema.SAMPLE, schema.ITERATION, schema.STATE), (schema.SAMPLE,)
    last = np.where(np.isfinite(states).all(axis=2, keepdims=True), states, np.nan)[-KEPT:].swapaxes(0, 1)
    return {
        "long_orbit": schema.variable(dims, last, "state h after many steps"),
        "outcome": schema.variable(along, np.array(outcomes, dtype=object), "where the orbit ends"),
        "orbit_period": schema.variable(along, np.array(periods), "period of that, 0 of no cycle", schema.STEP),
        schema.ITERATION: schema.variable(
            (schema.ITERATION,), np.arange(STEPS - KEPT + 1, STEPS + 1), "step t", schema.STEP
        ),
    }


def _moving(path: Real, equilibria: Real) -> str:
    """Whether an orbit (step, 2) reaches ever farther from the equilibrium nearest to it, or ever less far."""
    if not (np.abs(path) <= BOUND).all():
        return GONE
    away = np.linalg.norm(equilibria - path[-KEPT:].mean(axis=0), axis=1)
    centre = equilibria[away.argmin()] if len(away) else np.zeros(2)
    distances = np.linalg.norm(path[len(path) // 4 :] - centre, axis=1)
    growth = np.diff([part.max() for part in np.array_split(distances, PARTS)])
    return OUTWARD if (growth > 0).all() else INWARD if (growth < 0).all() else UNSETTLED
