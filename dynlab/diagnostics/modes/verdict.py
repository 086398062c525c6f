"""What a network keeps at its fixed points, and what it reads, in a few sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.places import CONTINUUM
from dynlab.diagnostics.modes.lasting import DECAYS, GROWS, UNDECIDED
from dynlab.numerics.arrays import place_of_largest
from dynlab.wording import capital, counted, joined, number, of_map, share


def verdict(ds: xr.Dataset) -> str:
    """The slowest decaying mode, the fastest growing one, and what is not interpreted."""
    points = ds.sizes[schema.FIXED_POINT]
    if points == 0:
        return "No fixed point was found and verified, so that there are no modes to tell of."
    fate, separated = ds["fate"].values, ds["separated"].values == 1
    lines = int((ds["status"] == CONTINUUM).sum())
    parts = [counted(points - lines, "fixed point")] if points > lines else []
    held = joined([*parts, counted(lines, "continuum of fixed points")] if lines else parts)
    held = f"all {held}" if points - lines > 1 else f"the {held[2:]}" if points == 1 else held
    where = f"Of the modes at {held}"
    slowest, fastest = extremes(ds)
    said = []
    if slowest:
        constant = float(ds["time_constant"].values[slowest])
        ends = f"falls to 1/e in {number(constant)} steps" if constant else "is gone after a step"
        said.append(f"the one that decays slowest {ends}{_where(ds, slowest)}")
    if fastest:
        doubling = number(float(ds["doubling_time"].values[fastest]))
        said.append(f"the one that grows fastest doubles in {doubling} steps")
        said[-1] += _where(ds, fastest)
    told = ". ".join([f"{where} {said[0]}", *map(capital, said[1:])]) if said else ""
    told += ". Points and inputs are counted from 0" * bool(told)
    text = f"{told or f'{where} none is told from the others and from |μ| = 1'}."
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


def _where(ds: xr.Dataset, at: tuple[int, int]) -> str:
    """At which point, turning how fast, driven by what."""
    said = []
    turning = float(ds["frequency"].values[at])
    if np.isnan(turning):
        said.append("its frequency is not known")
    elif turning:
        said.append(f"it turns by {number(abs(turning), 3)} cycles a step")
    shares = ds["input_share"].values[at]
    if len(shares) and np.isfinite(shares).all():
        most = f"input {int(shares.argmax())} has {share(shares.max())}"
        said.append(f"of the squared weights by which the inputs enter it {most}")
    point = f", at point {at[0]} ({of_map(str(ds['kind'].values[at[0]]))})"
    return ". ".join([point, *map(capital, said)])
