"""What a bifurcation diagram shows, in a few sentences."""

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import together
from dynlab.diagnostics.bifurcation.crossings import beyond
from dynlab.diagnostics.bifurcation.exploring import CONTINUUM, FLIP, OF_ORBITS, Bifurcation, Diagram
from dynlab.diagnostics.bifurcation.extended import TOLERANCE
from dynlab.diagnostics.bifurcation.locating import BORDER_COLLISION
from dynlab.diagnostics.bifurcation.normal_form import UNDECIDED as EITHER
from dynlab.diagnostics.bifurcation.orbits import LEFT as LEFT_BOUND
from dynlab.diagnostics.bifurcation.orbits import UNSETTLED
from dynlab.diagnostics.bifurcation.result import Row
from dynlab.diagnostics.bifurcation.switching import DEGENERATE, UNDECIDED
from dynlab.diagnostics.bifurcation.together import JointPlace
from dynlab.diagnostics.bifurcation.tracing import HIDDEN, LEFT, LOST
from dynlab.kinks import AT_KINK
from dynlab.wording import agree, article, at_most, capital, counted, joined, number, to_error, with_error

AT_ZERO = 1e-9  # times 1: a state so small is the origin
MOST_CHANGES, MOST_VALUES = 3, 4  # sentences on changes of stability, and values that are listed of each kind
ALIKE = 1e-4  # of the range: ends of branches so near to each other are named once
FOLD = "fold"
EACH = re.compile(" in (an?) ")
TOGETHER = "together"
PLURALS = {
    "fold": "folds",
    "flip": "flips",
    "pitchfork": "pitchforks",
    "transcritical": "transcritical bifurcations",
    "branch point": "branch points",
    "Hopf": "Hopf bifurcations",
    "Neimark–Sacker": "Neimark–Sacker bifurcations",
    "border collision": "border collisions",
    DEGENERATE: "degenerate points",
    CONTINUUM: "continua of fixed points",
    OF_ORBITS: "continua of orbits of twice the period",
    UNDECIDED: "undecided points, each a branch point or a fold nearby",
    TOGETHER: "places where branches could not be told apart",
}
BEYOND = 2.0  # times the error of a parameter: what lies nearer may be on either side of the bifurcation
IN_A = {
    "Hopf": "Hopf bifurcation",
    "Neimark–Sacker": "Neimark–Sacker bifurcation",
    "transcritical": "transcritical bifurcation",
    "flip": "flip (period doubling)",
    DEGENERATE: "degenerate point",
    CONTINUUM: "continuum of fixed points",
    OF_ORBITS: "continuum of orbits of twice the period",
    UNDECIDED: "undecided point, a branch point or a fold nearby",
    TOGETHER: "place where branches could not be told apart",
}


