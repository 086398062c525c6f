"""The variables of the Dataset of `fixed_points`."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, NOT_ISOLATED, SLOW
from dynlab.diagnostics.fixed_points.rounds import Search
from dynlab.diagnostics.fixed_points.verification import Record, order

# The dtype and long name of each row's own numbers; of a flow μ is λ and F(h) − h is f(h).
OF_POINTS = {
    "residual": (float, "residual ‖F(h*) − h*‖₂", "residual ‖f(h*)‖₂"),
    "fsolve_residual": (float, "residual where fsolve ended", ""),
    "fsolve_distance": (float, "distance to where fsolve ended", ""),
    "status": (str, "status", ""),
    "dimension": (np.int64, "eigenvalues 1 within their error at a point that is not isolated", "eigenvalues 0 there"),
}
OF_KINDS = {
    "kind": ("name", str, "kind"),
    "stable": ("stable", np.int8, "1 stable, 0 unstable, −1 undecided"),
    "unstable_directions": ("unstable", np.int64, "directions that grow"),
    "undecided_directions": ("undecided", np.int64, "directions undecided"),
}
OF_STARTS = {
    "outcome": "what became of the start",
    "origin": "where the start is from",
    "iterations": "iterations of the search from the start",
}
KINK_FLAG = {"eigenvalue_error": "inf: at a kink of the activation, where the Jacobian is that of one side alone"}
SLOW_FLAGS = dict.fromkeys(("fsolve_residual", "fsolve_distance"), "a slow point is no root")
LOST_FLAG = {"end_residual": "not finite where the search left every bound"}


def of_points(rows: list[Record], found: Search, size: int, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the fixed points, in the order of `verification.order`, and the starts' assignment."""
    arranged = order(rows)
    new_number = np.append(np.argsort(arranged), -1)
    assignment = new_number[found.starts.assignment]
    listed = [rows[index] for index in arranged]
    of, point, mode = schema.variable, (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.MODE)
    rate = schema.PER_SECOND if is_flow else schema.ONE

    def each(name: str, dtype: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        return np.array([getattr(row, name) for row in listed], dtype=dtype).reshape(len(rows), *shape)

    value = "eigenvalue λ of ∂f/∂h at h*" if is_flow else "eigenvalue μ of ∂h_t/∂h_{t−1} at h*"
    found_there = {
        "fixed_point_state": of((schema.FIXED_POINT, schema.STATE), each("state", float, (size,)), "fixed point h*"),
        "eigenvalue": of(mode, each("eigenvalues", complex, (size,)), value, rate),
        "eigenvalue_error": of(mode, each("errors", float, (size,)), f"bound on the error of {value[11]}", rate),
        "starts": of(point, np.bincount(assignment[assignment >= 0], minlength=len(rows)), "starts that ended there"),
        "assignment": of((schema.SAMPLE,), assignment, "number of the fixed point, −1 none"),
    }
    for name, (dtype, long_name, of_flow) in OF_POINTS.items():
        unit = rate if "residual" in name else schema.ONE
        found_there[name] = of(point, each(name, dtype), of_flow if is_flow and of_flow else long_name, unit)
    for name, (field, dtype, long_name) in OF_KINDS.items():
        values: np.ndarray = np.array([getattr(row.kind, field) for row in listed], dtype=dtype)
        found_there[name] = of(point, values, long_name)
    return found_there


def of_starts(found: Search, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the starts, and how sure the search is."""
    start, of, starts = (schema.SAMPLE,), schema.variable, found.starts
    variables = {name: of(start, getattr(starts, name), long_name) for name, long_name in OF_STARTS.items()}
    variables["converged"] = of(start, np.isin(starts.outcome, (FIXED, NOT_ISOLATED)), "the start ended at a root")
    residual = "residual where the start ended"
    variables["end_residual"] = of(start, starts.residual, residual, schema.PER_SECOND if is_flow else schema.ONE)
    if starts.layer.max() > 1:
        variables["layer"] = of(start, starts.layer, "layer whose search had the start, from 1")
    sure = found.confidence
    if sure is not None:
        variables["unseen_share"] = of((), sure.share, "estimated share of random starts that end at unseen points")
        bound = "bound on the share of random starts that end at points not listed, 95 % confidence"
        variables["unseen_share_bound"] = of((), sure.bound, bound)
        if sure.index_sum is not None:
            indices = "sum of the points' indices sign det(I − J); of a bounded map 1 where none is missing"
            variables["index_sum"] = of((), sure.index_sum, indices)
    return variables


def flags(rows: list[Record], variables: dict[str, xr.Variable]) -> dict[str, str]:
    """Return what NaN and inf mean in the variables that have them."""
    told = SLOW_FLAGS if any(row.status == SLOW for row in rows) else {}
    told = told | (KINK_FLAG if any(np.isinf(row.errors).any() for row in rows) else {})
    return told | ({} if np.isfinite(variables["end_residual"].values).all() else LOST_FLAG)
