"""The sentences on a bifurcation diagram: what changes stability, all bifurcations, and what limits the answer."""

import numpy as np

from dynlab.diagnostics.bifurcation.branches import HOPF, NEIMARK_SACKER, Diagram
from dynlab.diagnostics.bifurcation.extended import DEGENERATE, FLIP, FOLD, PITCHFORK, TRANSCRITICAL, UNDECIDED
from dynlab.diagnostics.bifurcation.locating import BORDER_COLLISION, Bifurcation, Solution
from dynlab.diagnostics.bifurcation.orbit_diagram import UNSETTLED, Visited
from dynlab.numerics.continuation import LEFT, LOST
from dynlab.words import article, at_most, capital, counted, joined, number, plural_of, to_error, with_error

AT_ZERO = 1e-9  # times the branches' size: a state so small is the origin
MOST_CHANGES, MOST_VALUES = 3, 4  # changes of stability, and values of each kind, that are listed
BEYOND = 2.0  # times the error of a bifurcation: solutions that are nearer may lie on either side of it
TOLD = 1e-8  # times max(1, |p|): an error of a parameter that is larger is written beside it
KINDS = (FOLD, FLIP, PITCHFORK, TRANSCRITICAL, HOPF, NEIMARK_SACKER, BORDER_COLLISION, DEGENERATE)
LONG = {kind: f"{kind} bifurcation" for kind in (TRANSCRITICAL, HOPF, NEIMARK_SACKER)}  # with the noun of a sentence
LONG |= {kind: kind for kind in (FOLD, PITCHFORK, BORDER_COLLISION)}
LONG |= {FLIP: "flip (period doubling)", DEGENERATE: "degenerate point"}


def verdict(
    diagram: Diagram, name: str, ends: tuple[float, float], bound: float, beyond_bound: int, orbits: Visited | None
) -> str:
    """Return one to three sentences.

    Parameters
    ----------
    diagram : Diagram
    name : str
        The parameter's.
    ends : tuple of float
        Its range.
    bound : float
        On abs(h_i).
    beyond_bound : int
        Number of fixed points beyond it that a search found, from which no branch was followed.
    orbits : Visited or None
    """
    noun = "fixed point" if diagram.curve.is_map else "equilibrium"
    over = f"{name} from {to_error(ends[0], 0.0, 7)} to {to_error(ends[1], 0.0, 7)}"
    changes = list(dict.fromkeys(text for _, text, _, _ in stability_changes(diagram, name)))
    more = len(changes) - MOST_CHANGES
    listed = changes[:MOST_CHANGES] + [f"{counted(more, 'more change')} of stability follow"] * (more > 0)
    nothing = f"no change of stability was located for {over}"
    if not diagram.branches:
        nothing = f"no isolated {noun} up to |h_i| = {bound:g} was found for {over}"
    sentences = ["; ".join(listed) or nothing, _counts(diagram, name) if diagram.branches else ""]
    sentences.append("; ".join(_limits(diagram, name, noun, bound, beyond_bound, orbits)))
    return ". ".join(capital(each) for each in sentences if each) + "."


def _limits(
    diagram: Diagram, name: str, noun: str, bound: float, beyond_bound: int, orbits: Visited | None
) -> list[str]:
    """Return what limits the answer, the most important first."""
    lost, cut = _lost(diagram), [end for branch in diagram.branches for end in branch.ends].count(LEFT)
    moving = 0 if orbits is None else int((orbits.settled == UNSETTLED).any(axis=1).sum())
    table = {
        f"{counted(beyond_bound, noun)} beyond |h_i| = {bound:g} not followed (--largest-state, largest_state=)": (
            beyond_bound
        ),
        f"branches end without a way on at {name} = {joined(lost[:MOST_VALUES])}": lost,
        f"only the first {len(diagram.branches)} branches were followed": diagram.cut_short,
        f"{counted(cut, 'end')} of branches cut where some |h_i| exceeds {bound:g}": cut,
        f"an orbit had not settled at {counted(moving, 'value')} of {name}": moving,
    }
    return [text for text, holds in table.items() if holds]


