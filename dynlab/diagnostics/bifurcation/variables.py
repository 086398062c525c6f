"""The variables of a bifurcation diagram, and its sentences: what changes stability, and what limits the answer."""

from collections import Counter
from typing import Any

import numpy as np

from dynlab import schema
from dynlab.diagnostics.bifurcation.branches import HOPF, NEIMARK_SACKER, Diagram
from dynlab.diagnostics.bifurcation.extended import DEGENERATE, FLIP, FOLD, PITCHFORK, TRANSCRITICAL, UNDECIDED
from dynlab.diagnostics.bifurcation.locating import BORDER_COLLISION, Bifurcation, Solution
from dynlab.diagnostics.bifurcation.orbit_diagram import UNSETTLED, Visited
from dynlab.diagnostics.bifurcation.parameters import described
from dynlab.numerics.arrays import Real
from dynlab.numerics.continuation import LEFT, LOST
from dynlab.words import article, at_most, capital, counted, joined, plural_of, to_error, with_error

BRACKETED = "bracketed where no smooth system has a root"
NO_CUBIC = "NaN where no cubic term decides what is born: of folds, transcritical and bracketed points"
NO_CYCLE = "NaN where an orbit ends on no cycle"
REASONS = {
    "branch_orbit": "NaN beyond the orbit's period",
    "bifurcation_coefficient": NO_CUBIC,
    "bifurcation_coefficient_error": NO_CUBIC,
    "bifurcation_residual": BRACKETED,
    "bifurcation_eigenvalue": BRACKETED,
    "eigenvalue_error": "inf: at a kink, where the Jacobian is that of one side",
    "cycle_period": NO_CYCLE,
    "cycle_multiplier": NO_CYCLE,
    "visited": "NaN where an orbit left the bound or was no number, or a solution has no more extrema",
}
AT_ZERO = 1e-9  # times the branches' size: a state so small is the origin
MOST_CHANGES = 3  # of stability that are listed
BEYOND = 2.0  # times the error of a bifurcation: solutions that are nearer may lie on either side of it
TOLD = 1e-8  # times max(1, |p|): an error of a parameter that is larger is written beside it
LONG = {  # kinds with the noun of a sentence
    **{kind: kind for kind in (FOLD, PITCHFORK, BORDER_COLLISION)},
    **{kind: f"{kind} bifurcation" for kind in (TRANSCRITICAL, HOPF, NEIMARK_SACKER)},
    FLIP: "flip (period doubling)",
    DEGENERATE: "degenerate point",
}


def variables(diagram: Diagram, seen: Visited | None, name: str, observed: int) -> dict[str, Any]:
    """Return all variables; `name` is the parameter's, and `observed` the coordinate of the orbits."""
    n, words = len(diagram.curve.scale), f"state {_state(diagram, observed)} at each point of the orbit"
    rows: dict[str, Any] = schema.columns(_of_branches(diagram, name) | _of_events(diagram, name, observed), n)
    rows["branch_orbit"] = ((schema.POINT, schema.PHASE), _orbits(diagram, observed), words)
    return rows | ({} if seen is None else _of_orbits(diagram, seen, observed))


