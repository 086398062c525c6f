"""The variables of basins: of the grid of starts, and of each attractor; how uncertain it is where a start ends.

References
----------
Daza, Wagemakers, Georgeot, Guéry-Odelin and Sanjuán, "Basin entropy: a new tool to analyze uncertainty in dynamical
systems", Scientific Reports 6 (2016). Equations 4 and 7, and the criterion ln 2 for fractal borders.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.basins.attractor import CONTINUUM, Attractor
from dynlab.diagnostics.basins.known import DIVERGED, OUTWARD, UNDECIDED
from dynlab.diagnostics.basins.outcome import Outcome
from dynlab.diagnostics.basins.plane import Plane
from dynlab.numerics.arrays import Index, Real

DRAWN = 512  # states of each attractor that are kept
STRAIGHT = 1e-6  # of their spread: points that are no farther from a line lie on it


def variables(found: Outcome, plane: Plane) -> dict[str, xr.Variable]:
    """Those of the grid of starts on the plane, of orbits that run away, and of each attractor."""
    words = "attractors reached from states that span the plane alone"
    return (
        _of_grid(found, plane)
        | _of_outward(found.velocities, plane)
        | _of_attractors(found.attractors, found.basin, plane)
        | {"missed_attractors": schema.variable((), found.missed, words)}
    )


def _of_grid(found: Outcome, plane: Plane) -> dict[str, xr.Variable]:
    """Variables along the grid of starts, and of all of it."""
    basin = found.basin
    grid = (schema.Y, schema.X)
    mean, border, error, boxes = basin_entropy(np.maximum(basin, OUTWARD), found.belongs)
    leaving = (basin == DIVERGED) | (basin <= OUTWARD)
    return {
        "basin": schema.variable(grid, basin, "number of the attractor, −1 leaves, −2 undecided, −3, −4, … runs away"),
        "steps": schema.variable(grid, found.steps, "steps until rest", schema.STEP),
        "basin_entropy": schema.variable((), mean, "basin entropy"),
        "boundary_basin_entropy": schema.variable((), border, "basin entropy of the boxes on a border"),
        "boundary_basin_entropy_error": schema.variable((), error, "standard error of that mean over boxes"),
        "boundary_boxes": schema.variable((), boxes, "boxes on a border"),
        "leaving_share": schema.variable((), leaving.mean(), "share of the starts that leave every bound"),
        "undecided_share": schema.variable((), (basin == UNDECIDED).mean(), "share of the starts that are undecided"),
        "origin": schema.variable((schema.STATE,), plane.origin, "origin of the plane"),
        "direction": schema.variable((schema.AXIS, schema.STATE), plane.directions, "directions of the plane"),
    }


def _of_outward(velocities: NDArray[np.float64], plane: Plane) -> dict[str, xr.Variable]:
    """The steps (y, x, state) of orbits that run away, in the plane's coordinates; NaN of others."""
    steps = np.moveaxis(velocities @ plane.directions.T, -1, 0)
    dims = (schema.AXIS, schema.Y, schema.X)
    return {"outward_step": schema.variable(dims, steps, "what an orbit that runs away moves by in a step")}


def _of_attractors(attractors: list[Attractor], basin: Index, plane: Plane) -> dict[str, xr.Variable]:
    """Variables of each attractor, whose numbers the grid `basin` (y, x) holds."""
    each, many = (schema.ATTRACTOR,), (schema.ATTRACTOR, schema.ITERATION)
    drawn = np.full((len(attractors), DRAWN, 2), np.nan)
    for place, one in zip(drawn, attractors, strict=True):
        points = plane.coordinates(one.points[-DRAWN:])
        place[: len(points)] = points

    def listed(name: str, dtype: Any) -> NDArray[Any]:
        return np.array([getattr(one, name) for one in attractors], dtype=dtype)

    states = listed("state", float).reshape(-1, len(plane.origin))
    shares = np.array([(basin == number).mean() for number in range(len(attractors))])
    return {
        "kind": schema.variable(each, listed("kind", str), "kind"),
        "attractor_class": schema.variable(
            each, np.array([_class(one) for one in attractors], dtype=str), "kind of attractor"
        ),
        "period": schema.variable(each, listed("period", np.int64), "period, 0 where nothing repeats", schema.STEP),
        "stable": schema.variable(each, listed("stable", np.int8), "1 stable, 0 unstable, −1 undecided"),
        "share": schema.variable(each, shares, "share of the starts"),
        "residual": schema.variable(each, listed("residual", float), "residual ‖F^p(h) − h‖₂"),
        "largest_exponent": schema.variable(
            each, listed("exponent", float), "largest Lyapunov exponent", schema.NAT_PER_STEP
        ),
        "largest_exponent_error": schema.variable(
            each, listed("exponent_error", float), "bound on its error", schema.NAT_PER_STEP
        ),
        "attractor_state": schema.variable((schema.ATTRACTOR, schema.STATE), states, "a state on the attractor"),
        "attractor_x": schema.variable(many, drawn[:, :, 0], "attractor's first coordinate"),
        "attractor_y": schema.variable(many, drawn[:, :, 1], "attractor's second coordinate"),
    }


