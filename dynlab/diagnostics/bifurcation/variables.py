"""The variables of a bifurcation diagram: branches point by point, branches, and bifurcations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.equation import Vector
from dynlab.diagnostics.bifurcation.parameters import described


def orbits_of(diagram: Diagram) -> list[Vector]:
    """Return the orbit (period, n) at each solution of each branch, in their order."""
    every = [(branch.period, one) for branch in diagram.branches for one in branch.solutions]
    return [diagram.curve.of_period(period).orbit(one.z) for period, one in every]


def variables(diagram: Diagram, orbits: list[Vector], name: str, observed: int) -> dict[str, xr.Variable]:
    """Return the variables along `point`, `branch` and `bifurcation`; `name` is the parameter's."""
    is_map, curve, n = diagram.curve.is_map, diagram.curve, len(diagram.curve.scale)
    solutions = [one for branch in diagram.branches for one in branch.solutions]
    numbers = [number for number, branch in enumerate(diagram.branches) for _ in branch.solutions]
    phases = np.full((len(orbits), max([1, *map(len, orbits)])), np.nan)
    for number, orbit in enumerate(orbits):
        phases[number, : len(orbit)] = orbit[:, observed]
    what, units = ("multiplier μ", schema.ONE) if is_map else ("eigenvalue λ", schema.PER_SECOND)
    listed, kinds = diagram.bifurcations, [one.kind for one in solutions]
    refined, cubic = [one.refined for one in listed], [one.coefficient for one in listed]
    states = np.array([curve.state(one.z) for one in listed]).reshape(-1, n)
    of_points: dict[str, tuple[Any, str] | tuple[Any, str, str]] = {
        "point_branch": (np.array(numbers, dtype=np.int64), "branch"),
        "branch_parameter": (_each(solutions, lambda one: curve.parameter(one.z)), described(name)),
        "branch_state": (np.array([one[0] for one in orbits]).reshape(-1, n), "state h"),
        "branch_orbit": (phases, f"state h_{observed + 1} at each point of the orbit"),
        "residual": (_each(solutions, lambda one: one.residual), "residual ‖G‖₂"),
        "iterations": (_each(solutions, lambda one: one.iterations, np.int64), "iterations of the corrector"),
        "eigenvalue": (_each(solutions, lambda one: one.eigenvalues, complex).reshape(-1, n), what, units),
        "eigenvalue_error": (_each(solutions, lambda one: one.errors).reshape(-1, n), f"error of the {what}", units),
        "stable": (_each(kinds, lambda one: one.stable, np.int8), "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (_each(kinds, lambda one: one.unstable, np.int64), "directions that grow"),
        "undecided_directions": (_each(kinds, lambda one: one.undecided, np.int64), "directions undecided"),
        "point_bifurcation": (
            _each(solutions, lambda one: one.bifurcation, np.int64),
            "number of the bifurcation here, −1 none",
        ),
    }
    of_branches: dict[str, tuple[Any, str] | tuple[Any, str, str]] = {
        "branch_period": (_each(diagram.branches, lambda one: one.period, np.int64), "period", schema.STEP),
        "branch_origin": (
            _each(diagram.branches, lambda one: one.origin, np.int64),
            "bifurcation it leaves, −1 none",
        ),
        "branch_ends": (_each(diagram.branches, lambda one: " | ".join(one.ends), str), "where it ends"),
    }
    of_bifurcations: dict[str, tuple[Any, str] | tuple[Any, str, str]] = {
        "kind": (_each(listed, lambda one: one.kind, str), "kind"),
        "parameter": (_each(listed, lambda one: curve.parameter(one.z)), name),
        "parameter_error": (_each(listed, lambda one: one.error), f"error of {name}"),
        "state": (states, "state h"),
        "observed": (states[:, observed], f"state h_{observed + 1}"),
        "eigenvalue": (
            _each(refined, lambda one: one.eigenvalue if one else np.nan, complex),
            "critical eigenvalue",
            units,
        ),
        "period": (_each(listed, lambda one: one.period, np.int64), "period", schema.STEP),
        "branch": (_each(listed, lambda one: one.branch, np.int64), "branch it was found on"),
        "residual": (_each(refined, lambda one: one.residual if one else np.nan), "residual of the extended system"),
        "iterations": (
            _each(refined, lambda one: one.iterations if one else 0, np.int64),
            "iterations of Newton's method",
        ),
        "coefficient": (_each(cubic, lambda one: one.value if one else np.nan), "cubic coefficient"),
        "coefficient_error": (_each(cubic, lambda one: one.error if one else np.nan), "estimate of its error"),
        "criticality": (
            _each(cubic, lambda one: one.criticality if one else "", str),
            "supercritical or subcritical",
        ),
        "converged": (_each(refined, lambda one: one is not None, bool), "converged"),
    }
    second = {"branch_state": schema.STATE, "branch_orbit": schema.PHASE, "state": schema.STATE}
    second |= {"eigenvalue": schema.MODE, "eigenvalue_error": schema.MODE}
    found = {}
    for dim, prefix, table in (
        (schema.POINT, "", of_points),
        (schema.BRANCH, "", of_branches),
        (schema.BIFURCATION, "bifurcation_", of_bifurcations),
    ):
        for key, (values, *described_as) in table.items():
            dims = (dim, second[key]) if values.ndim > 1 else (dim,)
            found[prefix + key] = schema.variable(dims, values, *described_as)
    return found


def _each(some: Sequence[Any], value: Callable[[Any], Any], dtype: Any = float) -> NDArray[Any]:
    return np.array([value(one) for one in some], dtype=dtype)
