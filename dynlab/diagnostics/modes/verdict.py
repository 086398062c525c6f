"""What a network keeps at its fixed points, and what it reads, in a few sentences."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.places import NOT_ISOLATED
from dynlab.diagnostics.modes.lasting import DECAYS, GROWS, UNDECIDED
from dynlab.numerics.arrays import place_of_largest
from dynlab.wording import capital, counted, joined, number, of_map, percent

DIGITS = 3  # of a time and of a frequency, as many as the picture's tables have


def verdict(ds: xr.Dataset) -> str:
    """The slowest decaying mode, the fastest growing one, and what is not interpreted."""
    points = ds.sizes[schema.FIXED_POINT]
    if points == 0:
        return "No fixed point was found and verified, so that there are no modes to tell of."
    fate, separated = ds["fate"].values, ds["separated"].values == 1
    lines = int((ds["status"] == NOT_ISOLATED).sum())
    parts = [counted(points - lines, "fixed point")] if points > lines else []
    held = joined([*parts, counted(lines, "continuum of fixed points")] if lines else parts)
    held = f"all {held}" if points - lines > 1 else f"the {held[2:]}" if points == 1 else held
    where = f"Among the modes of {held}"
    slowest, fastest = extremes(ds)
    said = []
    if slowest:
        constant = float(ds["time_constant"].values[slowest])
        ends = f"to 1/e in {number(constant, DIGITS)} steps" if constant else "to 0 in one step"
        said.append(f"the slowest decay is {_at(ds, slowest, ends)}")
    if fastest:
        doubling = number(float(ds["doubling_time"].values[fastest]), DIGITS)
        said.append(f"the fastest growth is {_at(ds, fastest, f'it doubles in {doubling} steps')}")
    told = ". ".join([f"{where}, {said[0]}", *map(capital, said[1:])]) if said else ""
    numbered = joined(["Points", "inputs", *["outputs"] * ("output_read" in ds)])
    told += f". {numbered} are counted from 0" * bool(told)
    text = f"{told or f'{where}, none is told from the others and from |μ| = 1'}."
    lost, open_ = int((~separated).sum()), int((separated & (fate == UNDECIDED)).sum())
    zero = int((~separated & (fate == DECAYS) & np.isnan(ds["frequency"].values)).sum())
    parts = [f"{zero} with μ = 0, which vanish in one step"] if zero else []
    parts += [f"{lost - zero} whose eigenvectors are not told apart"] if lost > zero else []
    parts += [f"{open_} with |μ| = 1 within the error, so that growth or decay is not known"] if open_ else []
    modes = counted(fate.size, "mode") + (f", {ds.sizes[schema.MODE]} at each point," if points > 1 else "")
    return text + (f" Of {modes} these are left out: {joined(parts)}." if parts else "")


def extremes(ds: xr.Dataset) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Point and mode of what decays slowest and of what grows fastest, among modes with vectors of their own."""
    fate, separated = ds["fate"].values, ds["separated"].values == 1
    slowest = place_of_largest(ds["time_constant"].values, (fate == DECAYS) & separated)
    return slowest, place_of_largest(-ds["doubling_time"].values, (fate == GROWS) & separated)


def _at(ds: xr.Dataset, at: tuple[int, int], changes: str) -> str:
    """At which point a mode is, how it changes, how fast it turns, and what drives and reads it most."""
    said = [f"at point {at[0]} ({of_map(str(ds['kind'].values[at[0]]))}): {changes}"]
    turning = float(ds["frequency"].values[at])
    if np.isnan(turning):
        said.append("Its frequency is not known")
    elif turning:
        said.append(f"It turns by {number(abs(turning), DIGITS)} cycles a step")
    shares = ds["input_share"].values[at]
    if (most := _most([percent(each) for each in shares], shares)) is not None:
        of = f"{percent(shares[most])} of the squared weights of the inputs"
        said.append(f"Input {most} drives it most, with {of}")
    if "output_read" in ds:
        outputs = ds["output_read"].values[at]
        if (most := _most([number(each, 2) for each in outputs], outputs)) is not None:
            said.append(f"Output {most} reads it most, {number(outputs[most], 2)} for each unit of the mode")
    return ". ".join(said)


def _most(written: list[str], values: NDArray[np.float64]) -> int | None:
    """Which of several numbers is the largest; none where another is written alike, or one is not known."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    most = int(values.argmax())
    return most if written.count(written[most]) == 1 else None
