"""What a search for fixed points found, and how sure that is, in a few sentences."""

import itertools
from typing import Any

import torch

from dynlab.diagnostics.fixed_points.found import CLOSED_GATE, LOST, NOT_LOOKED_AT, OUTSIDE, Search
from dynlab.diagnostics.fixed_points.places import AT_JUMP, CONTINUUM, FIXED, SLOW, UNDECIDED, told_apart
from dynlab.diagnostics.fixed_points.records import NEIGHBOURING, UNVERIFIED, Record
from dynlab.numerics import merging
from dynlab.wording import agree, at_most, counted, joined, number, of_map, place

FAILED = {
    LOST: "reached no fixed point",
    OUTSIDE: "ended outside the state's bounds",
    CLOSED_GATE: "ended where a closed gate hides the motion",
    UNDECIDED: "ended at a state that is not told from a fixed point",
    AT_JUMP: "ended at a jump of the map",
    SLOW: "ended at a slow point",
    NOT_LOOKED_AT: "ended where J − I is singular and were not looked at, to end in time",
}
OTHERS = {
    NEIGHBOURING: ("root that fsolve leaves for a neighbouring one", "roots that fsolve leaves for neighbouring ones"),
    UNVERIFIED: ("root that fsolve does not verify", "roots that fsolve does not verify"),
    AT_JUMP: ("jump of the map at which searches ended", "jumps of the map at which searches ended"),
    SLOW: ("slow point", "slow points"),
}
PIECES = "{} pieces were found, {}; it is not known which of them are parts of one"
FAR = "{} go on farther than they were followed, where they may meet"
FLAT = "of equilibria"  # as the kind near a line or plane of these is called
SETS = {1: "a line or curve", 2: "a plane or surface"}
SMALLEST_DISTANCE = 1e-15  # times max(1, ‖h‖), as distances are said: below are named so: they are rounding, or nothing


def verdict(rows: list[Record], found: Search) -> str:
    """The sentences for these rows of the Dataset."""
    points = [row for row in rows if row.status == FIXED]
    lines = [row for row in rows if row.status == CONTINUUM]
    doubtful = [row for row in rows if row.status == UNDECIDED]
    listed = [place for row, place in zip(rows, found.places, strict=True) if row.status == FIXED]
    sentences = [_points(points, told_apart(listed), found), *_flat(points)] if points else []
    sentences += [_continua(lines, bool(points), found)] if lines else []
    if not sentences:
        none = f"The map is {found.affine} and has no fixed point{'' if found.affine == 'affine' else ' there'}"
        none += ", to the rounding of its entries; taken exactly, they may leave one far away" * found.rounded
        only = "was verified" if any(row.status in (NEIGHBOURING, UNVERIFIED, AT_JUMP) for row in rows) else "was found"
        sentences = [f"{none if found.affine and not doubtful else f'No fixed point {only}'}."]
    sentences += [_undecided(doubtful)] if doubtful else []
    others = [(sum(row.status == status for row in rows), words) for status, words in OTHERS.items()]
    others = [(count, words) for count, words in others if count]
    if others:
        verb = agree(sum(count for count, _ in others))
        sentences.append(f"There {verb} also {joined([counted(count, *words) for count, words in others])}.")
    return " ".join([*sentences, *([] if found.affine else [_starts(found)]), *_confidence(found)])


def under_input(said: str, at: Any) -> str:
    """What is said of a network, with the input that is held before it.

    Examples
    --------
    >>> under_input("No fixed point was found.", "zero"), under_input("1 fixed point.", [0.5, -1])
    ('With the input held at zero: no fixed point was found.', 'With the input held at (0.5, −1): 1 fixed point.')
    """
    if isinstance(at, str):
        values = "its mean" if at == "mean" else at
    else:
        held = torch.as_tensor(at, dtype=torch.float64).detach().cpu().numpy()
        values = place(held, "‖x‖") if held.any() else "zero"
    return f"With the input held at {values}: {said[:1].lower()}{said[1:]}"


def _points(points: list[Record], least: int, found: Search) -> str:
    apart = max(row.fsolve_distance / float(merging.scale(row.state)) for row in points)
    worst = at_most(max(apart, SMALLEST_DISTANCE), 1)
    if len(points) == 1:
        only = f", the only one of a map that is {found.affine}" if found.affine else ""
        said = f"1 fixed point ({_kind(points[0])}){only}."
        return f"{said} A second solver, fsolve, started beside it, comes back to within {worst} of it."
    kinds = joined(_counts(points))
    said = f"{len(points)} fixed points ({kinds})."
    if least < len(points):
        said = f"At least {counted(least, 'fixed point')}. {len(points)} were found ({kinds}). Rounding does not tell "
        said += "which of them are one."
    return f"{said} A second solver, fsolve, started beside each of them, comes back to within {worst} of it."


def _counts(points: list[Record]) -> list[str]:
    """How many are stable, saddles, unstable in every other way, and undecided."""
    unstable = [row.kind.name for row in points if row.kind.stable == 0]
    saddles = sum("saddle" in name for name in unstable)
    counts = {
        "stable": sum(row.kind.stable == 1 for row in points),
        "saddle" if saddles == 1 else "saddles": saddles,
        "otherwise unstable" if saddles else "unstable": len(unstable) - saddles,
        "undecided": sum(row.kind.stable == -1 for row in points),
    }
    return [f"{count} {name}" for name, count in counts.items() if count]


