"""The sentences of a phase portrait: its equilibria, and where its orbits end."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.phase_plane.orbits import (
    CHAOTIC,
    CLOSED,
    CLOSED_CURVE,
    EQUILIBRIUM,
    FIXED_POINT,
    GONE,
    INWARD,
    LIMIT_CYCLE,
    OUTWARD,
    PERIODIC,
    QUASIPERIODIC,
    UNSETTLED,
)
from dynlab.numerics.kinds import LINE
from dynlab.words import agree, article, at_most, counted, joined, near_one, number, of_map

ROUNDED = 4 * float(np.finfo(np.float64).eps)  # of the larger coordinate
LISTED = 3  # equilibria that are described one by one; more are counted
# The only equilibrium, by the first word of its flow's kind, and by whether it is stable for the flow and Euler's map.
PAIRS = {
    ("stable", 1, 0): "The flow's {noun} is stable, Euler's map at {step} is not{critical}",
    ("stable", 1, 1): "The flow's {noun} is stable, and so is that of Euler's map at {step}{critical}",
    ("unstable", 0, 0): "The flow's {noun} is unstable, and so is that of Euler's map at {step}",
}
OTHERS = "The flow has {flow}, Euler's map at {step} has {map}{critical}"
ENDINGS = {
    FIXED_POINT: "at rest",
    EQUILIBRIUM: "at rest",
    PERIODIC: "on {cycles} of {periods} steps",
    LIMIT_CYCLE: "on a limit cycle of period {periods} s (Floquet multiplier {floquet})",
    CLOSED: "closed, each beside others as around a center",
    CLOSED_CURVE: "on an invariant closed curve, at a distance of {distances}",
    CHAOTIC: "on a chaotic attractor",
    QUASIPERIODIC: "on a quasiperiodic attractor",
    OUTWARD: "still moving outward",
    INWARD: "still moving inward",
    GONE: "beyond every bound",
    UNSETTLED: "undecided",
}


def verdict(ds: xr.Dataset, equation: str = "", about: str = "") -> str:
    """Return sentences on the equilibria and on where the orbits end, from a portrait's Dataset.

    Parameters
    ----------
    ds : Dataset
    equation : str
        The system's.
    about : str
        A further sentence, or nothing.
    """
    alone = ds.sizes[schema.FIXED_POINT] == 1 and not ds["continuum"].values.any()
    told = _one(ds, equation and f" {equation}") if alone else _several(ds)
    return " ".join(filter(None, [told, about, _ends(ds)]))


def changes(portraits: Sequence[xr.Dataset], name: str, values: Sequence[float]) -> str:
    """Return between which portraits at values of a parameter stability changes, or the number of equilibria.

    Parameters
    ----------
    portraits : sequence of Dataset
        Results of `phase_plane`.
    name : str
        The parameter's.
    values : sequence of float
    """
    told = f"{name} from {number(values[0])} to {number(values[-1])}, {counted(len(values), 'frame')}"
    found = []
    for frame, (before, after) in enumerate(itertools.pairwise(portraits), 1):
        if change := _change(before, after):
            where = _between(before, name, values[frame - 1], values[frame])
            found.append(f"{change} between frames {frame:,} and {frame + 1:,} ({where})")
    more = [f"{len(found) - LISTED} more changes follow"] if len(found) > LISTED else []
    return f"{told}: {joined(found[:LISTED] + more) or 'no stability changes'}."


def _between(ds: xr.Dataset, name: str, low: float, high: float) -> str:
    """Return the value at which something changes: the critical step where that is the parameter, else both sides."""
    critical = ds["critical_step"].values if "critical_step" in ds else np.empty(0)
    if name == "step_size" and critical.size == 1 and min(low, high) <= critical[0] <= max(low, high):
        return f"ε = {number(float(critical[0]), 3)}"
    return f"{name} {number(low)} to {number(high)}"


def _change(before: xr.Dataset, after: xr.Dataset) -> str:
    stable, noun = ("map_stable", "fixed points") if "map_stable" in before else ("flow_stable", "equilibria")
    one, other = before[stable].values.tolist(), after[stable].values.tolist()
    if len(one) != len(other):
        return f"the number of {noun} in the window goes from {len(one)} to {len(other)}"
    first, second = one.count(1), other.count(1)
    return f"the number of stable {noun} goes from {first} to {second}" if first != second else ""


def state(values: NDArray[np.float64]) -> str:
    """Return a state as a pair, in which a coordinate is 0 that is rounding beside the other."""
    told = np.where(np.abs(values) <= ROUNDED * np.abs(values).max(), 0.0, values)
    return f"({number(told[0])}, {number(told[1])})"


def _several(ds: xr.Dataset) -> str:
    """Return the sentence on none or several equilibria, or on a continuum of them."""
    noun, one = ("equilibria", "equilibrium") if "flow_kind" in ds else ("fixed points", "fixed point")
    alone, many = (np.flatnonzero(ds["continuum"].values == flag).tolist() for flag in (0, 1))
    if not alone and not many:
        return f"The window holds no {noun}."
    listed = [f"{_kind(ds, i)} at {state(ds['equilibrium'].values[i])}" for i in alone[:LISTED]]
    more = [f"{len(alone) - LISTED} more"] * (len(alone) > LISTED)
    held = [f"{counted(len(alone), one, noun)}: {joined(listed + more)}"] * bool(alone)
    held += [f"a continuum of {noun}, through {state(ds['equilibrium'].values[i])}" for i in many[:1]]
    return f"The window holds {'; and '.join(held)}."


def _one(ds: xr.Dataset, equation: str) -> str:
    """Return the sentences on the only equilibrium, with the critical step where it is one of a flow."""
    where = state(ds["equilibrium"].values[0])
    if "flow_kind" not in ds:
        return f"The map{equation} has {_kind(ds, 0)} at {where}, with {_multipliers(ds)}."
    flow, values = str(ds["flow_kind"].values[0]), _values(ds["flow_eigenvalue"].values[0], "eigenvalue")
    named = _article(flow) + (f" along {state(ds['line_direction'].values[0])}" if flow == LINE else "")
    if "map_kind" not in ds:
        return f"The flow{equation} has {named} at {where}, with {values} per second{_critical(ds, OF_EULER)}."
    stable = int(ds["flow_stable"].values[0]), int(ds["map_stable"].values[0])
    said = PAIRS.get((flow.partition(" ")[0], *stable), OTHERS).format(
        noun=flow.split(" ", 1)[-1],
        step=f"ε = {number(schema.settings(ds)['step_size'])}",
        critical=_critical(ds, BESIDE_EULER),
        flow=named,
        map=_article(of_map(str(ds["map_kind"].values[0])), "fixed point"),
    )
    return f"{said}. At {where} the flow{equation} has {values} per second, Euler's map {_multipliers(ds)}."


def _kind(ds: xr.Dataset, i: int) -> str:
    """Return the equilibrium's kind for the flow, and for the map where that differs."""
    if "flow_kind" not in ds:
        return _article(of_map(str(ds["map_kind"].values[i])), "fixed point")
    flow = str(ds["flow_kind"].values[i])
    map = str(ds["map_kind"].values[i]) if "map_kind" in ds else flow
    return _article(flow) + (f" ({_article(of_map(map), 'fixed point')} of Euler's map)" if map != flow else "")


