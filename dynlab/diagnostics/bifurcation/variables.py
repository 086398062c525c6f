"""The variables of a bifurcation diagram: branches point by point, branches, bifurcations, and orbits."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.orbit_diagram import Visited
from dynlab.diagnostics.bifurcation.parameters import described
from dynlab.diagnostics.bifurcation.verdict import stability_changes

Row = tuple[str, Callable[[Any], Any], Any, str]  # name, of one item, type, and words
SECOND = {"branch_state": schema.STATE, "state": schema.STATE, "eigenvalue": schema.MODE}
SECOND |= {"eigenvalue_error": schema.MODE}
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


def variables(diagram: Diagram, seen: Visited | None, name: str, observed: int) -> dict[str, xr.Variable]:
    """Return all variables; `name` is the parameter's, and `observed` the coordinate of the orbits."""
    curve, n = diagram.curve, len(diagram.curve.scale)
    solutions = [one for branch in diagram.branches for one in branch.solutions]
    numbers = [number for number, branch in enumerate(diagram.branches) for _ in branch.solutions]
    phases = np.full((len(solutions), max([1, *(branch.period for branch in diagram.branches)])), np.nan)
    for row, one, number in zip(phases, solutions, numbers, strict=True):
        period = diagram.branches[number].period
        row[:period] = curve.of_period(period).orbit(one.z)[:, observed]
    what, unit = ("multiplier μ", schema.ONE) if curve.is_map else ("eigenvalue λ", schema.PER_SECOND)
    units = {"eigenvalue": unit, "eigenvalue_error": unit, "branch_period": schema.STEP, "period": schema.STEP}
    state = curve.varied.original.system.state_names[observed]
    words = f"state {state} at each point of the orbit"
    found = {
        "point_branch": schema.variable((schema.POINT,), np.array(numbers, dtype=np.int64), "branch"),
        "branch_orbit": schema.variable((schema.POINT, schema.PHASE), phases, words),
    }
    of_points: list[Row] = [
        ("branch_parameter", lambda one: curve.parameter(one.z), float, described(name)),
        ("branch_state", lambda one: curve.state(one.z), float, "state h"),
        ("residual", lambda one: one.residual, float, "residual ‖G‖₂"),
        ("iterations", lambda one: one.point.iterations, np.int64, "iterations of the corrector"),
        ("eigenvalue", lambda one: one.eigenvalues, complex, what),
        ("eigenvalue_error", lambda one: one.errors, float, f"error of the {what}"),
        ("stable", lambda one: one.kind.stable, np.int8, "1 stable, 0 unstable, −1 undecided"),
        ("unstable_directions", lambda one: one.kind.unstable, np.int64, "directions that grow"),
        ("undecided_directions", lambda one: one.kind.undecided, np.int64, "directions undecided"),
        ("point_bifurcation", lambda one: one.bifurcation, np.int64, "number of the bifurcation here, −1 none"),
    ]
    of_branches: list[Row] = [
        ("branch_period", lambda one: one.period, np.int64, "period"),
        ("branch_origin", lambda one: one.origin, np.int64, "bifurcation it leaves, −1 none"),
        ("branch_ends", lambda one: " | ".join(one.ends), str, "where it ends"),
    ]
    for dim, prefix, items, rows in (
        (schema.POINT, "", solutions, of_points),
        (schema.BRANCH, "", diagram.branches, of_branches),
        (schema.BIFURCATION, "bifurcation_", diagram.bifurcations, _of_bifurcations(diagram, name, observed, state)),
    ):
        found |= {prefix + row[0]: _variable(dim, items, row, n, units.get(row[0], schema.ONE)) for row in rows}
    changes = {number: change for _, _, number, change in stability_changes(diagram, name)}
    told = np.array([changes.get(number, "") for number in range(len(diagram.bifurcations))], dtype=object)
    found["bifurcation_change"] = schema.variable((schema.BIFURCATION,), told, "change of stability of fixed points")
    return found | ({} if seen is None else _of_orbits(seen, observed, not curve.is_map))


def _of_bifurcations(diagram: Diagram, name: str, observed: int, state: str) -> list[Row]:
    curve = diagram.curve
    return [
        ("kind", lambda one: one.kind, str, "kind"),
        ("parameter", lambda one: curve.parameter(one.z), float, name),
        ("parameter_error", lambda one: one.error, float, f"error of {name}"),
        ("state", lambda one: curve.state(one.z), float, "state h"),
        ("observed", lambda one: curve.state(one.z)[observed], float, f"state {state}"),
        ("eigenvalue", lambda one: one.refined.eigenvalue if one.refined else np.nan, complex, "critical eigenvalue"),
        ("period", lambda one: one.period, np.int64, "period"),
        ("branch", lambda one: one.branch, np.int64, "branch it was found on"),
        ("residual", lambda one: one.refined.residual if one.refined else np.nan, float, "residual of its system"),
        ("iterations", lambda one: one.refined.iterations if one.refined else 0, np.int64, "iterations of Newton's"),
        ("coefficient", lambda one: one.coefficient.value if one.coefficient else np.nan, float, "cubic coefficient"),
        ("coefficient_error", lambda one: one.coefficient.error if one.coefficient else np.nan, float, "its error"),
        ("criticality", lambda one: one.coefficient.criticality if one.coefficient else "", str, "criticality"),
        ("converged", lambda one: one.refined is not None, bool, "converged"),
    ]


def _of_orbits(seen: Visited, coordinate: int, is_flow: bool) -> dict[str, xr.Variable]:
    what, each = f"h_{coordinate + 1}", (schema.PARAMETER, schema.SAMPLE)
    states, units = seen.states[..., coordinate], schema.SECOND if is_flow else schema.STEP
    words = f"extremum of {what}" if is_flow else f"state {what}"
    return {
        "visited": schema.variable((*each, schema.ITERATION), states, words),
        "settled": schema.variable(each, seen.settled, "1 on an attractor, 0 on none yet, −1 left the bound"),
        "cycle_period": schema.variable(each, seen.period, "period of the cycle that the orbit ends on", units),
        "cycle_multiplier": schema.variable(each, seen.multiplier, "largest |μ| of that cycle, but for a flow's own 1"),
    }


def _variable(dim: str, items: Sequence[Any], row: Row, n: int, units: str) -> xr.Variable:
    name, value, dtype, words = row
    values = np.array([value(one) for one in items], dtype=dtype)
    if name not in SECOND or (dim == schema.BIFURCATION and name == "eigenvalue"):
        return schema.variable((dim,), values, words, units)
    return schema.variable((dim, SECOND[name]), values.reshape(-1, n), words, units)
