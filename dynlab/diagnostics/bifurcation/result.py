"""The variables of a bifurcation diagram: branches point by point, bifurcations, and the orbits beside them."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.bifurcation.curve import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.exploring import Bifurcation, Branch, Diagram
from dynlab.diagnostics.bifurcation.parameter import described
from dynlab.numerics.eigenvalues import eigenvalues as eigenvalues_of
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map

NO_BIFURCATION = -1
MANY_ENDS = 3  # of stable branches: two lie as far apart as what varies most has them
FLAT = 1e-9  # a coordinate that varies less along the branches is constant


class Row(NamedTuple):
    """One point of a branch as the Dataset holds it, but the orbit in the unit of the diagram."""

    branch: int
    bifurcation: int
    parameter: float
    orbit: Vector
    residual: float
    iterations: int
    eigenvalues: NDArray[np.complex128]
    errors: Vector
    kind: Kind


def rows(diagram: Diagram) -> list[Row]:
    """The points of every branch in order, its bifurcations among them."""
    found = []
    for number, branch in enumerate(diagram.branches):
        curve = diagram.curve_of(branch.period)
        marks = sorted(branch.bifurcations, key=lambda mark: (mark[0], _progress(diagram, branch, mark)))
        for index in range(-1, len(branch.points)):
            if index >= 0:
                point = branch.points[index]
                orbit, p = curve.orbit(point.z), curve.parameter(point.z)
                residual = float(np.linalg.norm(curve.unit * curve.residual(point.z)))
                measured = (residual, point.iterations, point.eigenvalues, point.errors, point.kind)
                found.append(Row(number, NO_BIFURCATION, p, orbit, *measured))
            for after, bifurcation in marks:
                if after == index:
                    found.append(_at(curve, number, bifurcation, diagram.bifurcations[bifurcation]))
    return found


def of_branches(diagram: Diagram, points: list[Row], name: str, observed: int) -> dict[str, xr.Variable]:
    """The variables along `point`, `branch` and `bifurcation`; `name` is the parameter's."""
    of, along = schema.variable, (schema.POINT,)
    n = diagram.curve.equation.varied.system.state_size
    unit, longest = diagram.curve.unit, max([1, *(len(row.orbit) for row in points)])
    phases = np.full((len(points), longest), np.nan)
    for number, row in enumerate(points):
        phases[number, : len(row.orbit)] = unit[observed] * row.orbit[:, observed]

    def each(values: list[Any], dtype: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
        return np.array(values, dtype=dtype).reshape(len(points), *shape)

    states = unit * each([row.orbit[0] for row in points], float, (n,))
    eigenvalues = each([row.eigenvalues for row in points], complex, (n,))
    what = "multiplier μ" if diagram.curve.equation.is_map else "eigenvalue λ"
    units = schema.ONE if diagram.curve.equation.is_map else schema.PER_SECOND
    variables = {
        "point_branch": of(along, each([row.branch for row in points], np.int64), "branch"),
        "branch_parameter": of(along, each([row.parameter for row in points], float), described(name)),
        "branch_state": of((schema.POINT, schema.STATE), states, "state h"),
        "branch_orbit": of((schema.POINT, schema.PHASE), phases, f"state h_{observed + 1} at each point of the orbit"),
        "residual": of(along, each([row.residual for row in points], float), "residual ‖G‖₂"),
        "iterations": of(along, each([row.iterations for row in points], np.int64), "iterations of the corrector"),
        "eigenvalue": of((schema.POINT, schema.MODE), eigenvalues, what, units),
        "eigenvalue_error": of(
            (schema.POINT, schema.MODE),
            each([row.errors for row in points], float, (n,)),
            f"error of the {what}",
            units,
        ),
        "stable": of(along, each([row.kind.stable for row in points], np.int8), "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": of(along, each([row.kind.unstable for row in points], np.int64), "directions that grow"),
        "undecided_directions": of(
            along, each([row.kind.undecided for row in points], np.int64), "directions undecided"
        ),
        "point_bifurcation": of(
            along, each([row.bifurcation for row in points], np.int64), "number of the bifurcation here, −1 none"
        ),
    }
    return variables | _of_each_branch(diagram.branches) | _of_bifurcations(diagram, name, observed, units)


def _of_each_branch(branches: list[Branch]) -> dict[str, xr.Variable]:
    of, along = schema.variable, (schema.BRANCH,)
    return {
        "branch_period": of(along, np.array([one.period for one in branches], dtype=np.int64), "period", schema.STEP),
        "branch_origin": of(
            along, np.array([one.origin for one in branches], dtype=np.int64), "bifurcation it leaves, −1 none"
        ),
        "branch_ends": of(along, np.array([" | ".join(one.ends) for one in branches], dtype=str), "where it ends"),
    }


def _of_bifurcations(diagram: Diagram, name: str, observed: int, units: str) -> dict[str, xr.Variable]:
    of, along = schema.variable, (schema.BIFURCATION,)
    listed, n = diagram.bifurcations, diagram.curve.equation.varied.system.state_size
    refined = [one.refined for one in listed]

    def each(values: list[Any], dtype: Any, shape: tuple[int, ...] = ()) -> NDArray[Any]:
        return np.array(values, dtype=dtype).reshape(len(listed), *shape)

    states = diagram.curve.unit * each([diagram.curve.state(one.z) for one in listed], float, (n,))
    cubic = [one.coefficient for one in listed]
    errors = [one.parameter_error for one in listed]
    return {
        "bifurcation_kind": of(along, each([one.kind for one in listed], str), "kind"),
        "bifurcation_parameter": of(along, each([diagram.curve.parameter(one.z) for one in listed], float), name),
        "bifurcation_parameter_error": of(along, each(errors, float), f"bound on the error of {name}"),
        "bifurcation_state": of((schema.BIFURCATION, schema.STATE), states, "state h"),
        "bifurcation_observed": of(along, states[:, observed], f"state h_{observed + 1}"),
        "bifurcation_eigenvalue": of(
            along, each([one.eigenvalue if one else np.nan for one in refined], complex), "critical eigenvalue", units
        ),
        "bifurcation_period": of(along, each([one.period for one in listed], np.int64), "period", schema.STEP),
        "bifurcation_branch": of(along, each([one.branch for one in listed], np.int64), "branch it was found on"),
        "bifurcation_residual": of(
            along, each([one.residual if one else np.nan for one in refined], float), "residual of the extended system"
        ),
        "bifurcation_iterations": of(
            along, each([one.iterations if one else 0 for one in refined], np.int64), "iterations of Newton's method"
        ),
        "bifurcation_coefficient": of(
            along, each([one.value if one else np.nan for one in cubic], float), "cubic coefficient"
        ),
        "bifurcation_coefficient_error": of(
            along, each([one.error if one else np.nan for one in cubic], float), "estimate of its error"
        ),
        "bifurcation_criticality": of(
            along, each([one.criticality if one else "" for one in cubic], str), "supercritical or subcritical"
        ),
        "bifurcation_converged": of(along, each([one.located for one in listed], bool), "converged"),
    }


def _at(curve: SolutionCurve, branch: int, number: int, found: Bifurcation) -> Row:
    """The row of a bifurcation on a branch, where the critical eigenvalue is undecided."""
    matrix = curve.linear(found.z)[1]
    refined = found.refined
    error = 0.0 if refined is None else float(np.linalg.norm(matrix)) * np.sqrt(np.finfo(np.float64).eps)
    eigenvalues, errors, _ = eigenvalues_of(matrix, error)
    kind = (kind_of_map if curve.equation.is_map else kind_of_flow)(eigenvalues, errors)
    residual = float(np.linalg.norm(curve.unit * curve.residual(found.z)))
    iterations = refined.iterations if refined else 0
    return Row(
        branch, number, curve.parameter(found.z), curve.orbit(found.z), residual, iterations, eigenvalues, errors, kind
    )


def _progress(diagram: Diagram, branch: Branch, mark: tuple[int, int]) -> float:
    """How far along the branch a bifurcation is, among those between the same two points."""
    after, number = mark
    if not 0 <= after < len(branch.points):
        return 0.0
    point = branch.points[after]
    return float((diagram.bifurcations[number].z - point.z) @ (diagram.bifurcations[number].z - point.z))


def coordinate(points: list[Row], symmetries: list[Vector]) -> int | None:
    """The coordinate that varies most over what is stable, else over all branches; None where none varies.

    Where there is a symmetry it is one that the symmetry turns around, so that mirrored branches are seen apart. Of
    those that vary nearly as much it is the one in which the ends of stable branches lie farthest apart.
    """
    calm = [row for row in points if row.kind.stable == 1]
    turned = np.any([signs < 0 for signs in symmetries], axis=0) if symmetries else np.True_
    for some in (calm, points):
        if some:
            spread = np.std(np.concatenate([row.orbit for row in some]), axis=0)
            for allowed in (turned, np.True_):
                if (spread * allowed).max() > FLAT:
                    return _most_apart(calm, np.where(allowed, spread, 0.0))
    return None


def _most_apart(calm: list[Row], spread: Vector) -> int:
    """Of the coordinates that vary at least a quarter as much as any, that in which the nearest two ends lie apart.

    The ends are those of the branches that are stable at the largest parameter.
    """
    last = max((row.parameter for row in calm), default=0.0)
    ends = [row.orbit[0] for row in calm if row.parameter == last and len(row.orbit) == 1]
    if len(ends) < MANY_ENDS:
        return int(spread.argmax())
    gaps = np.diff(np.sort(ends, axis=0), axis=0).min(axis=0) / np.ptp(ends, axis=0).clip(FLAT)
    return int(np.where(4 * spread >= spread.max(), gaps, -1.0).argmax())
