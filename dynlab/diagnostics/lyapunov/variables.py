"""The Dataset of Lyapunov exponents: a table of its variables, why values are missing, and one to three sentences."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.lyapunov.estimates import DENSE, DRIFTS
from dynlab.diagnostics.lyapunov.exponents import LONGEST, TOLERANCE
from dynlab.diagnostics.lyapunov.orbits import DRAW_NEARER, MEET, NEITHER, STAY_APART, Flags, none_inside, why_cut
from dynlab.numerics.arrays import Real
from dynlab.numerics.frame import SAFETY
from dynlab.numerics.statistics import BLOCKS, FEW_NATS, SHORTEST_BLOCK, signs, with_signs
from dynlab.systems import Flow, System
from dynlab.trajectories.cycles import CYCLE, REST, Attractor
from dynlab.trajectories.lengths import LENGTH, of_lengths, reasons_with
from dynlab.words import (
    agree,
    article,
    at_most,
    counted,
    first_that_holds,
    joined,
    number,
    place,
    plural_of,
    ranged,
    subscript,
    with_error,
)

METHOD = (
    f"The Jacobians carry a random frame forward. QR makes it orthonormal every {LONGEST} steps, or before a growth "
    f"factor's error exceeds {TOLERANCE:g}, and after every step of a flow. Rounding is bounded at first order "
    f"by {SAFETY:g} ‖E‖₂ ‖R⁻¹ e_i‖₂. {{errors}} An orbit that ends at a cycle or an equilibrium has the "
    "exponents of its multipliers, with the first-order error of each."
)
OF_BLOCKS = (
    f"Standard errors come from means over at most {BLOCKS} blocks of at least {SHORTEST_BLOCK} steps; where these "
    "follow a trend, they reach the last quarter's mean. Growth by fewer than "
    f"{FEW_NATS:g} nats has no sign. Of more than {DENSE} states an error is at least {DRIFTS:g} times the "
    "drift between halves."
)
BETWEEN = (
    "The standard error of one sample is the standard deviation between samples. The alignment error is the largest "
    "change by other random frames."
)
DRAWN = 3  # dimensions of an orbit whose last states are kept for its picture
MODES, EACH = (schema.SAMPLE, schema.MODE), (schema.SAMPLE,)
# name: dimensions, long name, unit; of a map, whose rates are a flow's per second
VARIABLES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "exponent": (MODES, "{word} Λ_i", schema.NAT_PER_STEP),
    "standard_error": (MODES, "standard error of Λ_i", schema.NAT_PER_STEP),
    "exponent_error": (MODES, "error of Λ_i", schema.NAT_PER_STEP),
    "mean_exponent": ((schema.MODE,), "mean of the {word} Λ_i", schema.NAT_PER_STEP),
    "mean_exponent_error": ((schema.MODE,), "error of the mean of Λ_i", schema.NAT_PER_STEP),
    "rounding_bound": (MODES, "bound of what rounding adds to Λ_i", schema.NAT_PER_STEP),
    "alignment_error": (MODES, "what other first frames change Λ_i by", schema.NAT_PER_STEP),
    "running_exponent": ((schema.SAMPLE, schema.TIME, schema.MODE), "running estimate of Λ_i", schema.NAT_PER_STEP),
    "mean_log_det": (EACH, "{det}", schema.NAT_PER_STEP),
    "kaplan_yorke_dimension": (EACH, "Kaplan–Yorke dimension", schema.ONE),
    "kaplan_yorke_dimension_error": (EACH, "error of the Kaplan–Yorke dimension", schema.ONE),
    "positive_exponent_sum": (EACH, "sum of the positive Λ_i, upper bound of the entropy rate", schema.NAT_PER_STEP),
    "positive_exponent_sum_error": (EACH, "error of that sum", schema.NAT_PER_STEP),
    "echo_state": (EACH, "what becomes of two starts under the same input", schema.ONE),
    "shrinkage": (EACH, "ln of the last over the first distance of two starts under the same input", schema.ONE),
    "length": LENGTH,
    "visited": ((schema.ITERATION, schema.STATE), "states that the first sample's orbit ends in", schema.ONE),
}
SINGULAR = "-inf where a Jacobian is exactly singular: a unit's slope is 0"
SHARED = "NaN where rounding drowns the mode, or a unit is at its kink"
SPREAD = "where the exponent is not finite, there are too few blocks, or one sample has no spread between samples"
FLAGS = {
    "standard_error": f"NaN {SPREAD}",
    "exponent_error": f"NaN or inf {SPREAD}",
    "mean_exponent_error": f"NaN or inf {SPREAD}",
    "rounding_bound": "inf where the exponent is an upper bound: a Jacobian is as small as its own error",
    "alignment_error": "NaN where the exponent is not finite",
    "mean_log_det": f"{SINGULAR}; NaN where the orbit was cut, or the determinant needs a matrix that is not made",
    "kaplan_yorke_dimension": "NaN where fewer exponents are known than it needs, or the largest has no sign",
    "kaplan_yorke_dimension_error": f"NaN where the dimension is, or {SPREAD}",
    "positive_exponent_sum": "NaN where the largest exponent has no sign, or the smallest known is positive",
    "positive_exponent_sum_error": f"NaN where the sum is, or {SPREAD}",
    "shrinkage": "-inf where two starts became one; NaN where the orbit was cut",
}
LONGER = 10  # times as long is the run that is proposed where a sign is undecided
MEANING = {  # of the sign of the largest exponent
    1: "It is positive: nearby orbits separate",
    -1: "It is negative: nearby orbits approach each other",
    0: "Its sign is undecided",
}
OWN = "It is 0, the flow's own direction: nearby orbits neither separate nor meet."
ZERO = "It is zero to rounding, and nearby orbits keep their distance."
BY_SAMPLE = {1: "separate in", -1: "meet in", 0: "are undecided in"}
GROUPS = {1: "positive", 0: "of undecided sign", -1: "negative"}
ECHO = {
    MEET: "meet in",
    DRAW_NEARER: "draw nearer (by a factor e or more) in",
    STAY_APART: "stay apart in",
    NEITHER: "are undecided in",
}


def dataset(
    values: dict[str, Any],
    times: Any,
    system: System,
    settings: dict[str, Any],
    *,
    finite_time: bool,
    ends: list[Attractor | None] | None,
    cut: tuple[Real, Flags],
    averaged: str,
    before: str,
    after: str,
    visited: Real | None,
) -> xr.Dataset:
    """Return the Dataset of `dynlab.lyapunov` from the variables' values.

    Parameters
    ----------
    finite_time : bool
        True where exponents are those of short driven sequences.
    ends : list, optional
        The attractor that each orbit has come to; None of driven ones.
    cut : tuple of ndarray, shape (sample,)
        When orbits left their bound, inf where they did not, and whether they could not be followed there.
    averaged, before, after : str
        Over what exponents are taken, a sentence before all others, and one more reason why values are NaN.
    visited : ndarray, shape (iteration, state), optional
        States that the first orbit ends in.
    """
    flow = isinstance(system, Flow)
    name = "finite_time_exponent" if finite_time else "exponent"
    words = {
        "word": "finite-time exponent" if finite_time else "Lyapunov exponent",
        "det": "mean divergence" if flow else "mean of ln |det J|",
    }
    units = {schema.NAT_PER_STEP: schema.NAT_PER_SECOND} if flow else {}
    drawn = {} if visited is None or visited.shape[1] > DRAWN else {"visited": visited}
    rows: dict[str, tuple[Any, ...]] = {
        (name if each == "exponent" else each): (dims, found, long_name.format(**words), units.get(unit, unit))
        for each, (dims, long_name, unit) in VARIABLES.items()
        if (found := (values | drawn).get(each)) is not None
    }
    why = why_cut(*cut, settings["largest_state"], flow)
    gone = any(np.isneginf(values[each]).any() for each in ("running_exponent", "mean_log_det", "exponent"))
    shared = "; ".join([f"NaN where an orbit {why}, and is cut there"] * bool(why) + [SINGULAR] * gone + [SHARED])
    return schema.result(
        system,
        rows,
        settings=settings,
        method=METHOD.format(errors=BETWEEN if finite_time else OF_BLOCKS),
        coords={schema.TIME: schema.time_coordinate(times, schema.SECOND if flow else schema.STEP)},
        reasons=reasons_with(
            {each: FLAGS.get(each, shared) for each, row in rows.items() if row[1].dtype.kind == "f"}, after
        ),
        verdict=lambda ds: before + verdict(ds, name, averaged, why, ends) + of_lengths(ds),
    )


def verdict(ds: xr.Dataset, name: str, averaged: str, cut: str, ends: list[Attractor | None] | None) -> str:
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
    ends : list, optional
        Points or cycles at which the orbits end that nothing drives.
    """
    known = ~np.isnan(ds[name].values[:, 0])
    if not known.any():
        hidden = "rounding, or a kink, hides how fast nearby states separate."
        return f"No exponent is known over {averaged}: {none_inside(len(known), cut) if cut else hidden}"
    some = ds.isel({schema.SAMPLE: np.flatnonzero(known)})
    of_samples = signs(with_signs(some[name].values, some["rounding_bound"].values), some["exponent_error"].values)
    there = [ends[sample] for sample in np.flatnonzero(known)] if ends is not None else []
    closed = [one for one in there if one is not None]
    wanders = ends is not None and not closed
    own = _own_direction(some) if wanders or all(one.form == CYCLE for one in closed) else -1
    words = "finite-time exponent" if name != "exponent" else "Lyapunov exponent"
    at_end = f": {_end(closed)}" if closed and len(closed) == len(there) else ""
    meaning = f"{_meaning(some, name, own, wanders)}{_numbers(some, own, attracts=not closed)}"
    if {1, -1} <= set(of_samples[:, 0].tolist()):
        meaning = f"Nearby orbits {_counts(of_samples[:, 0], BY_SAMPLE)}."
    echo = f" Two starts {_counts(some['echo_state'].values, ECHO)}." if "echo_state" in some else ""
    gone = int(np.sum(~known))
    why = cut or f"{agree(gone)} hidden by rounding or a kink"
    left_out = f" {gone} of {len(known)} orbits {why}, and {agree(gone)} left out." * bool(gone)
    return f"Over {averaged} the largest {words} Λ₁ is {_largest(some)}{at_end}. {meaning}{echo}{left_out}"


