"""What a phase portrait shows, in one or two plain sentences with numbers."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.phase_plane import long_orbit
from dynlab.numerics.kinds import LINE
from dynlab.wording import agree, article, counted, joined, near_one, number, of_map

SAME_END = 1e-6  # of an equilibrium's distance from 0; of the window where an orbit comes nearer: so near it ends there
ROUNDED = 4 * float(np.finfo(np.float64).eps)  # of the larger coordinate
MANY = re.compile("an? (flip )?(line|plane) of")
NO_STEP = "unstable there at every step size"
LISTED = 3  # equilibria and ends of orbits that are described one by one; more are counted


def verdict(ds: xr.Dataset, equation: str = "") -> str:
    """Sentences on the equilibria, on the equation, and on where the orbits end, from a Dataset of `phase_plane`."""
    count = ds.sizes[schema.FIXED_POINT]
    noun = "equilibria" if "flow_kind" in ds else "fixed points"
    alone, many = (np.flatnonzero(ds["continuum"].values == flag).tolist() for flag in (0, 1))
    if count == len(many) == 1 and not _has_line(ds):
        found = f"To rounding the window holds a continuum of {noun}, through {state(ds['equilibrium'].values[0])}."
    elif count > 1 or _rests_elsewhere(ds):
        listed = [f"{_kind(ds, i)} at {state(ds['equilibrium'].values[i])}" for i in alone[:LISTED]]
        more = [f"{len(alone) - LISTED} more"] if len(alone) > LISTED else []
        one = "equilibrium" if "flow_kind" in ds else "fixed point"
        held = [f"{counted(len(alone), one, noun)}: {joined(listed + more)}"] if alone else []
        through = [state(ds["equilibrium"].values[i]) for i in many[:LISTED]]
        held += [f"at least 1 continuum of {noun}, through {joined(through)}"] if many else []
        found = f"The window holds {'; and '.join(held)}."
    elif count == 1:
        found = _one(ds)
    else:
        found = f"The window holds no {noun}."
    first, _, rest = found.partition(". ")
    of = f"The {'flow' if 'flow_kind' in ds else 'map'} is {equation}." if equation else ""
    return " ".join(filter(None, [f"{first.removesuffix('.')}.", of, rest, _ends(ds)]))


def changes(portraits: Sequence[xr.Dataset], name: str, values: Sequence[float]) -> str:
    """Between which portraits at values of a parameter stability changes, or how many equilibria there are.

    Parameters
    ----------
    portraits : sequence of Dataset
        Of `phase_plane`.
    name : str
        The parameter's.
    values : sequence of float
    """
    told = f"{name} from {number(values[0])} to {number(values[-1])}, {counted(len(values), 'frame')}"
    stable = [ds["map_stable" if "map_stable" in ds else "flow_stable"].values for ds in portraits]
    found = []
    for frame, (one, other) in enumerate(itertools.pairwise(stable), 1):
        if sorted(one.tolist()) != sorted(other.tolist()):
            where = _between(portraits[frame - 1], name, *values[frame - 1 : frame + 1])
            change = _change(portraits[frame - 1], one, other)
            found.append(f"{change} between frames {frame:,} and {frame + 1:,} ({where})")
    if not found:
        return f"{told}: in all of them {_how_many(portraits[0], stable[0])}."
    more = [f"{len(found) - LISTED} more changes follow"] if len(found) > LISTED else []
    return f"{told}: {joined(found[:LISTED] + more)}."


def _between(ds: xr.Dataset, name: str, low: float, high: float) -> str:
    """The value at which something changes: the critical step where that is the parameter, else both sides of it."""
    if name == "step_size" and "critical_step" in ds and ds["critical_step"].size == 1:
        critical = float(ds["critical_step"].values[0])
        if min(low, high) <= critical <= max(low, high):
            return f"ε = {number(critical, 3)}"
    return f"{name} {number(low)} to {number(high)}"


def _change(ds: xr.Dataset, one: NDArray[np.int8], other: NDArray[np.int8]) -> str:
    what = "the map" if "flow_kind" not in ds else "the flow" if "map_kind" not in ds else "Euler's map"
    if len(one) == len(other) == 1:
        verbs = {(1, 0): f"{what} loses its stability", (0, 1): f"{what} becomes stable"}
        words = {1: "stable", 0: "unstable", -1: "undecided"}
        usual = f"{what} goes from {words[int(one[0])]} to {words[int(other[0])]}"
        return verbs.get((int(one[0]), int(other[0])), usual)
    noun = "equilibria" if what == "the flow" else "fixed points"
    if len(one) != len(other):
        return f"the number of {noun} in the window goes from {len(one)} to {len(other)}"
    return f"the number of stable {noun} goes from {int((one == 1).sum())} to {int((other == 1).sum())} of {len(one)}"


def _how_many(ds: xr.Dataset, stable: NDArray[np.int8]) -> str:
    count, noun = len(stable), "fixed point" if "map_stable" in ds else "equilibrium"
    if count == 1:
        how = {1: "stable", 0: "unstable", -1: "of undecided stability"}[int(stable[0])]
        return f"the only {noun} of the window is {how}"
    return f"the window holds {counted(count, noun)}, {int((stable == 1).sum()) or 'none'} of them stable"


def state(values: NDArray[np.float64]) -> str:
    """A state as a pair, in which a coordinate is 0 that is rounding beside the other."""
    told = np.where(np.abs(values) <= ROUNDED * np.abs(values).max(), 0.0, values)
    return f"({number(told[0])}, {number(told[1])})"


def _one(ds: xr.Dataset) -> str:
    """The sentence on the only equilibrium, with the critical step where it is one of a flow."""
    where = state(ds["equilibrium"].values[0])
    if "flow_kind" not in ds:
        kind = _kind(ds, 0).removeprefix("a point ")
        return f"{_owned('map', 'fixed point', kind)}: at {where} it has {_multipliers(ds, 0)}."
    flow, values = str(ds["flow_kind"].values[0]), _values(ds["flow_eigenvalue"].values[0], "eigenvalue")
    if "map_kind" not in ds:
        found = _owned("flow", "equilibrium", _article(flow)) + _along(ds)
        return f"{found}: at {where} it has {values} per second{_beside_line(ds)}.{_of_euler(ds)}"
    step = f"ε = {number(schema.settings(ds)['step_size'])}"
    euler = str(ds["map_kind"].values[0])
    other = _article(of_map(euler), "fixed point")
    same = "has one" if of_map(euler) == flow else other
    pair = f"the flow has {_article(flow)} with {values} per second, Euler's map {same} with {_multipliers(ds, 0)}"
    at = f"At {where} {pair}"
    if along := _along(ds):
        lines = f"The flow has {_article(flow)}{along}{_beside_line(ds)}"
        here = f"{where} is one of them, with {values} per second and, of Euler's map, {_multipliers(ds, 0)}"
        return f"{lines}. Euler's map at {step} has {other}{_critical(ds)}. {here}."
    stable = int(ds["flow_stable"].values[0]), int(ds["map_stable"].values[0])
    noun = flow.split(" ", 1)[-1]
    if flow.startswith("stable") and stable == (1, 0):
        return f"The flow's {noun} is stable, Euler's map at {step} is not{_critical(ds)}. {at}."
    if flow.startswith("stable") and stable == (1, 1):
        return f"The flow's {noun} is stable, and so is that of Euler's map at {step}{_critical(ds)}. {at}."
    if flow.startswith("unstable") and stable == (0, 0):
        return f"The flow's {noun} is unstable, and so is that of Euler's map at {step}. {at}."
    if same == "has one":
        return f"The flow has {_article(flow)}, and so has Euler's map at {step}. {at}."
    return f"The flow has {_article(flow)}, Euler's map at {step} has {other}{_critical(ds)}. {at}."


def _has_line(ds: xr.Dataset) -> bool:
    """Whether the first point is known for one of a line or a plane of them."""
    names = [name for name in ("flow_kind", "map_kind") if name in ds]
    return MANY.match(_article(str(ds[names[0]].values[0]))) is not None


def _owned(what: str, point: str, kind: str) -> str:
    """That a flow or a map has a kind: a line or a plane of points is no kind of one point."""
    undecided = kind.removeprefix(f"an {point} ").removeprefix(f"a {point} ")
    if undecided != kind:
        return f"The {what}'s {point} is {undecided}"
    return f"The {what} has {kind}" if MANY.match(kind) else f"The {what}'s {point} is {kind}"


def _along(ds: xr.Dataset) -> str:
    """Where a flow's line of equilibria points; nothing of other kinds, and of a line that is not decided."""
    flow = str(ds["flow_kind"].values[0])
    return f" along {state(ds['line_direction'].values[0])}" if flow == LINE else ""


