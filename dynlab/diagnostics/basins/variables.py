"""The variables of basins, of the grid of starts, their entropy, and of each attractor; and its sentences.

The basin entropy says how uncertain it is where a start ends.

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
from dynlab.diagnostics.basins.plane import Plane
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.numerics.arrays import Index, Real
from dynlab.trajectories.attractors import DRIFTS, LEAVES, UNDECIDED, Ends
from dynlab.trajectories.cycles import REST, Attractor
from dynlab.words import agree, article, counted, first_that_holds, joined, number, of_map, share, with_error

SURE = 3.0  # standard errors
FEW = 3  # starts, which are counted
BOX = 5  # points on a side, as the authors take
DRAWN = 512  # states of each attractor that are kept
REASONS = {
    "period": "NaN: the closed orbits around a center differ in it",
    "residual": "NaN: an orbit that does not repeat is no root",
    "largest_exponent": "−inf: the Jacobian is exactly zero",
    "largest_exponent_error": "inf: at a kink of the activation, or where the multiplier is not told from 0",
    "boundary_basin_entropy": "NaN: no border between two basins crosses this window",
    "boundary_basin_entropy_error": "NaN: no border between two basins crosses this window",
    "basin_entropy": "NaN: the grid has fewer than 5 × 5 starts",
    "outward_step": "NaN: the orbit does not drift",
    "attractor_x": "NaN beyond an attractor's last state",
    "attractor_y": "NaN beyond an attractor's last state",
    "box_share": "NaN: the plane is the whole state space",
    "box_share_error": "NaN: the plane is the whole state space",
}


def variables(ends: Ends, grid: int, plane: Plane, is_flow: bool) -> dict[str, xr.Variable]:
    """Return all variables, with the attractors by their share."""
    attractors, basin, elsewhere = by_share(ends, grid)
    return of_grid(basin, ends, attractors, plane) | of_attractors(attractors, basin, elsewhere, plane, is_flow)


def by_share(ends: Ends, grid: int) -> tuple[list[Attractor], Index, Index]:
    """Return the attractors by how many starts on the plane end there, and the labels in these numbers.

    An attractor that does not attract is listed where a start ends on it.
    """
    reached = ends.labels[ends.labels >= 0]
    on_plane = ends.labels[: grid**2]
    here = np.bincount(on_plane[on_plane >= 0], minlength=len(ends.attractors))
    listed = [i for i, one in enumerate(ends.attractors) if one.stable == 1 or i in reached]
    order = sorted(listed, key=lambda i: (-here[i], *np.round(ends.attractors[i].states[0], 6)))
    number = np.zeros(len(ends.attractors), dtype=np.int64)
    number[order] = np.arange(len(order))
    labels = ends.labels.copy()
    labels[labels >= 0] = number[reached]
    return [ends.attractors[i] for i in order], labels[: grid**2].reshape(grid, grid), labels[grid**2 :]


def of_grid(basin: Index, ends: Ends, attractors: list[Attractor], plane: Plane) -> dict[str, xr.Variable]:
    """Return the variables along the grid of starts `basin` (y, x), and of all of it."""
    grid = (schema.Y, schema.X)
    stable = [number for number, one in enumerate(attractors) if one.stable == 1 and one.isolated]
    leaves = (basin == LEAVES) | (basin <= DRIFTS)
    mean, border, error, boxes = basin_entropy(np.maximum(basin, DRIFTS), np.isin(basin, stable) | leaves)
    ways = np.stack([*ends.drifts, np.full(len(plane.origin), np.nan)]) @ plane.directions.T
    steps = ways[np.where(basin <= DRIFTS, DRIFTS - basin, -1)]
    axes = (schema.AXIS, *grid)
    return {
        "basin": schema.variable(grid, basin, "number of the attractor, −1 leaves, −2 undecided, −3, −4, … drifts"),
        "steps": schema.variable(grid, ends.steps[: basin.size].reshape(basin.shape), "steps followed", schema.STEP),
        "outward_step": schema.variable(axes, np.moveaxis(steps, -1, 0), "step of an orbit that drifts"),
        "basin_entropy": schema.variable((), mean, "basin entropy"),
        "boundary_basin_entropy": schema.variable((), border, "basin entropy of the boxes on a border"),
        "boundary_basin_entropy_error": schema.variable((), error, "standard error of that mean over boxes"),
        "boundary_boxes": schema.variable((), boxes, "boxes on a border"),
        "leaving_share": schema.variable((), leaves.mean(), "share of the starts that leave every bound"),
        "undecided_share": schema.variable((), (basin == UNDECIDED).mean(), "share of the starts that are undecided"),
        "origin": schema.variable((schema.STATE,), plane.origin, "origin of the plane"),
        "direction": schema.variable((schema.AXIS, schema.STATE), plane.directions, "directions of the plane"),
    }


def of_attractors(
    attractors: list[Attractor], basin: Index, box: Index, plane: Plane, is_flow: bool
) -> dict[str, xr.Variable]:
    """Return the variables of each attractor; `box` are the labels of starts in the whole box, none of a planar one."""
    each, many = (schema.ATTRACTOR,), (schema.ATTRACTOR, schema.ITERATION)
    drawn = np.full((len(attractors), DRAWN, 2), np.nan)
    for place, one in zip(drawn, attractors, strict=True):
        few = one.states[:: -(-len(one.states) // DRAWN)]
        place[: len(few)] = plane.coordinates(few)
    states = np.array([one.states[0] for one in attractors]).reshape(-1, len(plane.origin))

    period: Any = float if is_flow else np.int64
    (here, error), (in_box, box_error) = (_shares(part, len(attractors)) for part in (basin, box))
    missed = sum(1 for share, one in zip(here, attractors, strict=True) if share == 0 and one.stable == 1)
    time, rate = (schema.SECOND, schema.NAT_PER_SECOND) if is_flow else (schema.STEP, schema.NAT_PER_STEP)
    table: list[tuple[str, list[Any], Any, str, str]] = [
        ("kind", [_kind(one) for one in attractors], str, "kind", schema.ONE),
        ("attractor_class", [_class(one) for one in attractors], str, "kind of attractor", schema.ONE),
        ("period", [one.period for one in attractors], period, "period, 0 where nothing repeats", time),
        ("stable", [one.stable for one in attractors], np.int8, "1 stable, 0 unstable, −1 undecided", schema.ONE),
        ("share", here, float, "share of the starts on the plane", schema.ONE),
        ("share_error", error, float, "binomial standard error of that share", schema.ONE),
        ("box_share", in_box, float, "share of the starts in the box", schema.ONE),
        ("box_share_error", box_error, float, "binomial standard error of that share", schema.ONE),
        ("residual", [one.residual for one in attractors], float, "residual ‖F^p(h) − h‖₂", schema.ONE),
        ("largest_exponent", [one.exponents[0] for one in attractors], float, "largest Lyapunov exponent", rate),
        ("largest_exponent_error", [one.exponent_errors[0] for one in attractors], float, "bound on its error", rate),
    ]
    found = {
        name: schema.variable(each, np.array(values, kind), words, unit) for name, values, kind, words, unit in table
    }
    return found | {
        "attractor_state": schema.variable((schema.ATTRACTOR, schema.STATE), states, "a state on the attractor"),
        "attractor_x": schema.variable(many, drawn[:, :, 0], "attractor's first coordinate"),
        "attractor_y": schema.variable(many, drawn[:, :, 1], "attractor's second coordinate"),
        "missed_attractors": schema.variable((), missed, "attractors that no start on the plane reaches"),
    }


def _shares(labels: Index, count: int) -> tuple[list[float], list[float]]:
    """Return the shares p of the labels that are 0, 1, …, and √(p (1 − p)/N)."""
    shares = np.array([(labels == number).mean() if labels.size else np.nan for number in range(count)])
    return shares.tolist(), np.sqrt(shares * (1 - shares) / max(labels.size, 1)).tolist()


def _kind(one: Attractor) -> str:
    """Return the kind; by its stability where that is decided and no more is, as of a node or a focus."""
    return _class(one) if one.kind.startswith("undecided") and one.stable >= 0 else one.kind


def _class(one: Attractor) -> str:
    """Return the stability of a point at rest; any other attractor's kind."""
    if one.form != REST or one.kind.startswith("continuum"):
        return one.kind
    return {1: "stable fixed point", 0: "unstable fixed point", -1: "fixed point of undecided stability"}[one.stable]


