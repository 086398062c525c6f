"""What a network keeps at its fixed points, and what it reads, in a few sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.places import CONTINUUM
from dynlab.diagnostics.modes.lasting import DECAYS, GROWS, UNDECIDED
from dynlab.wording import counted, joined, number, of_map, share


def verdict(ds: xr.Dataset) -> str:
    """The slowest decaying mode, the fastest growing one, and what is not interpreted."""
    points = ds.sizes[schema.FIXED_POINT]
    if points == 0:
        return "No fixed point was found and verified, so that there are no modes to tell of."
    fate, separated = ds["fate"].values, ds["separated"].values == 1
    lines = int((ds["status"] == CONTINUUM).sum())
    parts = [counted(points - lines, "fixed point")] if points > lines else []
    text = f"At {joined([*parts, counted(lines, 'continuum of fixed points')] if lines else parts)} the"
    slowest = _most(np.where((fate == DECAYS) & separated, ds["time_constant"].values, np.nan))
    fastest = _most(np.where((fate == GROWS) & separated, -ds["doubling_time"].values, np.nan))
    said = []
    if slowest:
        constant = number(float(ds["time_constant"].values[slowest]))
        said.append(f"slowest mode that decays has a time constant of {constant} steps{_where(ds, slowest)}")
    if fastest:
        doubling = number(float(ds["doubling_time"].values[fastest]))
        said.append(f"fastest mode that grows doubles in {doubling} steps{_where(ds, fastest)}")
    text += f" {'. The '.join(said)}." if said else " modes are not told from each other, or not from |μ| = 1."
    lost, open_ = int((~separated).sum()), int((separated & (fate == UNDECIDED)).sum())
    zero = int((~separated & (fate == DECAYS) & np.isnan(ds["frequency"].values)).sum())
    parts = [f"{zero} with μ = 0, which a step forgets"] if zero else []
    parts += [f"{lost - zero} whose eigenvectors are not told apart"] if lost > zero else []
    parts += [f"{open_} with |μ| = 1 within the error, so that growth or decay is not known"] if open_ else []
    return text + (f" Of {counted(fate.size, 'mode')} these are not interpreted: {joined(parts)}." if parts else "")


def _most(values: np.ndarray) -> tuple[int, int] | None:
    if np.isnan(values).all():
        return None
    point, mode = np.unravel_index(np.nanargmax(values), values.shape)
    return int(point), int(mode)


def _where(ds: xr.Dataset, at: tuple[int, int]) -> str:
    """At which point, turning how fast, driven by what."""
    said = [f"it belongs to point {at[0]} ({of_map(str(ds['kind'].values[at[0]]))})"]
    turning = float(ds["frequency"].values[at])
    if np.isnan(turning):
        said.append("its frequency is not known")
    elif turning:
        said.append(f"it turns {number(abs(turning), 3)} cycles a step")
    shares = ds["input_share"].values[at]
    if len(shares) and np.isfinite(shares).all():
        said.append(f"{share(shares.max())} of its drive comes from input {int(shares.argmax())}")
    return f": {joined(said)}"