def _beside_line(ds: xr.Dataset) -> str:
    """What states do beside a line of equilibria: the eigenvalue along it is 0, the other tells; of a shear it is 0."""
    if str(ds["flow_kind"].values[0]) != LINE:
        return ""
    across = float(ds["flow_eigenvalue"].values[0].real.sum())
    what = "slide along it" if across == 0 else "move away from it" if across > 0 else "approach it"
    return f", and states beside the line {what}"


def _kind(ds: xr.Dataset, i: int) -> str:
    """The equilibrium's kind for the flow, and for the map where that differs."""
    kinds = [str(ds[name].values[i]) for name in ("flow_kind", "map_kind") if name in ds]
    if "flow_kind" not in ds:
        return _article(of_map(kinds[0]), "point")
    if len(set(kinds)) == 1:
        return _article(kinds[0])
    return f"{_article(kinds[0])} ({_article(of_map(kinds[1]), 'fixed point')} of Euler's map)"


def _critical(ds: xr.Dataset) -> str:
    value = float(ds["critical_step"].values[0])
    if value == 0:  # of what the flow itself moves away from, no step is asked to be stable
        return ", and no step is small enough to make it stable" if int(ds["flow_stable"].values[0]) else ""
    return f", the critical step is {number(value, 3)}" if np.isfinite(value) else ""


