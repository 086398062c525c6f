"""The sentences on a bifurcation diagram: what changes stability, all bifurcations, and what limits the answer."""

from collections import Counter

import numpy as np

from dynlab.diagnostics.bifurcation.branches import CONTINUUM, HOPF, OF_ORBITS, Diagram
from dynlab.diagnostics.bifurcation.extended import FOLD
from dynlab.diagnostics.bifurcation.locating import BORDER_COLLISION, Bifurcation, Solution
from dynlab.diagnostics.bifurcation.normal_form import DEGENERATE, UNDECIDED
from dynlab.diagnostics.bifurcation.orbit_diagram import LEFT as ORBIT_LEFT
from dynlab.diagnostics.bifurcation.orbit_diagram import UNSETTLED, Visited
from dynlab.numerics.continuation import LEFT, LOST
from dynlab.words import article, at_most, capital, counted, joined, number, plural_of, to_error, with_error

AT_ZERO = 1e-9  # times the branches' size: a state so small is the origin
MOST_CHANGES, MOST_VALUES = 3, 4  # changes of stability, and values of each kind, that are listed
BEYOND = 2.0  # times the error of a bifurcation: solutions that are nearer may lie on either side of it
TOLD = 1e-8  # times max(1, |p|): an error of a parameter that is larger is written beside it
LONG = {  # names with the noun that sentences need
    "Hopf": "Hopf bifurcation",
    "Neimark–Sacker": "Neimark–Sacker bifurcation",
    "transcritical": "transcritical bifurcation",
    "flip": "flip (period doubling)",
    DEGENERATE: "degenerate point",
    CONTINUUM: "continuum of fixed points",
    OF_ORBITS: "continuum of orbits of twice the period",
}
KINDS = (
    FOLD,
    "flip",
    "pitchfork",
    "transcritical",
    HOPF,
    "Neimark–Sacker",
    BORDER_COLLISION,
    DEGENERATE,
    CONTINUUM,
    OF_ORBITS,
)


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
    over = f"{name} from {_number(ends[0])} to {_number(ends[1])}"
    changes = _changes(diagram, name, noun)
    unsure = _lost(diagram) or any(one.kind == DEGENERATE for one in diagram.bifurcations)
    if not diagram.branches:
        sentences = [f"No isolated {noun} up to |h_i| = {bound:g} was found for {over}"]
    elif changes:
        more = len(changes) - MOST_CHANGES
        listed = changes[:MOST_CHANGES] + [f"{counted(more, 'more change')} of stability follow"] * (more > 0)
        sentences = ["; ".join([listed[0], *(f"{one[:1].lower()}{one[1:]}" for one in listed[1:])])]
    else:
        sentences = [f"No change of stability was {'located' if unsure else 'found'} for {over}"]
    if diagram.branches:
        sentences.append(_counts(diagram, name) + _cycles(diagram, orbits, name))
    limits = _limits(diagram, name, noun, bound, beyond_bound, orbits)
    return ". ".join(sentences + ["; ".join(limits)] * bool(limits)) + "."


