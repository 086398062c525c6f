"""The sentences of a phase portrait: its equilibria, and where its orbits end."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.phase_plane.long_orbits import (
    CHAOTIC,
    CLOSED_CURVE,
    FIXED_POINT,
    GONE,
    INWARD,
    OUTWARD,
    PERIODIC,
    QUASIPERIODIC,
    UNSETTLED,
)
from dynlab.numerics.kinds import LINE
from dynlab.wording import agree, article, counted, joined, near_one, number, of_map

ROUNDED = 4 * float(np.finfo(np.float64).eps)  # of the larger coordinate
LISTED = 3  # equilibria that are described one by one; more are counted
NEAR = 1e-6  # of the window: an orbit at rest is at an equilibrium that is so near
# What is told of the only equilibrium, by the first word of its flow's kind, and by whether it is stable for the flow
# and for Euler's map.
PAIRS = {
    ("stable", 1, 0): "The flow's {noun} is stable, Euler's map at {step} is not{critical}",
    ("stable", 1, 1): "The flow's {noun} is stable, and so is that of Euler's map at {step}{critical}",
    ("unstable", 0, 0): "The flow's {noun} is unstable, and so is that of Euler's map at {step}",
}
OTHERS = "The flow has {flow}, Euler's map at {step} has {map}{critical}"
ENDINGS = {
    PERIODIC: "on {a cycle} of {periods} steps",
    CLOSED_CURVE: "on an invariant closed curve, at a distance of {distances}",
    CHAOTIC: "on a chaotic attractor",
    QUASIPERIODIC: "on a quasiperiodic attractor",
    OUTWARD: "still moving outward, at a distance of {distances}",
    INWARD: "still moving inward, at a distance of {distances}",
    GONE: "beyond every bound",
    UNSETTLED: "undecided",
}


def verdict(ds: xr.Dataset, equation: str = "") -> str:
    """Return sentences on the equilibria, on the equation, and on where the orbits end, from a portrait's Dataset."""
    first = _one(ds) if ds.sizes[schema.FIXED_POINT] == 1 and not ds["continuum"].values.any() else _several(ds)
    of = f"The {'flow' if 'flow_kind' in ds else 'map'} is {equation}." if equation else ""
    head, _, rest = first.partition(". ")
    return " ".join(filter(None, [f"{head.removesuffix('.')}.", of, rest, _ends(ds)]))


def changes(portraits: Sequence[xr.Dataset], name: str, values: Sequence[float]) -> str:
    """Return between which portraits at values of a parameter stability changes, or the number of equilibria.

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
    more = [f"{len(found) - LISTED} more changes follow"] if len(found) > LISTED else []
    return f"{told}: {joined(found[:LISTED] + more) or 'no stability changes'}."


def _between(ds: xr.Dataset, name: str, low: float, high: float) -> str:
    """The value at which something changes: the critical step where that is the parameter, else both sides of it."""
    critical = ds["critical_step"].values if "critical_step" in ds else np.empty(0)
    if name == "step_size" and critical.size == 1 and min(low, high) <= critical[0] <= max(low, high):
        return f"ε = {number(float(critical[0]), 3)}"
    return f"{name} {number(low)} to {number(high)}"


def _change(ds: xr.Dataset, one: NDArray[np.int8], other: NDArray[np.int8]) -> str:
    what = "the map" if "flow_kind" not in ds else "the flow" if "map_kind" not in ds else "Euler's map"
    noun = "equilibria" if what == "the flow" else "fixed points"
    if len(one) != len(other):
        return f"the number of {noun} in the window goes from {len(one)} to {len(other)}"
    if len(one) > 1:
        return f"the number of stable {noun} goes from {int((one == 1).sum())} to {int((other == 1).sum())}"
    verbs = {(1, 0): f"{what} loses its stability", (0, 1): f"{what} becomes stable"}
    return verbs.get((int(one[0]), int(other[0])), f"the stability of {what} is undecided on one side")


def state(values: NDArray[np.float64]) -> str:
    """Return a state as a pair, in which a coordinate is 0 that is rounding beside the other."""
    told = np.where(np.abs(values) <= ROUNDED * np.abs(values).max(), 0.0, values)
    return f"({number(told[0])}, {number(told[1])})"


def _several(ds: xr.Dataset) -> str:
    """The sentence on none or several equilibria, or on a continuum of them."""
    noun, one = ("equilibria", "equilibrium") if "flow_kind" in ds else ("fixed points", "fixed point")
    alone, many = (np.flatnonzero(ds["continuum"].values == flag).tolist() for flag in (0, 1))
    if not alone and not many:
        return f"The window holds no {noun}."
    listed = [f"{_kind(ds, i)} at {state(ds['equilibrium'].values[i])}" for i in alone[:LISTED]]
    listed += [f"{len(alone) - LISTED} more"] if len(alone) > LISTED else []
    through = joined([state(ds["equilibrium"].values[i]) for i in many[:LISTED]])
    held = [f"{counted(len(alone), one, noun)}: {joined(listed)}"] if alone else []
    held += [f"a continuum of {noun}, through {through}"] if many else []
    return f"The window holds {'; and '.join(held)}."


def _one(ds: xr.Dataset) -> str:
    """The sentences on the only equilibrium, with the critical step where it is one of a flow."""
    where = state(ds["equilibrium"].values[0])
    if "flow_kind" not in ds:
        return f"The map has {_kind(ds, 0)}: at {where} it has {_multipliers(ds)}."
    flow, values = str(ds["flow_kind"].values[0]), _values(ds["flow_eigenvalue"].values[0], "eigenvalue")
    along = f" along {state(ds['line_direction'].values[0])}" if flow == LINE else ""
    if "map_kind" not in ds:
        return f"The flow has {_article(flow)}{along}: at {where} it has {values} per second.{_of_euler(ds)}"
    other = _article(of_map(str(ds["map_kind"].values[0])), "fixed point")
    stable = int(ds["flow_stable"].values[0]), int(ds["map_stable"].values[0])
    words = {
        "noun": flow.split(" ", 1)[-1],
        "step": f"ε = {number(schema.settings(ds)['step_size'])}",
        "critical": _critical(ds),
        "flow": f"{_article(flow)}{along}",
        "map": other,
    }
    said = PAIRS.get((flow.partition(" ")[0], *stable), OTHERS).format(**words)
    return f"{said}. At {where} the flow has {values} per second, Euler's map {_multipliers(ds)}."


def _kind(ds: xr.Dataset, i: int) -> str:
    """The equilibrium's kind for the flow, and for the map where that differs."""
    if "flow_kind" not in ds:
        return _article(of_map(str(ds["map_kind"].values[i])), "fixed point")
    flow = str(ds["flow_kind"].values[i])
    map = str(ds["map_kind"].values[i]) if "map_kind" in ds else flow
    return _article(flow) + (f" ({_article(of_map(map), 'fixed point')} of Euler's map)" if map != flow else "")