def _of_euler(ds: xr.Dataset) -> str:
    """Up to which step Euler's method is stable at what a flow does not move away from."""
    value, leaves = float(ds["critical_step"].values[0]), int(ds["flow_stable"].values[0]) == 0
    if not np.isfinite(value) or (value == 0 and leaves):
        return ""
    return f" Euler's method is {f'stable there up to a step of {number(value, 3)}' if value else NO_STEP}."


def _multipliers(ds: xr.Dataset, i: int) -> str:
    values = ds["map_eigenvalue"].values[i]
    return f"multipliers of modulus {near_one(abs(values[0]), 5)}" if values[0].imag else _values(values, "multiplier")


def _values(values: NDArray[np.complex128], noun: str) -> str:
    """Both eigenvalues: a conjugate pair as a ± bi, a double one once."""
    first, second = values
    if first.imag:
        real = "" if first.real == 0 else f"{number(first.real)} "
        return f"{noun}s {real}±{' ' * bool(real)}{number(abs(first.imag))}i"
    if first == second:
        return f"the double {noun} {number(first.real)}"
    told = near_one if noun == "multiplier" else number
    return f"{noun}s {told(first.real)} and {told(second.real)}"


def _article(kind: str, noun: str = "equilibrium") -> str:
    """The kind with its article, as a part of a sentence; `noun` stands for one that is undecided."""
    if kind.startswith("linear "):
        return f"{_article(noun)} of undecided kind (linearly {_article(kind[len('linear ') :].partition(',')[0])})"
    if kind.startswith("undecided"):
        reason = kind[len("undecided, ") :]
        near = reason.removeprefix("near ")
        return f"{_article(noun)} of undecided kind ({reason if near == reason else f'near {_article(near)}'})"
    return article(kind)


def _ends(ds: xr.Dataset) -> str:
    """The sentence on where the orbits of a map end."""
    if "outcome" not in ds:
        return ""
    counts, total = Counter(ds["outcome"].values.tolist()).most_common(), ds.sizes[schema.SAMPLE]
    after = f"After {int(ds[schema.ITERATION].values[-1]):,} steps"
    if len(counts) == 1:
        return f"{after} {'all ' * (total > 1)}{counted(total, 'orbit')} {agree(total)} {_ending(ds, counts[0][0])}."
    parts = [f"{count} {agree(count)} {_ending(ds, name)}" for name, count in counts]
    return f"{after}, of {total} orbits {joined(parts)}."


