"""The variables of a bifurcation diagram: branches point by point, branches, bifurcations, and orbits."""

from typing import Any

import numpy as np

from dynlab import schema
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.orbit_diagram import Visited
from dynlab.diagnostics.bifurcation.parameters import described
from dynlab.diagnostics.bifurcation.verdict import stability_changes
from dynlab.numerics.arrays import Real

BRACKETED = "bracketed where no smooth system has a root"
NO_CUBIC = "NaN where no cubic term decides what is born: of folds, transcritical and bracketed points"
NO_CYCLE = "NaN where an orbit ends on no cycle"
REASONS = {
    "branch_orbit": "NaN beyond the orbit's period",
    "bifurcation_coefficient": NO_CUBIC,
    "bifurcation_coefficient_error": NO_CUBIC,
    "bifurcation_residual": BRACKETED,
    "bifurcation_eigenvalue": BRACKETED,
    "eigenvalue_error": "inf: at a kink, where the Jacobian is that of one side",
    "cycle_period": NO_CYCLE,
    "cycle_multiplier": NO_CYCLE,
    "visited": "NaN where an orbit left the bound or was no number, or a solution has no more extrema",
}


def variables(diagram: Diagram, seen: Visited | None, name: str, observed: int) -> dict[str, tuple[Any, ...]]:
    """Return all variables; `name` is the parameter's, and `observed` the coordinate of the orbits."""
    n, words = len(diagram.curve.scale), f"state {_state(diagram, observed)} at each point of the orbit"
    table = _of_branches(diagram, name) | _of_events(diagram, name, observed)
    rows = {
        key: (dims, np.array(values, dtype).reshape(-1, *(n,) * (len(dims) - 1)), *told)
        for key, (dims, dtype, values, *told) in table.items()
    }
    rows["branch_orbit"] = ((schema.POINT, schema.PHASE), _orbits(diagram, observed), words)
    return rows | ({} if seen is None else _of_orbits(seen, observed, not diagram.curve.is_map))


def _of_branches(diagram: Diagram, name: str) -> dict[str, tuple[Any, ...]]:
    """Return by name the dimensions, type, values, words, and the unit where it is not 1, of points and branches."""
    curve, branches = diagram.curve, diagram.branches
    solutions = [one for branch in branches for one in branch.solutions]
    numbers = [number for number, branch in enumerate(branches) for _ in branch.solutions]
    what, unit = ("multiplier μ", schema.ONE) if curve.is_map else ("eigenvalue λ", schema.PER_SECOND)
    point, branch, state, mode = (schema.POINT,), (schema.BRANCH,), schema.STATE, schema.MODE
    kinds, here = [one.kind for one in solutions], "number of the bifurcation here, −1 none"
    return {
        "branch_parameter": (point, float, [curve.parameter(one.z) for one in solutions], described(name)),
        "branch_state": ((*point, state), float, [curve.state(one.z) for one in solutions], "state h"),
        "residual": (point, float, [one.residual for one in solutions], "residual ‖G‖₂"),
        "iterations": (point, int, [one.point.iterations for one in solutions], "iterations of the corrector"),
        "eigenvalue": ((*point, mode), complex, [one.eigenvalues for one in solutions], what, unit),
        "eigenvalue_error": ((*point, mode), float, [one.errors for one in solutions], f"error of the {what}", unit),
        "stable": (point, np.int8, [kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (point, int, [kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": (point, int, [kind.undecided for kind in kinds], "directions undecided"),
        "point_branch": (point, int, numbers, "branch"),
        "point_bifurcation": (point, int, [one.bifurcation for one in solutions], here),
        "branch_period": (branch, int, [one.period for one in branches], "period", schema.STEP),
        "branch_origin": (branch, int, [one.origin for one in branches], "bifurcation it leaves, −1 none"),
        "branch_ends": (branch, str, [" | ".join(one.ends) for one in branches], "where it ends"),
    }


def _of_events(diagram: Diagram, name: str, observed: int) -> dict[str, tuple[Any, ...]]:
    """Return the same of the bifurcations."""
    curve, events, at = diagram.curve, diagram.bifurcations, (schema.BIFURCATION,)
    roots, cubics = [one.refined for one in events], [one.coefficient for one in events]
    changes = {number: change for _, _, number, change in stability_changes(diagram, name)}
    told, states = [changes.get(number, "") for number in range(len(events))], [curve.state(one.z) for one in events]
    mu, residuals = ([getattr(one, key, np.nan) for one in roots] for key in ("eigenvalue", "residual"))
    cubic, errors = ([getattr(one, key, np.nan) for one in cubics] for key in ("value", "error"))
    table = {
        "kind": (at, str, [one.kind for one in events], "kind"),
        "parameter": (at, float, [curve.parameter(one.z) for one in events], name),
        "parameter_error": (at, float, [one.error for one in events], f"error of {name}"),
        "state": ((*at, schema.STATE), float, states, "state h"),
        "observed": (at, float, [state[observed] for state in states], f"state {_state(diagram, observed)}"),
        "eigenvalue": (at, complex, mu, "critical eigenvalue"),
        "period": (at, int, [one.period for one in events], "period", schema.STEP),
        "branch": (at, int, [one.branch for one in events], "branch it was found on"),
        "residual": (at, float, residuals, "residual of its system"),
        "iterations": (at, int, [one.iterations if one else 0 for one in roots], "iterations of Newton's"),
        "coefficient": (at, float, cubic, "cubic coefficient"),
        "coefficient_error": (at, float, errors, "its error"),
        "criticality": (at, str, [one.criticality if one else "" for one in cubics], "criticality"),
        "converged": (at, bool, [one is not None for one in roots], "converged"),
        "change": (at, str, told, "change of stability of fixed points"),
    }
    return {f"bifurcation_{key}": row for key, row in table.items()}


def _state(diagram: Diagram, observed: int) -> str:
    return str(diagram.curve.varied.original.system.state_names[observed])


def _orbits(diagram: Diagram, observed: int) -> Real:
    """Return one coordinate of the orbit at each solution, (point, phase), NaN beyond its period."""
    longest, found = max([1, *(branch.period for branch in diagram.branches)]), []
    for branch in diagram.branches:
        for one in branch.solutions:
            orbit = diagram.curve.of_period(branch.period).orbit(one.z)[:, observed]
            found.append(np.pad(orbit, (0, longest - branch.period), constant_values=np.nan))
    return np.array(found).reshape(-1, longest)


def _of_orbits(seen: Visited, coordinate: int, is_flow: bool) -> dict[str, tuple[Any, ...]]:
    what, each = f"h_{coordinate + 1}", (schema.PARAMETER, schema.SAMPLE)
    states, units = seen.states[..., coordinate], schema.SECOND if is_flow else schema.STEP
    words = f"extremum of {what}" if is_flow else f"state {what}"
    return {
        "visited": ((*each, schema.ITERATION), states, words),
        "settled": (each, seen.settled, "1 on an attractor, 0 on none yet, −1 left the bound"),
        "cycle_period": (each, seen.period, "period of the cycle that the orbit ends on", units),
        "cycle_multiplier": (each, seen.multiplier, "largest |μ| of that cycle, but for a flow's own 1"),
    }