def _of_branches(diagram: Diagram, name: str) -> dict[str, tuple[Any, ...]]:
    """Return by name the dimensions, type, values, words, and the unit where it is not 1, of points and branches."""
    curve, branches = diagram.curve, diagram.branches
    solutions = [one for branch in branches for one in branch.solutions]
    numbers = [number for number, branch in enumerate(branches) for _ in branch.solutions]
    what, unit = ("multiplier μ", schema.ONE) if curve.is_map else ("eigenvalue λ", schema.PER_SECOND)
    point, branch, state, mode = (schema.POINT,), (schema.BRANCH,), schema.STATE, schema.MODE
    kinds, here = [one.kind for one in solutions], "number of the bifurcation here, −1 none"
    return {
        "branch_parameter": (point, float, [curve.parameter(one.z) for one in solutions], described(name)),
        "branch_state": ((*point, state), float, [curve.state(one.z) for one in solutions], "state h"),
        "residual": (point, float, [one.residual for one in solutions], "residual ‖G‖₂"),
        "iterations": (point, int, [one.point.iterations for one in solutions], "iterations of the corrector"),
        "eigenvalue": ((*point, mode), complex, [one.eigenvalues for one in solutions], what, unit),
        "eigenvalue_error": ((*point, mode), float, [one.errors for one in solutions], f"error of the {what}", unit),
        "stable": (point, np.int8, [kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (point, int, [kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": (point, int, [kind.undecided for kind in kinds], "directions undecided"),
        "point_branch": (point, int, numbers, "branch"),
        "point_bifurcation": (point, int, [one.bifurcation for one in solutions], here),
        "branch_period": (branch, int, [one.period for one in branches], "period", schema.STEP),
        "branch_origin": (branch, int, [one.origin for one in branches], "bifurcation it leaves, −1 none"),
        "branch_ends": (branch, str, [" | ".join(one.ends) for one in branches], "where it ends"),
    }


def _of_events(diagram: Diagram, name: str, observed: int) -> dict[str, tuple[Any, ...]]:
    """Return the same of the bifurcations."""
    curve, events, at = diagram.curve, diagram.bifurcations, (schema.BIFURCATION,)
    roots, cubics = [one.refined for one in events], [one.coefficient for one in events]
    changes = {number: change for _, _, number, change in stability_changes(diagram, name)}
    told, states = [changes.get(number, "") for number in range(len(events))], [curve.state(one.z) for one in events]
    mu, residuals = ([getattr(one, key, np.nan) for one in roots] for key in ("eigenvalue", "residual"))
    cubic, errors = ([getattr(one, key, np.nan) for one in cubics] for key in ("value", "error"))
    table = {
        "kind": (at, str, [one.kind for one in events], "kind"),
        "parameter": (at, float, [curve.parameter(one.z) for one in events], name),
        "parameter_error": (at, float, [one.error for one in events], f"error of {name}"),
        "state": ((*at, schema.STATE), float, states, "state h"),
        "observed": (at, float, [state[observed] for state in states], f"state {_state(diagram, observed)}"),
        "eigenvalue": (at, complex, mu, "critical eigenvalue"),
        "period": (at, int, [one.period for one in events], "period", schema.STEP),
        "branch": (at, int, [one.branch for one in events], "branch it was found on"),
        "residual": (at, float, residuals, "residual of its system"),
        "iterations": (at, int, [one.iterations if one else 0 for one in roots], "iterations of Newton's"),
        "coefficient": (at, float, cubic, "cubic coefficient"),
        "coefficient_error": (at, float, errors, "its error"),
        "criticality": (at, str, [one.criticality if one else "" for one in cubics], "criticality"),
        "converged": (at, bool, [one is not None for one in roots], "converged"),
        "change": (at, str, told, "change of stability of fixed points"),
    }
    return {f"bifurcation_{key}": row for key, row in table.items()}


def _state(diagram: Diagram, observed: int) -> str:
    return str(diagram.curve.varied.original.system.state_names[observed])


def _orbits(diagram: Diagram, observed: int) -> Real:
    """Return one coordinate of the orbit at each solution, (point, phase), NaN beyond its period."""
    curves = [(diagram.curve.of_period(branch.period), branch) for branch in diagram.branches]
    orbits = [curve.orbit(one.z)[:, observed] for curve, branch in curves for one in branch.solutions]
    longest = max([1, *map(len, orbits)])
    padded = [np.pad(orbit, (0, longest - len(orbit)), constant_values=np.nan) for orbit in orbits]
    return np.array(padded).reshape(-1, longest)


def _of_orbits(diagram: Diagram, seen: Visited, observed: int) -> dict[str, tuple[Any, ...]]:
    what, each, is_flow = _state(diagram, observed), (schema.PARAMETER, schema.SAMPLE), not diagram.curve.is_map
    states, units = seen.states[..., observed], schema.SECOND if is_flow else schema.STEP
    return {
        "visited": ((*each, schema.ITERATION), states, f"extremum of {what}" if is_flow else f"state {what}"),
        "settled": (each, seen.settled, "1 on an attractor, 0 on none yet, −1 left the bound"),
        "cycle_period": (each, seen.period, "period of the cycle that the orbit ends on", units),
        "cycle_multiplier": (each, seen.multiplier, "largest |μ| of that cycle, but for a flow's own 1"),
    }


def verdict(
    diagram: Diagram, name: str, ends: tuple[float, float], bound: float, beyond_bound: int, orbits: Visited | None
) -> str:
    """Return one to three sentences.

    Parameters
    ----------
    diagram : Diagram
    name : str
        Name of the parameter.
    ends : tuple of float
        Ends of its range.
    bound : float
        Bound on abs(h_i).
    beyond_bound : int
        Number of fixed points beyond it that a search found, from which no branch was followed.
    orbits : Visited or None
    """
    noun = "fixed point" if diagram.curve.is_map else "equilibrium"
    over = f"{name} from {to_error(ends[0], 0.0, 7)} to {to_error(ends[1], 0.0, 7)}"
    changes = list(dict.fromkeys(text for _, text, _, _ in stability_changes(diagram, name)))
    more = len(changes) - MOST_CHANGES
    listed = changes[:MOST_CHANGES] + [f"{counted(more, 'more change')} of stability follow"] * (more > 0)
    nothing = (
        f"no change of stability was located for {over}"
        if diagram.branches
        else f"no nondegenerate {noun} up to |h_i| = {bound:g} was found for {over}"
    )
    sentences = [
        "; ".join(listed) or nothing,
        _counts(diagram, name) if diagram.branches else "",
        "; ".join(_limits(diagram, name, noun, bound, beyond_bound, orbits)),
    ]
    return ". ".join(capital(each) for each in sentences if each) + "."


def _limits(
    diagram: Diagram, name: str, noun: str, bound: float, beyond_bound: int, orbits: Visited | None
) -> list[str]:
    """Return what limits the answer, the most important first."""
    ends = Counter(end for branch in diagram.branches for end in branch.ends)
    moving = 0 if orbits is None else int((orbits.settled == UNSETTLED).any(axis=1).sum())
    table = {
        f"{counted(beyond_bound, noun)} beyond |h_i| = {bound:g} not followed (--largest-state, largest_state=)": (
            beyond_bound
        ),
        f"{counted(ends[LOST], 'end')} of branches without a way on": ends[LOST],
        f"only the first {len(diagram.branches)} branches were followed": diagram.cut_short,
        f"{counted(ends[LEFT], 'end')} of branches cut where some |h_i| exceeds {bound:g}": ends[LEFT],
        f"an orbit had not settled at {counted(moving, 'value')} of {name}": moving,
    }
    return [text for text, holds in table.items() if holds]


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
            first, second = (
                next((each for each in side if each.kind.stable >= 0 and abs(each.z[-1] - at) > apart), None)
                for side in sides
            )
            if first and second and {first.kind.stable, second.kind.stable} == {0, 1}:
                stable, unstable = (first, second) if first.kind.stable else (second, first)
                text, change = _change(diagram, event, stable, unstable, name)
                found.append((at, text, one.bifurcation, change))
    return sorted(found, key=lambda each: each[:2])


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
    """Return how many branches there are, how many bifurcations of which kinds, and how well these are located."""
    branches = counted(len(diagram.branches), "branch")
    kinds = Counter(one.kind for one in sorted(diagram.bifurcations, key=lambda one: float(one.z[-1])))
    if not kinds:
        return f"{branches} without a bifurcation"
    worst = at_most(max(one.error for one in diagram.bifurcations), 1)
    listed = joined([counted(count, LONG[kind]) for kind, count in kinds.items()])
    return f"{branches} with {listed}, located to {worst} in {name}"


def _value(diagram: Diagram, one: Bifurcation) -> str:
    """Return the parameter at a bifurcation to 7 digits, with its error where that is worth a word."""
    p = diagram.curve.parameter(one.z)
    return with_error(p, one.error) if one.error > TOLD * max(1.0, abs(p)) else to_error(p, one.error, 7)