def verdict(
    diagram: Diagram,
    points: list[Row],
    places: list[JointPlace],
    name: str,
    beyond: int,
    settled: NDArray[np.int8] | None,
) -> str:
    """The sentences.

    Parameters
    ----------
    diagram : Diagram
    points : list of Row
    places : list of JointPlace
        Where branches could not be told apart.
    name : str
        The parameter's.
    beyond : int
        How many fixed points beyond the largest state a search found; branches begin at none of them.
    settled : ndarray of int, shape (value, start), or None
        Of the orbits behind the branches.
    """
    low, high = diagram.limits.lowest, diagram.limits.highest
    noun = "fixed point" if diagram.curve.equation.is_map else "equilibrium"
    largest = f"|h_i| = {diagram.limits.largest_state:g}"
    were, them = ("were", "them") if beyond > 1 else ("was", "it")
    left_out = [
        f"{counted(beyond, noun)} beyond {largest} {were} found at a value of {name} and not followed: a larger "
        f"--largest-state (largest_state=) includes {them}"
    ] * bool(beyond)
    if not diagram.branches:
        where = f" up to {largest}" if beyond else ""
        none = f"No isolated {noun}{where} was found for {name} between {_number(low)} and {_number(high)}"
        return ". ".join([none, *left_out]) + "."
    changes = _changes(diagram, points, places, name, noun)
    lost = _lost(diagram)
    at_kinks = [[one.kind.name == AT_KINK.name for one in branch.points] for branch in diagram.branches]
    kinked = sum(2 * sum(each) > len(each) for each in at_kinks)  # and not where a branch crosses one
    unsure = lost or kinked or any(one.kind in (DEGENERATE, UNDECIDED) for one in diagram.bifurcations)
    none = "No change of stability was located" if unsure else f"No {noun} that was found changes stability"
    sentences = changes or [f"{none} for {name} from {_number(low)} to {_number(high)}"]
    if not changes or len(diagram.branches) > 1 or len(diagram.bifurcations) > 1:  # else all of it has been said
        sentences.append(_counts(diagram, places))
    if any(one.kind == DEGENERATE for one in diagram.bifurcations):
        sentences.append(
            "At a degenerate point several eigenvalues are on the border of stability at once, or one is there with "
            "the speed 0; what leaves it is followed only where a search has found it"
        )
    if kinked:
        along = f"Along {counted(kinked, 'branch')} the {noun} lies at a kink"
        sentences.append(f"{along}, where no one Jacobian says whether it is stable")
    cascade = _cascade(diagram)
    if cascade:
        sentences.append(cascade)
    if diagram.bifurcations:
        sentences.append(_accuracy(diagram.bifurcations, name))
    if lost:
        ends = "Branches end" if len(lost) > 1 else "A branch ends"
        sentences.append(f"{ends} at {_places(lost, diagram, name)}: what is there is not told")
    cut = sum(end == LEFT for branch in diagram.branches for end in branch.ends)
    if cut:
        ends = f"{cut} ends of branches are" if cut > 1 else "One end of a branch is"
        sentences.append(f"{ends} cut where some |h_i| exceeds {diagram.limits.largest_state:g}")
    sentences += left_out
    if diagram.cut_short:
        sentences.append(f"More branches exist: only the first {len(diagram.branches)} were followed")
    if settled is not None:
        sentences += _of_orbits(settled, name, diagram.limits.largest_state)
    return ". ".join(sentences) + "."


def _lost(diagram: Diagram) -> list[float]:
    """The parameters at which branches end without a way on, in order."""
    ends = []
    for branch in diagram.branches:
        curve = diagram.curve_of(branch.period)
        numbers = [number for end, number in zip(branch.ends, (0, -1), strict=True) if end in (LOST, HIDDEN)]
        ends += [curve.parameter(branch.points[number].z) for number in numbers]
    return sorted(ends)


def _places(ends: list[float], diagram: Diagram, name: str) -> str:
    """Where these values of the parameter are, those that are near to each other as one."""
    near = ALIKE * (diagram.limits.highest - diagram.limits.lowest)
    groups = np.split(ends, np.flatnonzero(np.diff(ends) > near) + 1)
    values = [to_error(float(group.mean()), near, 7) for group in groups]
    more = ["…"] if len(values) > MOST_VALUES else []
    return f"{name} = {joined(values[:MOST_VALUES] + more)}"


def _of_orbits(settled: NDArray[np.int8], name: str, largest: float) -> list[str]:
    """At how many values every orbit left the bound, and at how many one had not settled."""

    def at(values: NDArray[np.bool_]) -> str:
        count = int(values.sum())
        return f"At {count} of {len(values)} values of {name}"

    sentences = []
    left, moving = (settled == LEFT_BOUND).all(axis=1), (settled == UNSETTLED).any(axis=1)
    if left.any():
        sentences.append(f"{at(left)} every orbit left |h_i| ≤ {largest:g}, or was no number, and was cut")
    if moving.any():
        sentences.append(f"{at(moving)} an orbit had not settled. Its points, hollow in the picture, may be transients")
    return sentences


