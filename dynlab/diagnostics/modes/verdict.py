"""The slowest and the fastest mode of a system's fixed points, in a few sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.modes.lasting import DECAYS, GROWS, UNDECIDED
from dynlab.numerics.arrays import Real
from dynlab.words import agree, capital, counted, joined, number, of_map, percent

DIGITS = 3  # of a time and of a frequency, as many as the picture's tables have
ALIKE = 1e-9  # relative: times of modes that are the same mode to a reader


def verdict(ds: xr.Dataset, held: str = "") -> str:
    """Return the slowest decaying mode, the fastest growing one, and how many are undecided; `held` is said first."""
    points, fate = ds.sizes[schema.FIXED_POINT], ds["fate"].values
    if points == 0:
        return capital(f"{held}no fixed point was found and verified, so there are no modes.")
    unit, neutral = ("s", "Re λ = 0") if _of_flow(ds) else ("steps", "|μ| = 1")
    parts = [
        _extreme(ds, ds["time_constant"].values, fate == DECAYS, f"the slowest mode decays to 1/e in {{}} {unit}"),
        _extreme(ds, ds["doubling_time"].values, fate == GROWS, f"the fastest growing mode doubles in {{}} {unit}"),
    ]
    if undecided := int((fate == UNDECIDED).sum()):
        known = f"{undecided:,} of {counted(fate.size, 'mode')} {agree(undecided, 'has', 'have')}"
        parts.append(f"{known} {neutral} within the error, so growth or decay is undecided")
    first, *others = filter(None, parts)
    return ". ".join(map(capital, [f"{held}{first}", *others])) + "."


def _extreme(ds: xr.Dataset, times: Real, among: np.ndarray, words: str) -> str:
    """Say of the slowest decay or the fastest growth where it is, how fast it turns, what drives and reads it most."""
    if not among.any():
        return ""
    grows = "growing" in words
    chosen = np.where(among, times, np.inf if grows else -np.inf)
    at = np.unravel_index(int(chosen.argmin() if grows else chosen.argmax()), times.shape)
    alike = int((among[at[0]] & (np.abs(times[at[0]] - times[at]) <= ALIKE * abs(times[at]))).sum())
    text = words.format(number(float(times[at]), DIGITS))
    turning = float(ds["frequency"].values[at])
    if turning and not np.isnan(turning):
        text += f", turning by {number(abs(turning), DIGITS)} cycles a {'second' if _of_flow(ds) else 'step'}"
    elif alike > 1:
        text += f", {alike:,} modes alike"
    kind = str(ds["kind"].values[at[0]])
    text += f" (point {at[0]}, {kind if _of_flow(ds) else of_map(kind)})"
    shares, read = ds["input_share"].values[at], ds["output_read"].values[at] if "output_read" in ds else np.empty(0)
    most = []
    if (first := _most(shares)) is not None:
        most.append(f"input {first} drives it most ({percent(shares[first])} of the squared weights)")
    if (first := _most(read)) is not None:
        most.append(f"output {first} reads it most")
    return f"{text}; {joined(most)}" if most else text


def _of_flow(ds: xr.Dataset) -> bool:
    return bool(ds["time_constant"].attrs["units"] == schema.SECOND)


def _most(values: Real) -> int | None:
    """Return the place of the largest number; None where another is written alike, or one is not known."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    written, most = [number(each, 2) for each in values], int(values.argmax())
    return most if written.count(written[most]) == 1 else None
