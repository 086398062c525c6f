"""What all starts have come to: what is at rest or repeats first, then families, and what moves by following it."""

import numpy as np

from dynlab.diagnostics.basins.attractor import Attractor
from dynlab.diagnostics.basins.ends import Ends, ends
from dynlab.diagnostics.basins.families import family
from dynlab.diagnostics.basins.known import OUTWARD, UNDECIDED, Known
from dynlab.diagnostics.basins.motion import DRIFTS
from dynlab.diagnostics.basins.moving import FOLLOWED, MOST_MOVING, moving
from dynlab.diagnostics.basins.outward import bend, velocities, ways
from dynlab.diagnostics.basins.settled import MOST_GROUPS, PASSES, settled
from dynlab.numerics.arrays import Real
from dynlab.systems.held import Held

# Why a start is undecided.
LEFT_OUT = "following orbits of a network this large is left out (--follow, in Python follow=True, brings it back)"
NOT_FOLLOWED = (
    f"they still move, and are near none of the {MOST_MOVING} orbits that are followed for longer; a larger --steps, "
    f"in Python steps=, may leave fewer of these"
)
BENDS = "they move outward, but their direction or speed changes farther out"


def recognised(
    held: Held, found: Ends, largest_state: float, max_memory: float, seed: int, follow: bool = True
) -> Known:
    """The attractors, and which start ends on which; what neither rests nor repeats by following it, if so asked."""
    count = len(found.states)
    none = np.full_like(found.states, np.nan)
    known = Known(held, [], np.full(count, UNDECIDED), np.full(count, "", dtype=object), none)
    states, every = found.states.copy(), np.arange(count)
    settled(held, found, every, known, seed)
    _outward(held, states, known)
    _as_a_family(held, states, known, seed)
    if follow:
        moving(held, states, known, largest_state, seed)
        left = known.left()
        if len(left):  # what has not yet come near is given more time, once
            later = ends(held, states[left], FOLLOWED, largest_state, max_memory)
            states[left] = later.states
            settled(held, later, left, known, seed)
            _outward(held, states, known)
            moving(held, states, known, largest_state, seed)
    many = f"they end at more than the {MOST_GROUPS * PASSES} places that are looked at"
    reason = many if len(known.attractors) >= MOST_GROUPS * PASSES else NOT_FOLLOWED
    left = np.flatnonzero((known.assigned == UNDECIDED) & np.isin(known.reasons, ("", DRIFTS)))
    known.reasons[left[bend(held, states[left])]] = BENDS
    known.reasons[known.left()] = reason if follow else LEFT_OUT
    away = np.flatnonzero(known.assigned == OUTWARD)
    known.assigned[away] = OUTWARD - ways(known.velocities[away])
    return known


def _outward(held: Held, states: Real, known: Known) -> None:
    """Say of those starts whose orbits run away that they do."""
    left = known.left()
    found = velocities(held, states[left])
    runs = ~np.isnan(found).any(axis=1)
    known.assigned[left[runs]] = OUTWARD
    known.velocities[left[runs]] = np.asarray(held.unit) * found[runs]


def _as_a_family(held: Held, states: Real, known: Known, seed: int) -> None:
    """Make one family of the starts that move on, and of those on points and cycles that nothing is attracted to."""
    neutral = [number for number, one in enumerate(known.attractors) if one.stable < 0]
    if not len(known.left()) and all(known.attractors[number].period == 1 for number in neutral):
        return
    members = np.sort(np.concatenate([known.left(), np.flatnonzero(np.isin(known.assigned, neutral))]))
    found = family(held, states[members], seed)
    if found is not None:
        members = members[found.members]
        orbits = states[members]
        known.assigned[members] = len(known.attractors)
        known.attractors.append(Attractor(found.kind, 0, orbits[0], orbits, -1, np.nan, found.exponent, found.error))