def coordinates(x: Real, y: Real, states: tuple[str, ...]) -> dict[str, xr.Variable]:
    """Return the plane's coordinates of the starts of a system whose states have these names."""
    names = ["first principal component", "second principal component"]
    return schema.plane_axes((x, y), [f"state {name}" for name in states] if len(states) == len(names) else names)


def basin_entropy(
    basins: NDArray[np.int64], counted: NDArray[np.bool_] | None = None
) -> tuple[float, float, float, int]:
    """Return the entropy −Σ p ln p of the basins in boxes of 5 × 5 points.

    Parameters
    ----------
    basins : ndarray of int, shape (y, x)
        Points that do not fill a box at the upper border are left out.
    counted : ndarray of bool, shape (y, x), optional
        Points that belong to a basin: one on a border, or undecided, belongs to none, and would make a smooth border
        between two basins look like one of three.

    Returns
    -------
    mean, border, error : float
        In nats: the mean over all boxes, that over the boxes on a border, and its standard error. NaN without boxes.
    boxes : int
        Number of boxes on a border.
    """
    boxes = _boxes(basins)
    if not len(boxes):
        return np.nan, np.nan, np.nan, 0
    belongs = np.ones_like(boxes, dtype=bool) if counted is None else _boxes(counted)
    whole = np.maximum(belongs.sum(axis=1), 1)
    shares = np.stack([((boxes == name) & belongs).sum(axis=1) / whole for name in np.unique(boxes)])
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = -np.where(shares > 0, shares * np.log(shares), 0.0).sum(axis=0)
    border = entropies[(shares > 0).sum(axis=0) > 1]
    if not len(border):
        return float(entropies.mean()), np.nan, np.nan, 0
    return float(entropies.mean()), float(border.mean()), float(border.std() / np.sqrt(len(border))), len(border)


