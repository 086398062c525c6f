"""The points that a search found, and how sure it is to have found all, in a few sentences."""

from collections import Counter
from typing import Any

import torch

from dynlab.diagnostics.fixed_points.distinct_roots import AT_KINK, DEGENERATE, FIXED, SLOW, UNVERIFIED
from dynlab.diagnostics.fixed_points.rounds import Search
from dynlab.diagnostics.fixed_points.verification import Record
from dynlab.systems import Euler, Flow, System
from dynlab.systems.base import Integrator
from dynlab.words import agree, at_most, counted, first_that_holds, joined, number, of_map, place

# What is said of points of each other status.
OTHERS = {
    AT_KINK: "at a kink of the activation, whose stability is undecided",
    DEGENERATE: "that is degenerate (a multiple root, or one of a continuum)",
    UNVERIFIED: "that fsolve does not verify",
    SLOW: "that only move slowly",
}


def verdict(rows: list[Record], found: Search, system: System) -> str:
    """Return the sentences for these rows of the Dataset.

    Parameters
    ----------
    rows : list of Record
    found : Search
    system : System
        System that was searched: a flow has equilibria, and a map may be one of Euler's.
    """
    noun, matrix = ("equilibrium", "J") if isinstance(system, Flow) else ("fixed point", "I − J")
    points, counts = [row for row in rows if row.status == FIXED], Counter(row.status for row in rows)
    others = [f"{counted(counts[each], 'point')} {words}" for each, words in OTHERS.items() if counts[each]]
    dimension = max((row.dimension for row in rows), default=0)
    sentences = [
        _points(points, noun, found.affine),
        f"There {agree(len(rows) - len(points))} also {joined(others)}." * bool(others),
        f"{matrix} is singular in {counted(dimension, 'direction')}." * bool(dimension),
        map_of_flow(system),
        coverage(found),
    ]
    return " ".join(filter(None, sentences))


def map_of_flow(system: System) -> str:
    """Return the sentence that what is said is about an integrator's map and not the flow; nothing of others."""
    if not isinstance(system, Integrator):
        return ""
    method = "Euler's" if isinstance(system, Euler) else f"the {type(system).__name__}"
    return f"This is about {method} map with step {number(system.step_size)} s, not about the flow itself."


def under_input(said: str, at: Any, has_input: object = True) -> str:
    """Return what is said of a network, with the input that is held before it, if it has one.

    Examples
    --------
    >>> under_input("No fixed point was found.", "zero"), under_input("1 fixed point.", [0.5, -1])
    ('With the input held at zero: no fixed point was found.', 'With the input held at (0.5, −1): 1 fixed point.')
    """
    return f"With the input held at {_values(at)}: {said[:1].lower()}{said[1:]}" if has_input else said


def held_input(at: Any) -> str:
    """Return the input that is held, within a sentence: "zero input", "the input held at its mean"."""
    values = _values(at)
    return "zero input" if values == "zero" else f"the input held at {values}"


def _values(at: Any) -> str:
    if isinstance(at, str):
        return {"mean": "its mean", "rest": "the model's rest"}.get(at, at)
    held = torch.as_tensor(at, dtype=torch.float64).detach().cpu().numpy()
    return place(held, "‖x‖") if held.any() else "zero"


def incomplete(found: Search) -> str:
    """Return the sentence that says so where points are missing, or the last round still found new ones; else none."""
    sure = found.confidence
    return "" if sure is None or (sure.complete and sure.index_sum in (None, 1)) else coverage(found)


def coverage(found: Search) -> str:
    """Return how much a search may have missed; nothing where the starts were given, or the map is affine."""
    sure = found.confidence
    if sure is None:
        return ""
    missing = 0 if sure.index_sum is None else abs(1 - sure.index_sum)
    least = f"At least {counted(missing, 'point')} {agree(missing)} missing"
    share = f"Missing points, if any, attract at most {at_most(100 * sure.bound, 2)} % of random searches"
    return first_that_holds(
        {
            f"{least}: the indices of a bounded map's fixed points sum to 1, these to {sure.index_sum}.": missing,
            f"{share} (95 % confidence).": sure.complete,
            f"The search stopped while it still found new points. {share} (95 % confidence).": True,
        }
    )


def _points(points: list[Record], noun: str, affine: bool) -> str:
    if not points:
        return f"The system is affine and has no isolated {noun}." if affine else f"No nondegenerate {noun} was found."
    only = ", the only one of an affine system" if affine else ""
    kinds = joined(_counts(points)) if len(points) > 1 else _kind(points[0], noun)
    return f"{counted(len(points), noun)} ({kinds}){only}, verified by fsolve."


def _counts(points: list[Record]) -> list[str]:
    """Return how many are stable, saddles, unstable in every other way, and undecided."""
    words = {1: "stable", 0: "unstable", -1: "undecided"}
    kinds = ["saddle" if "saddle" in row.kind.name else words[row.kind.stable] for row in points]
    count = {each: kinds.count(each) for each in ("stable", "saddle", "unstable", "undecided") if each in kinds}
    return [counted(number, each) if each == "saddle" else f"{number} {each}" for each, number in count.items()]


def _kind(point: Record, noun: str) -> str:
    """Return the kind in words; where that alone is undecided, whether the point is stable."""
    name = point.kind.name if noun == "equilibrium" else of_map(point.kind.name)
    stable = {0: "unstable", 1: "stable"}.get(point.kind.stable)
    return f"{stable}, its kind {name}" if stable and name.startswith("undecided") else name
