"""Lyapunov exponents in one to three sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.lyapunov import estimates
from dynlab.diagnostics.lyapunov.cycles import Ends
from dynlab.diagnostics.lyapunov.separation import DRAW_NEARER, MEET, STAY_APART
from dynlab.numerics.arrays import Index
from dynlab.numerics.statistics import WRONG, with_signs
from dynlab.wording import (
    agree,
    at_most,
    counted,
    joined,
    none_inside,
    number,
    percent,
    place,
    ranged,
    subscript,
    with_error,
)

DRIFT = "not come to rest yet"  # what verdicts say of orbits that have not come to where they end
ROUNDED = 10.0  # times what rounding adds: an error up to this is no matter of chance
CLOSE = 2.0  # the ratio of an exponent to its error up to which another digit is told, as its sign hangs on it
LONGER = 10  # times as long is the run that is proposed where a sign is undecided
SAME = 1e-6  # of their size: orbits that end so near each other end at one point
ECHO = {MEET: "meet", DRAW_NEARER: "draw nearer by the factor e or more", STAY_APART: "stay apart"}
MEANING = {  # of the sign of the largest exponent
    1: "It is positive: nearby orbits separate",
    -1: "It is negative: nearby orbits approach each other",
    0: "Its sign is undecided",
}


def verdict(ds: xr.Dataset, name: str, averaged: str, cut: str, ends: Ends | None) -> str:
    """Return what the exponents say.

    Parameters
    ----------
    ds : Dataset
    name : str
        ``exponent`` or ``finite_time_exponent``.
    averaged : str
        Over what they were taken: "116 steps of 16 sequences (the first 12 discarded)".
    cut : str
        Why orbits were cut: "leaves |h_i| ≤ 1e+08, the first at step 14"; "" where none was.
    ends : Ends, optional
        Where the orbits end that nothing drives.
    """
    known = ~np.isnan(ds[name].values).all(axis=1)
    if not known.any():
        hidden = "rounding, or a kink, hides how fast nearby states part."
        return f"No exponent is known over {averaged}: {none_inside(len(known), cut) if cut else hidden}"
    some = ds.isel({schema.SAMPLE: np.flatnonzero(known)})
    words = "finite-time exponent" if name != "exponent" else "Lyapunov exponent"
    text = f"{left_by_neighbours(some)}Over {averaged} the largest {words} Λ₁ is {_largest(some, name)}"
    text += "".join(_where(some, name, ends, known)) if ends is not None else "."
    text += f" {_meaning(some, name, ends, known)}{_numbers(some, name, ends, known)}{_echo_state(some)}"
    if not known.all():
        gone = int(np.sum(~known))
        why = cut or f"{agree(gone)} hidden by rounding or a kink"
        text += f" {gone} of {len(known)} orbits {why}, and {agree(gone)} left out."
    return text


def _largest(ds: xr.Dataset, name: str) -> str:
    """Return the first exponent with its error and unit."""
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    count, units = ds.sizes[schema.SAMPLE], ds["mean_exponent"].attrs["units"]
    spread = f", the mean of {count} samples" if count > 1 else ""
    if np.isneginf(mean):
        most = float(ds[name].values[:, 0].max())
        some = f" in some of {count} samples, and up to {at_most(most)} {units}" if most > -np.inf else ""
        return f"−inf{some}, since a Jacobian is singular"
    if np.isposinf(ds["rounding_bound"].values[:, 0]).any() and not error < abs(mean):
        return f"at most {at_most(mean)} {units}{spread}"
    figures = 2 if error / CLOSE < abs(mean) < CLOSE * error else 1
    told = with_error(mean, error, units, figures) if np.isfinite(error) else f"{number(mean)} {units}"
    sampled = "±" in told and error > ROUNDED * float(np.nan_to_num(ds["rounding_bound"][:, 0]).mean())
    return f"{told}{f' ({percent(1 - WRONG, 1)} confidence)' if sampled else ''}{spread}"


def flow_direction(ds: xr.Dataset, name: str, ends: Ends | None, known: np.ndarray) -> int:
    """Return the index of the exponent of a flow's own direction, −1 where there is none or it is not told apart.

    Along a bounded orbit that does not come to rest the velocity neither grows nor decays. It is the one exponent whose
    error reaches 0.
    """
    if ends is None or ds["mean_exponent"].attrs["units"] != schema.NAT_PER_SECOND:
        return -1
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    zero = np.flatnonzero(np.abs(means) <= errors)
    moves = not ((ends.periods > 0) | ends.drifts)[known].any()
    return int(zero[0]) if moves and len(zero) == 1 and np.isfinite(errors[zero[0]]) else -1


def _meaning(ds: xr.Dataset, name: str, ends: Ends | None, known: np.ndarray) -> str:
    """Return what the first exponent means."""
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    values, bounds = ds[name].values[:, 0], ds["rounding_bound"].values[:, 0]
    steps = " over these steps" if name != "exponent" else ""
    if differ(ds, name):
        return f"{_by_sample(ds, name)}{steps}."
    own = flow_direction(ds, name, ends, known)
    if own == 0:
        return "It is 0, the flow's own direction: nearby orbits neither separate nor meet."
    if np.isposinf(bounds).any() and not errors[0] < np.abs(means[0]):
        said = MEANING[-1] if means[0] < 0 else MEANING[0]
        return f"{said}{steps}. No lower bound is known, since a Jacobian is as small as its own error."
    if (np.abs(values) <= np.maximum(bounds, 0)).all():
        return "It is zero to rounding, and nearby orbits keep their distance."
    sign = int(estimates.signs(means, errors)[0])
    wanders = ends is not None and not ((ends.periods > 0) | ends.drifts)[known].any()
    chaos = ", which is chaos if the motion stays bounded" * (sign > 0 and wanders)
    return f"{MEANING[sign]}{steps}{chaos}.{f' {_longer(ds)} may decide it.' * (sign == 0 and name == 'exponent')}"


def _longer(ds: xr.Dataset) -> str:
    """Return what to ask for in place of so short a run."""
    if "echo_state" in ds:
        return "A longer input"
    length = "seconds" if ds["mean_exponent"].attrs["units"] == schema.NAT_PER_SECOND else "steps"
    longer = f"{LONGER * schema.settings(ds)[length]:.12g}"
    return f"A longer run (--{length} {longer}, in Python {length}={longer})"


def _numbers(ds: xr.Dataset, name: str, ends: Ends | None, known: np.ndarray) -> str:
    """Return how many exponents have which sign, and the Kaplan–Yorke dimension of an attractor."""
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    if len(means) == 1 or differ(ds, name):
        return ""
    found = estimates.signs(with_signs(means, ds["rounding_bound"].values.max(axis=0)), errors)
    own = flow_direction(ds, name, ends, known)
    undecided = (found == 0) & (np.arange(len(found)) != own)
    groups = [(found > 0, "positive"), (undecided, "of undecided sign"), (found < 0, "negative")]
    said = [f"{int(which.sum())} {agree(int(which.sum()))} {word}" for which, word in groups if which.any()]
    if own >= 0:
        said.insert(int((found > 0).any()), f"Λ{subscript(own + 1)} is 0, the flow's own direction")
    text = f" Of {counted(len(means), 'exponent')} {joined(said)}"
    attracts = ends is None or not (ends.periods[known] > 0).any()
    dimension, error = ds["kaplan_yorke_dimension"].values, float(ds["kaplan_yorke_dimension_error"].values[0])
    if attracts and np.isfinite(dimension).any() and (dimension > 0).any():
        one = len(dimension) == 1 and 0 < error < np.inf
        text += (
            f"; the Kaplan–Yorke dimension is {with_error(float(dimension[0]), error) if one else ranged(dimension)}"
        )
    return f"{text}."


def differ(ds: xr.Dataset, name: str) -> bool:
    """Return whether samples have exponents of their own: no number lies within the errors of all."""
    values, errors, bounds = (ds[each].values[:, 0] for each in (name, "exponent_error", "rounding_bound"))
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    return estimates.differ(values, errors, bounds, mean, error, name != "exponent")


def _by_sample(ds: xr.Dataset, name: str) -> str:
    """Return what nearby orbits do in how many samples: "Nearby orbits separate in 1 and meet in 1 of 2 samples"."""
    errors, bounds = ds["exponent_error"].values[:, 0], ds["rounding_bound"].values[:, 0]
    values = with_signs(ds[name].values[:, 0], bounds)
    found = np.array([estimates.signs(*pair)[0] for pair in zip(values[:, None], errors[:, None], strict=True)])
    words = {1: "separate in", -1: "meet in", 0: "are undecided in"}
    said = [f"{word} {int((found == sign).sum())}" for sign, word in words.items() if (found == sign).any()]
    return f"Nearby orbits {joined(said)} of {counted(len(found), 'sample')}"


def left_by_neighbours(ds: xr.Dataset) -> str:
    """Return a sentence that comes before all others where driven orbits stayed on what their neighbours leave."""
    if "neighbours_leave" not in ds or not (left := ds["neighbours_leave"].values == 1).any():
        return ""
    which = f"{int(left.sum())} of {len(left)} orbits" if len(left) > 1 else "The orbit"
    return f"{which} stayed on a set that orbits beside it leave; other starts have other exponents. "


def _where(ds: xr.Dataset, name: str, ends: Ends, known: np.ndarray) -> list[str]:
    """Return where orbits end: at a cycle whose multipliers give the exponents, or not at rest yet."""
    periods, points = ends.periods[known], ends.points[known]
    if ends.drifts[known].any():
        count = int(ends.drifts[known].sum())
        some = f"{count} of {len(periods)} orbits have" if len(periods) > 1 else "The orbit has"
        return [f". {some} {DRIFT}, and where it ends the exponents may differ."]
    if not periods.all():
        return ["."]
    pairs = zip(ds[name].values, ds["exponent_error"].values, strict=True)
    kind = "unstable " if all(estimates.signs(*pair)[0] > 0 for pair in pairs) else ""
    noun = "equilibrium" if ds[name].attrs["units"] == schema.NAT_PER_SECOND else "fixed point"
    orbit = "the orbits end" if len(periods) > 1 else "the orbit ends"
    return [f": {orbit} at {_named(periods, points, noun, kind)}."]


def _named(periods: Index, points: np.ndarray, noun: str, kind: str) -> str:
    """Return what orbits end at: "the unstable fixed point at 0", "a cycle of period 3", "cycles of periods 1 to 4"."""
    one = f"{'an' if kind else 'a'} {kind}"
    if np.ptp(periods):
        return f"{kind}cycles of periods {ranged(periods, 0)}"
    if periods[0] > 1:
        return f"{one}cycle of period {periods[0]}"
    size = max(1.0, np.abs(points).max())
    if np.ptp(points, axis=0).max() > SAME * size:
        return f"{kind}{noun.replace('equilibrium', 'equilibria').replace('point', 'points')}"
    return f"the {kind}{noun} at {place(np.where(np.abs(points[0]) <= SAME * size * 1e-6, 0.0, points[0]))}"


def _echo_state(ds: xr.Dataset) -> str:
    """Return what two starts under the same input do, in how many samples."""
    if "echo_state" not in ds:
        return ""
    outcome = ds["echo_state"].values
    found = {words: int(np.sum(outcome == each)) for each, words in ECHO.items()}
    said = [f"{words} in {count}" for words, count in found.items() if count]
    undecided = len(outcome) - sum(found.values())
    said += [f"are undecided in {undecided}"] * bool(undecided)
    return f" Two starts under the same input {joined(said)} of {counted(len(outcome), 'sample')}."