def _largest(ds: xr.Dataset) -> str:
    """Return the first exponent with its error and unit."""
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    count, units = ds.sizes[schema.SAMPLE], ds["mean_exponent"].attrs["units"]
    if np.isneginf(mean):
        return f"−inf{' in some samples' * (count > 1)}, since a Jacobian is singular"
    size = with_error(mean, error, units) if np.isfinite(error) else f"{number(mean)} {units}"
    size = f"at most {at_most(mean)} {units}" if _only_above(ds) else size
    return size + f", the mean of {count} samples" * (count > 1)


def _only_above(ds: xr.Dataset) -> bool:
    """Return whether the first exponent is only known from above."""
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    return bool(np.isposinf(ds["rounding_bound"].values[:, 0]).any()) and not error < abs(mean)


def _own_direction(ds: xr.Dataset) -> int:
    """Return the index of the exponent of a flow's own direction, −1 where there is none or it is not told apart.

    Along a bounded orbit that does not come to rest the velocity neither grows nor decays. It is the one exponent whose
    error reaches 0.
    """
    mean, error = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    zero = np.flatnonzero((np.abs(mean) <= error) & schema.of_flow(ds["mean_exponent"]))
    return int(zero[0]) if len(zero) == 1 and np.isfinite(error[zero[0]]) else -1