def _class(attractor: Attractor) -> str:
    """A fixed point's stability; what is no fixed point by its kind, and points that form a line by that."""
    if attractor.period != 1:
        return attractor.kind
    if attractor.kind.startswith(CONTINUUM):
        repels = "unstable " if attractor.stable == 0 else ""
        return f"{repels}{'line' if _on_a_line(attractor.points) else CONTINUUM} of fixed points"
    words = {1: "stable fixed point", 0: "unstable fixed point", -1: "fixed point of undecided stability"}
    return words[attractor.stable]


def _on_a_line(points: NDArray[np.float64]) -> bool:
    """Whether points (k, n), not all of them one, lie on a straight line."""
    sizes = np.append(np.linalg.svd(points - points.mean(axis=0), compute_uv=False), 0.0)
    return bool(sizes[1] <= STRAIGHT * sizes[0] and sizes[0] > STRAIGHT * (1 + np.abs(points).max()))


def coordinates(line: Real, plane: Plane) -> dict[str, xr.Variable]:
    """The plane's coordinates of the starts."""
    names = ("state h₁", "state h₂")
    if len(plane.origin) != 2:
        names = ("first principal component", "second principal component")
    return {
        schema.X: schema.variable((schema.X,), line, names[0]),
        schema.Y: schema.variable((schema.Y,), line, names[1]),
    }


def flags(variables: dict[str, xr.Variable]) -> dict[str, str]:
    """What stands in place of a number, of the variables in which something does."""
    reasons = {
        "residual": "NaN: what does not repeat is no root",
        "largest_exponent": "−inf: the Jacobian is exactly zero; NaN: it is no number, or not told from zero",
        "largest_exponent_error": "inf: at a kink of the activation, or where the multiplier is not told from 0",
        "boundary_basin_entropy": "NaN: no border between two basins crosses this window",
        "boundary_basin_entropy_error": "NaN: no border between two basins crosses this window",
        "basin_entropy": "NaN: the grid has fewer than 5 × 5 starts",
        "outward_step": "NaN: the orbit is not told to run away",
        "attractor_x": "NaN beyond an attractor's last state",
        "attractor_y": "NaN beyond an attractor's last state",
    }
    return {name: reason for name, reason in reasons.items() if not np.isfinite(variables[name].values).all()}


BOX = 5  # points on a side, as the authors take


def basin_entropy(
    basins: NDArray[np.int64], counted: NDArray[np.bool_] | None = None
) -> tuple[float, float, float, int]:
    """The mean entropy of the boxes, that of the boxes on a border, its standard error, and how many there are.

    The second and third are NaN where no box lies on a border.

    Parameters
    ----------
    basins : ndarray of int, shape (y, x)
        Points that do not fill a box at the upper border are left out.
    counted : ndarray of bool, shape (y, x), optional
        Points that belong to a basin: one on a border, or undecided, belongs to none, and would make a smooth border
        between two basins look like one of three.
    """
    boxes = _boxes(basins)
    if not len(boxes):
        return float("nan"), float("nan"), float("nan"), 0
    belongs = np.ones_like(boxes, dtype=bool) if counted is None else _boxes(counted)
    names = np.unique(boxes)
    whole = np.maximum(belongs.sum(axis=1), 1)
    shares = np.stack([((boxes == name) & belongs).sum(axis=1) / whole for name in names])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=0)
    on_border = entropies[(shares > 0).sum(axis=0) > 1]
    if not len(on_border):
        return float(entropies.mean()), float("nan"), float("nan"), 0
    error = float(on_border.std() / np.sqrt(len(on_border)))
    return float(entropies.mean()), float(on_border.mean()), error, len(on_border)


def _boxes(grid: NDArray[Any]) -> NDArray[Any]:
    rows, columns = (size // BOX for size in grid.shape)
    return grid[: rows * BOX, : columns * BOX].reshape(rows, BOX, columns, BOX).swapaxes(1, 2).reshape(-1, BOX**2)