def _critical(ds: xr.Dataset) -> str:
    value, leaves = float(ds["critical_step"].values[0]), int(ds["flow_stable"].values[0]) == 0
    if value == 0:  # of what the flow itself moves away from, no step is asked to be stable
        return "" if leaves else ", and no step is small enough to make it stable"
    return f", the critical step is {number(value, 3)}" if np.isfinite(value) else ""


def _of_euler(ds: xr.Dataset) -> str:
    """Up to which step Euler's method is stable at what a flow does not move away from."""
    value, leaves = float(ds["critical_step"].values[0]), int(ds["flow_stable"].values[0]) == 0
    if not np.isfinite(value) or (value == 0 and leaves):
        return ""
    up_to = f"stable there up to a step of {number(value, 3)}" if value else "unstable there at every step size"
    return f" Euler's method is {up_to}."


def _multipliers(ds: xr.Dataset) -> str:
    values = ds["map_eigenvalue"].values[0]
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
    """The kind with its article; `noun` stands for one that is undecided."""
    if not kind.startswith(("linear ", "undecided")):
        return article(kind)
    near = kind.removeprefix("linear ").removeprefix("undecided, ").removesuffix(", undecided").removeprefix("near ")
    return f"{article(noun)} of undecided kind ({'linearly' if kind.startswith('linear') else 'near'} {article(near)})"


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


def _ending(ds: xr.Dataset, name: str) -> str:
    """Where the orbits with one outcome are."""
    here = ds["outcome"].values == name
    states, equilibria = ds["long_orbit"].values[here], ds["equilibrium"].values
    if name == FIXED_POINT:
        ends = sorted({state(_rest(ds, orbit[-1])) for orbit in states})
        return f"at rest at {joined(ends)}" if len(ends) <= LISTED else "at rest"
    periods = sorted({int(each) for each in ds["orbit_period"].values[here]})
    centres = [np.zeros(2)] if not len(equilibria) else equilibria
    away = [min((np.hypot(*(orbit - one).T) for one in centres), key=np.mean) for orbit in states]
    last = [each if name == CLOSED_CURVE else each[-1:] for each in away]
    near, far = (f"{limit:#.3g}".rstrip(".").replace("-", "−") for limit in (np.min(last), np.max(last)))
    point = "0" if not len(equilibria) else "the equilibrium" if "flow_kind" in ds else "the fixed point"
    words = {
        "a cycle": "a periodic orbit" if len(periods) == 1 else "periodic orbits",
        "periods": joined([str(period) for period in periods]),
        "distances": f"{near if near == far else f'{near} to {far}'} from {point}",
    }
    return ENDINGS[name].format(**words)


def _rest(ds: xr.Dataset, last: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where an orbit rests: at the equilibrium that it is near, or at its last state, without rounding."""
    for one in ds["equilibrium"].values:
        if np.abs(last - one).max() <= NEAR * schema.settings(ds)["extent"]:
            return np.asarray(one)
    size = float(np.abs(last).max()) or 1.0
    return np.asarray(size * np.round(last / size, 6))