def _lost(diagram: Diagram) -> list[str]:
    """Return the parameters at which branches end without a way on, in order."""
    sides = [(branch, end, side) for branch in diagram.branches for end, side in zip(branch.ends, (0, -1), strict=True)]
    at = sorted(diagram.curve.parameter(branch.solutions[side].z) for branch, end, side in sides if end == LOST)
    return list(dict.fromkeys(number(value) for value in at))


def stability_changes(diagram: Diagram, name: str) -> list[tuple[float, str, int, str]]:
    """Return where fixed points change stability: z's last coordinate, a sentence, the bifurcation, and the change."""
    found = []
    for branch in diagram.branches:
        for index, one in enumerate(branch.solutions):
            if one.bifurcation < 0 or branch.period > 1:
                continue
            event, at = diagram.bifurcations[one.bifurcation], float(one.z[-1])
            sides = [branch.solutions[:index][::-1], branch.solutions[index + 1 :]]
            apart = BEYOND * event.error / diagram.curve.width
            first, second = (_decided(side, at, apart) for side in sides)
            if first and second and {first.kind.stable, second.kind.stable} == {0, 1}:
                stable, unstable = (first, second) if first.kind.stable else (second, first)
                text, change = _change(diagram, event, stable, unstable, name)
                found.append((at, text, one.bifurcation, change))
    return sorted(found, key=lambda each: each[:2])


def _decided(side: list[Solution], at: float, apart: float) -> Solution | None:
    """Return the nearest decided solution of a side that is farther from `at` than `apart`."""
    return next((one for one in side if one.kind.stable >= 0 and abs(one.z[-1] - at) > apart), None)


def _change(diagram: Diagram, one: Bifurcation, stable: Solution, unstable: Solution, name: str) -> tuple[str, str]:
    """Return the sentence on a change of stability, and its words."""
    noun, where = "fixed point" if diagram.curve.is_map else "equilibrium", f"at {name} = {_value(diagram, one)}"
    cubic = one.coefficient.criticality if one.coefficient else ""
    kind = f"{LONG[one.kind]} of {UNDECIDED} criticality" if cubic == UNDECIDED else f"{cubic} {LONG[one.kind]}".strip()
    if (stable.z[-1] - one.z[-1]) * (unstable.z[-1] - one.z[-1]) > 0:  # both on one side
        verb = "meet and vanish" if stable.z[-1] < one.z[-1] else "appear"
        if one.kind == DEGENERATE:
            return f"stability changes {where} in {article(kind)}", "stability changes"
        return f"a stable and an unstable {noun} {verb} {where} in {article(kind)}", f"{plural_of(noun)} {verb}"
    is_origin = max(np.abs(stable.z[:-1]).max(), np.abs(unstable.z[:-1]).max()) <= AT_ZERO
    subject = "the origin" if is_origin else article(noun)
    verb = f"{'loses' if stable.z[-1] < unstable.z[-1] else 'gains'} stability"
    return f"{subject} {verb} {where} in {article(kind)}", verb


def _counts(diagram: Diagram, name: str) -> str:
    """Return how many branches there are, which bifurcations at which values, and how well these are located."""
    branches = counted(len(diagram.branches), "branch")
    kinds: dict[str, list[str]] = {}
    for one in sorted(diagram.bifurcations, key=lambda one: float(one.z[-1])):
        kinds.setdefault(one.kind, []).append(_value(diagram, one))
    if not kinds:
        return f"{branches} without a bifurcation"
    parts = []
    for kind, values in kinds.items():
        shown = list(dict.fromkeys(values))
        at = joined(shown[:MOST_VALUES] + ["…"] * (len(shown) > MOST_VALUES))
        plural = plural_of(LONG[kind]).replace("doubling)", "doublings)")
        parts.append(f"{counted(len(values), LONG[kind], plural)}, at {name} = {at}")
    worst = at_most(max(one.error for one in diagram.bifurcations), 1)
    return f"{branches} with {'; '.join(parts)}, located to {worst} in {name}"


def _value(diagram: Diagram, one: Bifurcation) -> str:
    """Return the parameter at a bifurcation to 7 digits, with its error where that is worth a word."""
    p = diagram.curve.parameter(one.z)
    return with_error(p, one.error) if one.error > TOLD * max(1.0, abs(p)) else to_error(p, one.error, 7)