def _limits(
    diagram: Diagram, name: str, noun: str, bound: float, beyond_bound: int, orbits: Visited | None
) -> list[str]:
    """Return what limits the answer, the most important first."""
    ends = [end for branch in diagram.branches for end in branch.ends]
    cut, lost = ends.count(LEFT), _lost(diagram)
    kinked = sum(
        bool(np.isinf(branch.solutions[len(branch.solutions) // 2].errors).any()) for branch in diagram.branches
    )
    orbits_left = 0 if orbits is None else int((orbits.settled == ORBIT_LEFT).all(axis=1).sum())
    moving = 0 if orbits is None else int((orbits.settled == UNSETTLED).any(axis=1).sum())
    table = {
        f"{counted(beyond_bound, noun)} beyond |h_i| = {bound:g} not followed (--largest-state, largest_state=)": (
            beyond_bound
        ),
        f"branches end without a way on at {name} = {joined(lost[:MOST_VALUES])}": lost,
        f"only the first {len(diagram.branches)} branches were followed": diagram.cut_short,
        f"{counted(kinked, 'branch')} at a kink, where no one Jacobian decides stability": kinked,
        f"{counted(cut, 'end')} of branches cut where some |h_i| exceeds {bound:g}": cut,
        f"every orbit left |h_i| ≤ {bound:g} at {counted(orbits_left, 'value')} of {name}": orbits_left,
        f"an orbit had not settled at {counted(moving, 'value')} of {name}": moving,
    }
    listed = [text for text, holds in table.items() if holds]
    return [capital(listed[0]), *listed[1:]] if listed else []


def _lost(diagram: Diagram) -> list[str]:
    """Return the parameters at which branches end without a way on, in order."""
    ends = []
    for branch in diagram.branches:
        sides = zip(branch.ends, (0, -1), strict=True)
        ends += [diagram.curve.parameter(branch.solutions[side].z) for end, side in sides if end == LOST]
    return list(dict.fromkeys(number(value) for value in sorted(ends)))


def _changes(diagram: Diagram, name: str, noun: str) -> list[str]:
    """Return where a stable fixed point becomes unstable or the reverse, in the order of the parameter."""
    found = []
    for branch in diagram.branches:
        for index, one in enumerate(branch.solutions):
            if one.bifurcation < 0 or branch.period > 1:
                continue
            apart = BEYOND * diagram.bifurcations[one.bifurcation].error / diagram.curve.width
            sides = [branch.solutions[:index][::-1], branch.solutions[index + 1 :]]
            before, after = (_decided(side, float(one.z[-1]), apart) for side in sides)
            if before is not None and after is not None and {before.kind.stable, after.kind.stable} == {0, 1}:
                stable, unstable = (before, after) if before.kind.stable == 1 else (after, before)
                text = _change(diagram, diagram.bifurcations[one.bifurcation], stable, unstable, name, noun)
                found.append((float(one.z[-1]), text))
    return [_several(text, count, noun) for text, count in Counter(text for _, text in sorted(found)).items()]


def _decided(side: list[Solution], at: float, apart: float) -> Solution | None:
    """Return the nearest decided solution of a side, farther from `at` in the parameter than `apart` if any is."""
    decided = [one for one in side if one.kind.stable >= 0]
    return next((one for one in decided if abs(one.z[-1] - at) > apart), decided[0] if decided else None)


def _change(diagram: Diagram, one: Bifurcation, stable: Solution, unstable: Solution, name: str, noun: str) -> str:
    at = f"at {name} = {_value(diagram, one)}"
    kind = LONG.get(one.kind, one.kind)
    turns = (stable.z[-1] - one.z[-1]) * (unstable.z[-1] - one.z[-1]) > 0  # at a kink, too
    if one.kind == DEGENERATE and turns:
        return f"Stability changes {at} in {article(kind)}"
    if one.kind == FOLD or turns:
        verb = "meet and vanish" if stable.z[-1] < one.z[-1] else "appear"
        return f"A stable and an unstable {noun} {verb} {at} in {article(kind)}"
    is_origin = max(np.abs(stable.z[:-1]).max(), np.abs(unstable.z[:-1]).max()) <= AT_ZERO
    subject = "The origin" if is_origin else capital(article(noun))
    verb = "loses" if stable.z[-1] < unstable.z[-1] else "gains"
    details = _details(one)
    criticality = f"{one.coefficient.criticality} " if one.coefficient else ""
    criticality = "" if criticality.startswith(UNDECIDED) else criticality
    how = f" ({'; '.join(details)})" if details else ""
    return f"{subject} {verb} stability {at} in {article(criticality + kind)}{how}"


def _details(one: Bifurcation) -> list[str]:
    """Return how a pair turns, and whether the criticality is undecided."""
    mu, found = one.refined.eigenvalue if one.refined else 0.0, []
    if np.imag(mu):
        turn = f"eigenvalues ±{abs(np.imag(mu)):.4g}i per second"
        found.append(turn if one.kind == HOPF else f"multipliers e^(±{abs(np.angle(mu)):.4g}i)")
    if one.coefficient and one.coefficient.criticality == UNDECIDED:
        found.append("undecided whether supercritical or subcritical")
    return found


def _several(text: str, count: int, noun: str) -> str:
    """Return the same of several, such as two that mirror each other."""
    if count == 1:
        return text
    text = text.replace(f"{capital(article(noun))} ", f"{count} {plural_of(noun)} ", 1)
    text = text.replace(" loses ", " lose ", 1).replace(" gains ", " gain ", 1).replace(" in a", ", each in a", 1)
    return text.replace("A stable and an unstable", f"{count} stable and {count} unstable", 1)


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
        at = ", ".join(shown[:MOST_VALUES]) + (", …" if len(shown) > MOST_VALUES else "")
        parts.append(f"{counted(len(values), LONG.get(kind, kind))} (at {at})")
    worst = at_most(max(one.error for one in diagram.bifurcations), 1)
    return f"{branches} with {joined(parts)}, located to {worst} in {name}"


def _cycles(diagram: Diagram, orbits: Visited | None, name: str) -> str:
    """Return at how many values orbits of a flow end on a limit cycle, and its periods."""
    periods = np.zeros((0, 1)) if orbits is None or diagram.curve.is_map else orbits.period
    known, values = periods[np.isfinite(periods)], int(np.isfinite(periods).any(axis=1).sum())
    if not values:
        return ""
    span = " to ".join(dict.fromkeys(number(each) for each in (known.min(), known.max())))
    return f", and limit cycles of period {span} s at {counted(values, 'value')} of {name}"


def _number(value: float, error: float = 0.0) -> str:
    """Return a number to 7 digits, 10 where those make it look rounder than it is, and none below its error."""
    return to_error(value, error, 10 if number(value, 7) == number(value, 6) else 7)


def _value(diagram: Diagram, one: Bifurcation) -> str:
    """Return the parameter at a bifurcation, with its error where that is worth a word."""
    p = diagram.curve.parameter(one.z)
    return with_error(p, one.error) if one.error > TOLD * max(1.0, abs(p)) else _number(p, one.error)