def _rests_elsewhere(ds: xr.Dataset) -> bool:
    """Whether an orbit rests at what the window does not hold."""
    if "outcome" not in ds or not ds.sizes[schema.FIXED_POINT] or ds["continuum"].values.any():
        return False
    resting = ds["long_orbit"].values[ds["outcome"].values == long_orbit.FIXED_POINT]
    at = [_end(ds, orbit) for orbit in resting]
    return any(long_orbit.length(ds["equilibrium"].values - one).min() > SAME_END * np.abs(one).max() for one in at)


def _end(ds: xr.Dataset, orbit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where an orbit (iteration, 2) rests: at the equilibrium that it nears, or at its last state, without rounding."""
    last, size = orbit[-1], float(np.abs(orbit[-1]).max()) or 1.0
    for one in ds["equilibrium"].values:
        before, gap = long_orbit.length(orbit[[0, -1]] - one)
        comes = gap <= SAME_END * schema.settings(ds)["extent"] and gap <= long_orbit.NEARER * before
        if comes or gap <= SAME_END * long_orbit.length(one):
            return np.asarray(one)
    return np.asarray(size * np.round(last / size, 6))


def _ending(ds: xr.Dataset, name: str) -> str:
    states = ds["long_orbit"].values[ds["outcome"].values == name]
    if name == long_orbit.FIXED_POINT:
        ends = sorted({state(_end(ds, orbit)) for orbit in states})
        return f"at rest at {joined(ends)}" if len(ends) <= LISTED else "at rest"
    if name == long_orbit.PERIODIC:
        unit = schema.settings(ds)["extent"]
        periods = sorted({long_orbit.period(orbit / unit) for orbit in states})
        orbits = "a periodic orbit" if len(periods) == 1 else "periodic orbits"
        if len(periods) == 1 < len(states) and _apart(states[:, -periods[0] :], SAME_END * unit):
            orbits = "periodic orbits of their own,"
        return f"on {orbits} of {joined([str(period) for period in periods])} steps"
    if name == long_orbit.CLOSED_CURVE:
        lengths = _lengths(ds, states)
        beside = sorted((float(each.min()), float(each.max())) for each in lengths)
        own = all(one[1] < other[0] for one, other in itertools.pairwise(beside)) and len(beside) > 1
        curve = "invariant closed curves of their own" if own else "an invariant closed curve"
        return f"on {curve}, at a distance of {_distances(ds, states, 'its middle')}"
    if name in (long_orbit.OUTWARD, long_orbit.INWARD):
        return f"{name}, at a distance of {_distances(ds, states[:, -1:], '0')}"
    return "still moving, on no point, cycle or closed curve" if name == long_orbit.UNSETTLED else name


def _apart(cycles: NDArray[np.float64], same: float) -> bool:
    """Whether none of the first states of cycles (sample, iteration, 2) is one of another's."""
    return all(long_orbit.length(other - one[0]).min() > same for one, other in itertools.permutations(cycles, 2))


def _lengths(ds: xr.Dataset, states: NDArray[np.float64], middle: bool = True) -> list[NDArray[np.float64]]:
    """Distances of orbits from the equilibrium nearest to each; where there is none from the middle of each, or 0."""
    equilibria, found = ds["equilibrium"].values, []
    for orbit in states:
        centre = orbit.mean(axis=0)
        if len(equilibria):
            centre = equilibria[np.argmin(long_orbit.length(equilibria - centre))]
        found.append(long_orbit.length(orbit - (centre if middle or len(equilibria) else 0)))
    return found


def _distances(ds: xr.Dataset, states: NDArray[np.float64], else_from: str) -> str:
    """Nearest and farthest distance of orbits from the equilibrium nearest to each, or from the middle of each or 0."""
    lengths = _lengths(ds, states, else_from == "its middle")
    near, far = (f"{limit:#.3g}".rstrip(".").replace("-", "−") for limit in (np.min(lengths), np.max(lengths)))
    distance = near if near == far else f"{near} to {far}"
    if not ds.sizes[schema.FIXED_POINT]:
        return f"{distance} from {else_from}"
    if _has_line(ds):
        return f"{distance} from {state(ds['equilibrium'].values[0])}"
    return f"{distance} from {'the equilibrium' if 'flow_kind' in ds else 'the fixed point'}"
