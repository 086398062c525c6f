"""The variables of the Dataset of `fixed_points`."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, NOT_ISOLATED
from dynlab.diagnostics.fixed_points.rounds import Search
from dynlab.diagnostics.fixed_points.verification import Record

NO_ROOT, NOT_PROVED = "a slow point is no root", "not proved: certificate_reason says why"
REASONS = {
    "eigenvalue_error": "inf: at a kink of the activation, where the Jacobian is that of one side alone",
    "fsolve_residual": NO_ROOT,
    "fsolve_distance": NO_ROOT,
    "end_residual": "not finite where the search left every bound",
    "certificate_radius": NOT_PROVED,
    "eigenvalue_radius": NOT_PROVED,
}
POINT, MODES = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.MODE)


def of_points(rows: list[Record], found: Search, size: int, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the fixed points, in the order of the rows, and the starts' assignment to these."""
    value, sign, rate = ("λ of ∂f/∂h", "λ", schema.PER_SECOND) if is_flow else ("μ of ∂h_t/∂h_{t−1}", "μ", schema.ONE)
    displacement, neutral = ("f(h*)", 0) if is_flow else ("F(h*) − h*", 1)
    kinds, assignment = [row.kind for row in rows], found.starts["assignment"]
    many = f"eigenvalues {neutral} within their error at a point that is not isolated"
    table: dict[str, tuple[Any, ...]] = {
        "fixed_point_state": ((*POINT, schema.STATE), float, [row.state for row in rows], "fixed point h*"),
        "eigenvalue": (MODES, complex, [row.eigenvalues for row in rows], f"eigenvalue {value} at h*", rate),
        "eigenvalue_error": (MODES, float, [row.errors for row in rows], f"bound on the error of {sign}", rate),
        "residual": (POINT, float, [row.residual for row in rows], f"residual ‖{displacement}‖₂", rate),
        "fsolve_residual": (POINT, float, [row.fsolve_residual for row in rows], "residual where fsolve ended", rate),
        "fsolve_distance": (POINT, float, [row.fsolve_distance for row in rows], "distance to where fsolve ended"),
        "status": (POINT, str, [row.status for row in rows], "status"),
        "dimension": (POINT, np.int64, [row.dimension for row in rows], many),
        "kind": (POINT, str, [kind.name for kind in kinds], "kind"),
        "stable": (POINT, np.int8, [kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (POINT, np.int64, [kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": (POINT, np.int64, [kind.undecided for kind in kinds], "directions undecided"),
    }
    starts = np.bincount(assignment[assignment >= 0], minlength=len(rows))
    return columns(table, len(rows), size) | {
        "starts": schema.variable(POINT, starts, "starts that ended there"),
        "assignment": schema.variable((schema.SAMPLE,), assignment, "number of the fixed point, −1 none"),
    }


def columns(table: dict[str, tuple[Any, ...]], count: int, size: int) -> dict[str, xr.Variable]:
    """Return the variables of a table of dimensions, type, values of each of `count` points, long name and units."""
    return {
        name: schema.variable(dims, np.array(values, dtype).reshape((count, size)[: len(dims)]), *words)
        for name, (dims, dtype, values, *words) in table.items()
    }


def of_starts(found: Search, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the starts, and how sure the search is."""
    starts, sure, rate = found.starts, found.confidence, schema.PER_SECOND if is_flow else schema.ONE
    table: dict[str, tuple[Any, ...]] = {
        "outcome": (starts["outcome"], "what became of the start"),
        "origin": (starts["origin"], "where the start is from"),
        "iterations": (starts["iterations"], "iterations of the search from the start"),
        "converged": (np.isin(starts["outcome"], (FIXED, NOT_ISOLATED)), "the start ended at a root"),
        "end_residual": (starts["residual"], "residual where the start ended", rate),
    }
    if starts["layer"].max() > 1:
        table["layer"] = starts["layer"], "layer whose search had the start, from 1"
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