def _boxes(grid: NDArray[Any]) -> NDArray[Any]:
    rows, columns = (size // BOX for size in grid.shape)
    return grid[: rows * BOX, : columns * BOX].reshape(rows, BOX, columns, BOX).swapaxes(1, 2).reshape(-1, BOX**2)


def verdict(ds: xr.Dataset, is_flow: bool, fewer: int) -> str:
    """Return one or two sentences; `fewer` is the size of a network for which fewer starts were taken, else 0."""
    settings = schema.settings(ds)
    of = f" under Euler's map at ε = {number(settings['step_size'])}" if "step_size" in settings else ""
    starts = counted(ds["basin"].size, "start")
    said = f"Among {starts}{of}, {joined(_ends(ds, is_flow))}. {_limit(ds, fewer)}".strip()
    at = settings["input"] if settings["at"] == "values" else settings["at"]
    return under_input(said, at, settings["input"])


def _ends(ds: xr.Dataset, is_flow: bool) -> list[str]:
    """Return how many starts on the plane end on attractors of each kind, leave, drift or are undecided."""
    basin, kinds, settings, found = ds["basin"].values, ds["attractor_class"].values, schema.settings(ds), []
    for kind in dict.fromkeys(kinds.tolist()):
        reached = np.intersect1d(np.flatnonzero(kinds == kind), basin)
        word = kind.replace("fixed point", "equilibrium") if is_flow else of_map(kind)
        what = article(word) if len(reached) == 1 or kind.startswith("continuum") else counted(len(reached), word)
        found.append((np.isin(basin, reached), "ends", "end", f"on {what}"))
    ways = counted(len(np.unique(basin[basin <= DRIFTS])), "direction")
    found.append((basin == LEAVES, "leaves", "leave", f"|h_i| ≤ {number(settings['largest_state'])}"))
    found.append((basin <= DRIFTS, "drifts", "drift", f"outward for ever in {ways}"))
    found.append((basin == UNDECIDED, "is", "are", f"undecided after {settings['steps']:,} steps"))
    return [f"{_some(here, one, several)} {where}" for here, one, several, where in found if here.any()]


def _some(here: NDArray[np.bool_], one: str, several: str) -> str:
    """Return how many starts do something: "1 start ends", "47.6 % end"."""
    count = int(here.sum())
    said = counted(count, "start") if count <= FEW else share(count / here.size)
    return f"{said} {agree(count, one, several)}"


def _limit(ds: xr.Dataset, fewer: int) -> str:
    """Return what limits the answer: attractors beyond the plane, a fractal border, or few starts."""
    missed, grid = int(ds["missed_attractors"]), ds.sizes[schema.X]
    border, error = (float(ds[f"boundary_basin_entropy{each}"]) for each in ("", "_error"))
    further = counted(missed, "further attractor")
    entropy = f"The basin entropy on borders is {with_error(border, error, 'nat')}"
    return first_that_holds(
        {
            f"{further} {agree(missed)} reached only from outside this plane, and listed with share 0.": missed,
            f"This grid is {grid} × {grid} to save time, as the network has {fewer:,} parameters (--grid, grid=).": (
                fewer
            ),
            f"{entropy}, above ln 2: they are fractal.": border - SURE * error > np.log(2),
        }
    )
