"""The variables of the Dataset of `fixed_points`."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, NOT_ISOLATED
from dynlab.diagnostics.fixed_points.rounds import Search
from dynlab.diagnostics.fixed_points.verification import Record, order

NO_ROOT = "a slow point is no root"
REASONS = {
    "eigenvalue_error": "inf: at a kink of the activation, where the Jacobian is that of one side alone",
    "fsolve_residual": NO_ROOT,
    "fsolve_distance": NO_ROOT,
    "end_residual": "not finite where the search left every bound",
}


def of_points(rows: list[Record], found: Search, size: int, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the fixed points, in the order of `verification.order`, and the starts' assignment."""
    arranged = order(rows)
    assignment = np.append(np.argsort(arranged), -1)[found.starts.assignment]
    listed, kinds = [rows[index] for index in arranged], [rows[index].kind for index in arranged]
    point, state, mode = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.STATE), (schema.FIXED_POINT, schema.MODE)
    value, sign, rate = ("λ of ∂f/∂h", "λ", schema.PER_SECOND) if is_flow else ("μ of ∂h_t/∂h_{t−1}", "μ", schema.ONE)
    displacement, neutral = ("f(h*)", 0) if is_flow else ("F(h*) − h*", 1)
    table: dict[str, tuple[Any, ...]] = {
        "fixed_point_state": (
            state,
            float,
            [one.state for one in listed],
            "fixed point h*",
        ),
        "eigenvalue": (mode, complex, [one.eigenvalues for one in listed], f"eigenvalue {value} at h*", rate),
        "eigenvalue_error": (mode, float, [one.errors for one in listed], f"bound on the error of {sign}", rate),
        "residual": (point, float, [one.residual for one in listed], f"residual ‖{displacement}‖₂", rate),
        "fsolve_residual": (point, float, [one.fsolve_residual for one in listed], "residual where fsolve ended", rate),
        "fsolve_distance": (point, float, [one.fsolve_distance for one in listed], "distance to where fsolve ended"),
        "status": (point, str, [one.status for one in listed], "status"),
        "dimension": (
            point,
            np.int64,
            [one.dimension for one in listed],
            f"eigenvalues {neutral} within their error at a point that is not isolated",
        ),
        "kind": (point, str, [kind.name for kind in kinds], "kind"),
        "stable": (point, np.int8, [kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (point, np.int64, [kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": (point, np.int64, [kind.undecided for kind in kinds], "directions undecided"),
    }
    variables = {
        name: schema.variable(dims, np.array(values, dtype).reshape((len(rows), size)[: len(dims)]), *words)
        for name, (dims, dtype, values, *words) in table.items()
    }
    starts = np.bincount(assignment[assignment >= 0], minlength=len(rows))
    variables["starts"] = schema.variable(point, starts, "starts that ended there")
    variables["assignment"] = schema.variable((schema.SAMPLE,), assignment, "number of the fixed point, −1 none")
    return variables


def of_starts(found: Search, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the starts, and how sure the search is."""
    starts, sure, rate = found.starts, found.confidence, schema.PER_SECOND if is_flow else schema.ONE
    table: dict[str, tuple[Any, ...]] = {
        "outcome": (starts.outcome, "what became of the start"),
        "origin": (starts.origin, "where the start is from"),
        "iterations": (starts.iterations, "iterations of the search from the start"),
        "converged": (np.isin(starts.outcome, (FIXED, NOT_ISOLATED)), "the start ended at a root"),
        "end_residual": (starts.residual, "residual where the start ended", rate),
    }
    if starts.layer.max() > 1:
        table["layer"] = starts.layer, "layer whose search had the start, from 1"
    variables = {name: schema.variable((schema.SAMPLE,), *row) for name, row in table.items()}
    if sure is not None:
        share = "estimated share of random starts that end at unseen points"
        bound = "bound on the share of random starts that end at points not listed, 95 % confidence"
        variables["unseen_share"] = schema.variable((), sure.share, share)
        variables["unseen_share_bound"] = schema.variable((), sure.bound, bound)
        if sure.index_sum is not None:
            indices = "sum of the points' indices sign det(I − J); of a bounded map 1 where none is missing"
            variables["index_sum"] = schema.variable((), sure.index_sum, indices)
    return variables