# Where no step is stable, and up to which step Euler's method is.
BESIDE_EULER = (", and no step is small enough to make it stable", ", the critical step is {}")
OF_EULER = (
    "; Euler's method is unstable there at every step size",
    "; Euler's method is stable there up to a step of {}",
)


def _critical(ds: xr.Dataset, words: tuple[str, str]) -> str:
    """Say up to which step Euler's method is stable at an equilibrium that the flow does not move away from."""
    value, leaves = float(ds["critical_step"].values[0]), int(ds["flow_stable"].values[0]) == 0
    if not np.isfinite(value) or (value == 0 and leaves):
        return ""
    return words[1].format(number(value, 3)) if value else words[0]


def _multipliers(ds: xr.Dataset) -> str:
    values = ds["map_eigenvalue"].values[0]
    return f"multipliers of modulus {near_one(abs(values[0]), 5)}" if values[0].imag else _values(values, "multiplier")


def _values(values: NDArray[np.complex128], noun: str) -> str:
    """Return both eigenvalues: a conjugate pair as a ± bi."""
    first, second = values
    if first.imag:
        return f"{noun}s {number(first.real)} ± {number(abs(first.imag))}i"
    told = near_one if noun == "multiplier" else number
    return f"{noun}s {told(first.real)} and {told(second.real)}"


def _article(kind: str, noun: str = "equilibrium") -> str:
    """Return the kind with its article; `noun` stands for one that is undecided."""
    if not kind.startswith(("linear ", "undecided")):
        return article(kind)
    near = kind.removeprefix("undecided, ").removesuffix(", undecided")
    return f"{article(noun)} of undecided kind ({near})"


def _ends(ds: xr.Dataset) -> str:
    """Return the sentence on where the orbits end."""
    if "outcome" not in ds:
        return ""
    counts, total = Counter(ds["outcome"].values.tolist()).most_common(), ds.sizes[schema.SAMPLE]
    after = f"After {int(ds[schema.ITERATION].values[-1]):,} steps" if "long_orbit" in ds else "In the end"
    if len(counts) == 1:
        whole = f"{'all ' * (total > 1)}{counted(total, 'orbit')} {agree(total)} {_ending(ds, counts[0][0])}"
        return f"{after} {whole}."
    parts = [f"{count} {agree(count)} {_ending(ds, name)}" for name, count in counts]
    return f"{after} of {total} orbits {joined(parts)}."


def _ending(ds: xr.Dataset, name: str) -> str:
    """Return where the orbits with one outcome are."""
    here = ds["outcome"].values == name
    periods = sorted({number(float(each)) for each in ds["orbit_period"].values[here]}, key=float)
    words = {"periods": joined(periods), "cycles": "a periodic orbit" if len(periods) == 1 else "periodic orbits"}
    if "floquet_multiplier" in ds:
        pairs = zip(ds["floquet_multiplier"].values[here], ds["floquet_error"].values[here], strict=True)
        small = {
            number(value, 2) if abs(value) > error else f"below {at_most(abs(value) + error, 1)}"
            for value, error in pairs
        }
        words["floquet"] = joined(sorted(small))
    if name == CLOSED_CURVE:
        centres = ds["equilibrium"].values if len(ds["equilibrium"]) else np.zeros((1, 2))
        orbits = ds["long_orbit"].values[here]
        away = [min((np.hypot(*(orbit - one).T) for one in centres), key=np.mean) for orbit in orbits]
        span = [f"{end:#.3g}".rstrip(".") for end in (np.min(away), np.max(away))]
        point = ("the equilibrium" if "flow_kind" in ds else "the fixed point") if len(ds["equilibrium"]) else "0"
        words["distances"] = f"{' to '.join(dict.fromkeys(span))} from {point}"
    return ENDINGS[name].format(**words)