def _changes(diagram: Diagram, points: list[Row], places: list[JointPlace], name: str, noun: str) -> list[str]:
    """Where a stable fixed point becomes unstable or the reverse, in the order of the parameter."""
    found = [(place.lowest, together.said(diagram, points, place, name, noun)) for place in places]
    apart = frozenset().union(*(place.bifurcations for place in places))
    for index, row in enumerate(points):
        if row.bifurcation < 0 or row.bifurcation in apart or diagram.branches[row.branch].period > 1:
            continue
        one = diagram.bifurcations[row.bifurcation]
        near = BEYOND * one.parameter_error
        before, after = (_side(points, index, step, near, diagram.curve.equation.is_map) for step in (-1, 1))
        if before is None or after is None or {before.kind.stable, after.kind.stable} != {0, 1}:
            continue
        stable, unstable = (before, after) if before.kind.stable == 1 else (after, before)
        found.append((row.parameter, _change(one, row, stable, unstable, name, noun)))
    sentences = [_many(text, count) for text, count in Counter(text for _, text in sorted(found)).items()]
    more = len(sentences) - MOST_CHANGES
    rest = f"{more} more changes of stability follow" if more > 1 else "One more change of stability follows"
    return sentences[:MOST_CHANGES] + ([rest] if more > 0 else [])


def _change(one: Bifurcation, row: Row, stable: Row, unstable: Row, name: str, noun: str) -> str:
    at = f"at {name} = {_value(one, row.parameter)}"
    turns = (stable.parameter - row.parameter) * (unstable.parameter - row.parameter) > 0  # at a kink, too
    if one.kind == FOLD or turns:
        verb = "meet and vanish" if stable.parameter < row.parameter else "appear"
        return f"A stable and an unstable {noun} {verb} {at} in {article(IN_A.get(one.kind, one.kind))}"
    states = np.abs([stable.orbit[0], unstable.orbit[0]]).max()
    subject = "The origin" if states <= AT_ZERO else capital(article(noun))
    verb = "loses" if stable.parameter < unstable.parameter else "gains"
    criticality, undecided = _criticality(one)
    how = f" ({'; '.join(filter(None, (_angle(one), undecided)))})" if _angle(one) or undecided else ""
    if one.kind in (CONTINUUM, OF_ORBITS):
        there = f"there is {article(IN_A[one.kind])}, but none just below or above"
        return f"{subject} {verb} stability {at}, where {there}"
    return f"{subject} {verb} stability {at} in {article(criticality + IN_A.get(one.kind, one.kind))}{how}"


def _many(text: str, count: int) -> str:
    """The same of several, such as two that mirror each other."""
    if count == 1:
        return text
    first, _, rest = text.partition(" ")
    rest = rest.replace("fixed point ", "fixed points ", 1).replace("equilibrium ", "equilibria ", 1)
    rest = rest.replace("loses", "lose", 1).replace("gains", "gain", 1).replace("an unstable", f"{count} unstable", 1)
    rest = EACH.sub(r", each in \1 ", rest, count=1)
    return f"{count} {rest}" if first in ("A", "An") else text


def _side(points: list[Row], index: int, step: int, near: float, is_map: bool) -> Row | None:
    """The nearest decided point of the branch on one side, farther off in the parameter than `near` if any is.

    A nearer one counts where another change of stability lies between: what its eigenvalue is beyond the border is then
    more than it comes to so near.
    """
    found, number = None, index + step
    while 0 <= number < len(points) and points[number].branch == points[index].branch:
        row, number = points[number], number + step
        if row.kind.stable < 0:
            continue
        found = found or row
        apart = abs(row.parameter - points[index].parameter)
        if apart > near:
            near_excess, excess = (abs(float(beyond(one.eigenvalues, is_map).max())) for one in (found, row))
            same = row.kind.stable == found.kind.stable or near_excess <= excess * near / apart
            return row if same else found
    return found


def _criticality(one: Bifurcation) -> tuple[str, str]:
    """A word before the kind, or where that is undecided words after it."""
    if one.coefficient is None:
        return "", ""
    if one.coefficient.criticality == EITHER:
        return "", "undecided whether supercritical or subcritical"
    return f"{one.coefficient.criticality} ", ""