def _meaning(ds: xr.Dataset, name: str, own: int, wanders: bool) -> str:
    """Return the sentence on what the sign of the first exponent means."""
    above, means, errors = _only_above(ds), ds["mean_exponent"].values, ds["mean_exponent_error"].values
    zero = not above and (np.abs(ds[name].values) <= ds["rounding_bound"].values)[:, 0].all()
    sign = int(np.sign(means[0]) if above else signs(means, errors)[0])
    over_steps = " over these steps" * (name != "exponent")
    chaos = ", which is chaos if the motion stays bounded" * (sign > 0 and wanders)
    length = "seconds" if schema.of_flow(ds["mean_exponent"]) else "steps"
    longer = f" Run longer: --{length} {LONGER * schema.settings(ds)[length]:.12g}."
    longer *= not (sign or over_steps or "echo_state" in ds)
    meaning = f"{MEANING[min(sign, 0) if above else sign]}{over_steps}{chaos}.{longer}"
    return first_that_holds({OWN: own == 0, ZERO: zero, meaning: True})


def _numbers(ds: xr.Dataset, own: int, attracts: bool) -> str:
    """Return how many exponents have which sign, and the Kaplan–Yorke dimension of an attractor."""
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    if len(means) == 1:
        return ""
    found = signs(with_signs(means, ds["rounding_bound"].values.max(axis=0)), errors)
    others = np.delete(found, own) if own >= 0 else found
    count = {sign: int((others == sign).sum()) for sign in GROUPS}
    said = [f"{count[sign]} {agree(count[sign])} {word}" for sign, word in GROUPS.items() if count[sign]]
    if own >= 0:
        said.insert(min(1, count[1]), f"Λ{subscript(own + 1)} is 0 (the flow's own direction)")
    dimension, error = ds["kaplan_yorke_dimension"].values, float(ds["kaplan_yorke_dimension_error"].values[0])
    one = len(dimension) == 1 and 0 < error < np.inf
    size = with_error(float(dimension[0]), error) if one else ranged(dimension)
    fractal = attracts and (dimension > 0).any() and (dimension < len(means)).all()
    of_attractor = f"; the Kaplan–Yorke dimension is {size}" * bool(fractal)
    return f" Among {counted(len(means), 'exponent')}, {joined(said)}{of_attractor}."


def _counts(outcomes: NDArray[Any], words: dict[int, str] | dict[str, str]) -> str:
    """Return in how many samples which outcome was found: "separate in 1 and meet in 1 of 2 samples"."""
    said = [f"{word} {int((outcomes == each).sum())}" for each, word in words.items() if (outcomes == each).any()]
    return f"{joined(said)} of {counted(len(outcomes), 'sample')}"


def _end(ends: list[Attractor]) -> str:
    """Return where orbits end: "the orbit ends at a stable node at 0", "the orbits end at stable period-4 orbits"."""
    if len(ends) > 1:
        return f"the orbits end at {joined([plural_of(kind) for kind in dict.fromkeys(each.kind for each in ends)])}"
    (one,) = ends
    where = f" at {place(one.states[0].round(12))}" if one.form == REST else ""
    return f"the orbit ends at {article(one.kind)}{where}"