def _kind(point: Record) -> str:
    """The kind in words; where that alone is undecided, whether the point is stable."""
    name, stable = of_map(point.kind.name), {0: "unstable", 1: "stable"}.get(point.kind.stable)
    return f"{stable}, its kind {name}" if stable and name.startswith("undecided") else name


def _flat(points: list[Record]) -> list[str]:
    """Where the map is so flat beside a point that several would be one."""
    count = sum(FLAT in row.kind.name for row in points)
    where = "There" if len(points) == 1 else f"At {count} of them"
    said = "an eigenvalue is 1 within its error: points that lie very near each other would be counted as one."
    return [f"{where} {said}"] if count else []


def _continua(lines: list[Record], beside: bool, found: Search) -> str:
    sets = len({place.whole for place in found.places if place.status == CONTINUUM})
    dimensions = sorted({len(row.directions) for row in lines})
    size = SETS.get(dimensions[0], f"a set of dimension {dimensions[0]}")
    sizes = f"of dimension {joined(list(map(str, dimensions)))}" if len(lines) > 1 else size
    told = counted(sets, "continuum of fixed points")
    if sets < len(lines):
        return f"At least {told}: {PIECES.format(len(lines), sizes)}."
    if NOT_LOOKED_AT in found.outcome:
        return f"At least {told}, {sizes}."
    said = f"There {agree(sets)}{' also' if beside else ''} {told}, {sizes}"
    if found.rounded:
        return f"{said}, to the rounding of the map's entries; taken exactly, they may leave one fixed point or none."
    far = len({place.whole for place in found.places if place.goes_on})
    which = "both" if far == sets == 2 else "all of them" if far == sets else f"{far} of them"
    return f"{said}; {FAR.format(which)}." if far > 1 else f"{said}."


def _undecided(doubtful: list[Record]) -> str:
    smallest = number(min(row.residual for row in doubtful), 1)
    if len(doubtful) == 1:
        return f"At 1 state rounding does not tell whether there is a fixed point: its residual is {smallest}."
    return (
        f"At {len(doubtful)} states rounding does not tell whether there is a fixed point: their residuals are "
        f"{smallest} and more."
    )


def _starts(found: Search) -> str:
    total = len(found.outcome)
    converged = int((found.outcome == FIXED).sum())
    failed = [
        f"{int((found.outcome == name).sum()):,} {words}" for name, words in FAILED.items() if name in found.outcome
    ]
    of = "All" if converged == total > 1 else f"{converged:,} of"
    searches = counted(total, "search of a layer" if found.searches else "search")
    return f"{of} {searches} converged{''.join(', ' + each for each in failed)}."


def incomplete(found: Search) -> str:
    """The sentences that say so where points are missing, or a search of a layer still found new ones; else none."""
    sure = found.confidence
    return " ".join(_confidence(found)) if sure is not None and (sure.missing or not sure.complete) else ""


def _confidence(found: Search) -> list[str]:
    sure = found.confidence
    if sure is None:
        return []
    if not sure.complete:
        new = f"{sure.new} of its {sure.starts} random starts" if sure.new else "its other starts"
        ended = f"The search stopped after {sure.rounds} rounds, in the last of which {new} still ended at new points."
    else:
        ended = f"The last of {sure.rounds} rounds found no new point."
    if found.searches:
        ended = _of_layers(found)
    if sure.missing:
        sum_of = f", those of the listed ones to {number(sure.index_sum or 0)}" if not found.searches else ""
        return [
            f"{ended} At least {counted(sure.missing, 'point')} {agree(sure.missing)} missing: the indices of all "
            f"fixed points of a bounded map sum to 1{sum_of}."
        ]
    share = at_most(100 * sure.bound, 2)
    whose, of_which = ("their", " of a layer") if found.searches else ("its", "")
    return [
        f"{ended} {sure.starts} of {whose} starts {agree(sure.starts, 'was', 'were')} random, with coordinates drawn "
        f"within ±{number(sure.reach)}. At a confidence of 95 % or more, at most {share} % of searches{of_which} from "
        f"such starts lead to a point that is not listed."
    ]


def _of_layers(found: Search) -> str:
    """What was searched of a stack."""
    alike = [list(group) for _, group in itertools.groupby(enumerate(found.searches, 1), lambda each: each[1])]
    each = [
        f"{counted(group[0][1], 'search', 'searches')} of layer {group[0][0]}"
        if len(group) == 1
        else f"{counted(group[0][1], 'search', 'searches')} of each of layers {group[0][0]} to {group[-1][0]}"
        for group in alike
    ]
    text = f"Each layer was searched under the output of every point found of the layers below: {joined(each)}."
    empty = [layer for layer, count in enumerate(found.searches, 1) if not count]
    if empty:
        return f"{text} No fixed point of layer {empty[0] - 1} was found, and so none above."
    sure = found.confidence
    if sure is None or sure.complete:
        return f"{text} The last round of each found no new point."
    return f"{text} At least one of them stopped early: its last round still found new points."