def _angle(one: Bifurcation) -> str:
    """What a complex pair turns by."""
    if one.refined is None or one.refined.eigenvalue.imag == 0:
        return ""
    value = one.refined.eigenvalue
    if one.kind == "Hopf":
        return f"eigenvalues ±{abs(value.imag):.4g}i per second"
    return f"multipliers e^(±{abs(np.angle(value)):.4g}i)"


def _counts(diagram: Diagram, places: list[JointPlace]) -> str:
    """How many branches, and which bifurcations at which values."""
    begin = counted(len(diagram.branches), "branch", "branches")
    apart = frozenset().union(*(place.bifurcations for place in places))
    kinds: dict[str, list[str]] = {}
    told = [one for index, one in enumerate(diagram.bifurcations) if index not in apart]
    if places:
        begin = f"{begin}, of which some may be one,"
        kinds[TOGETHER] = [place.where for place in places]
    for one in sorted(told, key=lambda one: float(one.z[-1])):
        kinds.setdefault(one.kind, []).append(_value(one, diagram.curve.parameter(one.z)))
    if not kinds:
        return f"{begin} without a bifurcation"
    parts = []
    for kind, values in kinds.items():
        shown = list(dict.fromkeys(values))
        at = ", ".join(shown[:MOST_VALUES]) + (", …" if len(shown) > MOST_VALUES else "")
        parts.append(f"{len(values)} {PLURALS[kind] if len(values) > 1 else IN_A.get(kind, kind)} (at {at})")
    return f"{begin} with {joined(parts)}"


def _number(value: float, error: float = 0.0) -> str:
    """With 7 digits, 10 where those make it look rounder than it is, as 1.0000000131 does, and none below its error."""
    return to_error(value, error, 10 if number(value, 7) == number(value, 6) else 7)


def _value(one: Bifurcation, p: float) -> str:
    """The parameter at a bifurcation, with its error where that is worth a word."""
    error = one.parameter_error
    return with_error(p, error) if error > TOLERANCE * max(1.0, abs(p)) else _number(p, error)


def _cascade(diagram: Diagram) -> str:
    """The ratios of the intervals between successive period doublings, each on the branch that the last one led to."""
    ratios: list[float] = []
    for index, one in enumerate(diagram.bifurcations):
        chain = [one]
        while True:
            children = [i for i, branch in enumerate(diagram.branches) if branch.origin == index]
            flips = [
                i for i, next_ in enumerate(diagram.bifurcations) if next_.kind == FLIP and next_.branch in children
            ]
            if chain[-1].kind != FLIP or not flips:
                break
            index = flips[0]
            chain.append(diagram.bifurcations[index])
        gaps = np.diff([diagram.curve.parameter(link.z) for link in chain])
        if len(gaps) - 1 > len(ratios) and (gaps != 0).all():
            ratios = (gaps[:-1] / gaps[1:]).tolist()
    if len(ratios) < 2:
        return ""
    listed = joined([number(ratio, 5) for ratio in ratios])
    return f"The intervals between period doublings shrink by the factors {listed} (Feigenbaum's limit is 4.6692)"


def _accuracy(bifurcations: list[Bifurcation], name: str) -> str:
    located = [one.parameter_error for one in bifurcations if one.located]
    other = [one for one in bifurcations if not one.located]
    said = ""
    if located:
        several = len(located) > 1
        count = counted(len(located), "bifurcation")
        subject = count if other else f"All {count}" if several else "It"
        said = (
            f"{subject} {agree(len(located))} located to {at_most(max(located), 1)} in {name}{' or better' * several}"
        )
    if other:
        why = ", at kinks of the activation" if all(one.kind == BORDER_COLLISION for one in other) else ""
        worst = at_most(max(one.parameter_error for one in other), 1)
        bracketed = f"{counted(len(other), 'bifurcation')} {agree(len(other))} bracketed to {worst}{why}"
        said = f"{said}; {bracketed}" if said else bracketed
    return said
