"""What a search for fixed points found, in one or two sentences."""

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.records import NEIGHBOURING, UNVERIFIED, Record
from dynlab.diagnostics.fixed_points.search import CLOSED_GATE, CONTINUUM, CONVERGED, OUTSIDE, SLOW, UNDECIDED

TRAPS = {OUTSIDE: "outside the state's bounds", CLOSED_GATE: "where a closed gate hides the motion"}
OTHERS = {
    CONTINUUM: ("continuum of fixed points", "continua of fixed points"),
    UNDECIDED: ("state that rounding does not tell from a fixed point", "states not told from fixed points"),
    NEIGHBOURING: ("root that fsolve leaves for a neighbouring one", "roots that fsolve leaves for neighbouring ones"),
    UNVERIFIED: ("root that fsolve does not verify", "roots that fsolve does not verify"),
    SLOW: ("slow point", "slow points"),
}
SMALLEST_DISTANCE = 1e-15  # distances below are named so: they are rounding, or nothing


def verdict(rows: list[Record], outcome: NDArray[np.str_]) -> str:
    """The sentences for these rows of the Dataset and these outcomes of the starts."""
    points = [row for row in rows if row.status == CONVERGED]
    tail = f"{int((outcome == CONVERGED).sum())} of {len(outcome)} starts converged"
    for trap, words in TRAPS.items():
        if trap in outcome:
            tail += f", {int((outcome == trap).sum())} ended {words} and count for nothing"
    found = _points(points) if points else "No isolated fixed point was found"
    sentences = [f"{found}; {tail}."]
    counts = {status: sum(row.status == status for row in rows) for status in OTHERS}
    others = [f"{count} {OTHERS[status][count > 1]}" for status, count in counts.items() if count]
    if others:
        sentences.append(f"There {'is' if sum(counts.values()) == 1 else 'are'} also {', '.join(others)}.")
    return " ".join(sentences)


def _points(points: list[Record]) -> str:
    worst = max(max(row.fsolve_distance for row in points), SMALLEST_DISTANCE)
    if len(points) == 1:
        return f"1 fixed point ({points[0].kind.name}), verified with fsolve to {worst:.0e}"
    stable, undecided = (sum(row.kind.stable == code for row in points) for code in (1, -1))
    doubtful = f" and {undecided} undecided" if undecided else ""
    return f"{len(points)} fixed points, {stable} of them stable{doubtful}, all verified with fsolve to {worst:.0e}"
