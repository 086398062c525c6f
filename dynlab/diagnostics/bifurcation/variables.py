"""The variables of a bifurcation diagram: branches point by point, branches, and bifurcations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.equation import Vector
from dynlab.diagnostics.bifurcation.parameters import described

Row = tuple[str, Callable[[Any], Any], Any, str]  # name, of one item, type, and words
SECOND = {"branch_state": schema.STATE, "state": schema.STATE, "eigenvalue": schema.MODE}
SECOND |= {"eigenvalue_error": schema.MODE}


def orbits_of(diagram: Diagram) -> list[Vector]:
    """Return the orbit (period, n) at each solution of each branch, in their order."""
    every = [(branch.period, one) for branch in diagram.branches for one in branch.solutions]
    return [diagram.curve.of_period(period).orbit(one.z) for period, one in every]


def variables(diagram: Diagram, orbits: list[Vector], name: str, observed: int) -> dict[str, xr.Variable]:
    """Return the variables along `point`, `branch` and `bifurcation`; `name` is the parameter's."""
    curve, n = diagram.curve, len(diagram.curve.scale)
    solutions = [one for branch in diagram.branches for one in branch.solutions]
    numbers = [number for number, branch in enumerate(diagram.branches) for _ in branch.solutions]
    phases = np.full((len(orbits), max([1, *map(len, orbits)])), np.nan)
    for number, orbit in enumerate(orbits):
        phases[number, : len(orbit)] = orbit[:, observed]
    what, unit = ("multiplier μ", schema.ONE) if curve.is_map else ("eigenvalue λ", schema.PER_SECOND)
    units = {"eigenvalue": unit, "eigenvalue_error": unit, "branch_period": schema.STEP, "period": schema.STEP}
    words = f"state h_{observed + 1} at each point of the orbit"
    found = {
        "point_branch": schema.variable((schema.POINT,), np.array(numbers, dtype=np.int64), "branch"),
        "branch_orbit": schema.variable((schema.POINT, schema.PHASE), phases, words),
    }
    of_points: list[Row] = [
        ("branch_parameter", lambda one: curve.parameter(one.z), float, described(name)),
        ("branch_state", lambda one: curve.state(one.z), float, "state h"),
        ("residual", lambda one: one.residual, float, "residual ‖G‖₂"),
        ("iterations", lambda one: one.iterations, np.int64, "iterations of the corrector"),
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
        (schema.BIFURCATION, "bifurcation_", diagram.bifurcations, _of_bifurcations(diagram, name, observed)),
    ):
        found |= {prefix + row[0]: _variable(dim, items, row, n, units.get(row[0], schema.ONE)) for row in rows}
    return found


def _of_bifurcations(diagram: Diagram, name: str, observed: int) -> list[Row]:
    curve = diagram.curve
    return [
        ("kind", lambda one: one.kind, str, "kind"),
        ("parameter", lambda one: curve.parameter(one.z), float, name),
        ("parameter_error", lambda one: one.error, float, f"error of {name}"),
        ("state", lambda one: curve.state(one.z), float, "state h"),
        ("observed", lambda one: curve.state(one.z)[observed], float, f"state h_{observed + 1}"),
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


def _variable(dim: str, items: Sequence[Any], row: Row, n: int, units: str) -> xr.Variable:
    name, value, dtype, words = row
    values = np.array([value(one) for one in items], dtype=dtype)
    if name not in SECOND or (dim == schema.BIFURCATION and name == "eigenvalue"):
        return schema.variable((dim,), values, words, units)
    return schema.variable((dim, SECOND[name]), values.reshape(-1, n), words, units)
