"""Lyapunov exponents in a few plain sentences."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.lyapunov.ends import ALL_BUT_ZERO, OrbitEnds
from dynlab.diagnostics.lyapunov.separation import BESIDE, DRAW_NEARER, FAR, MEET, NEITHER, STAY_APART
from dynlab.numerics.statistics import FEW_NATS, WRONG, with_signs
from dynlab.wording import (
    agree,
    at_most,
    capital,
    counted,
    interval,
    joined,
    none_inside,
    number,
    percent,
    place,
    plural_of,
    ranged,
    subscript,
    with_error,
)

DRIFT = "not come to rest yet"  # what verdicts say of orbits that have not come to where they end
SURE = 1e-6  # nats: the largest exponent of a fixed point or cycle itself, beyond which it is unstable
ROUNDED = 10.0  # times what rounding adds: an error up to this is no matter of chance
WIDE = 0.25  # of an exponent: beyond such an error a longer run is proposed
CLOSE = 2.0  # the ratio of an exponent to its error up to which another digit is told, as its sign hangs on it
LONGER = 10  # times as long is the run that is proposed where a sign is undecided
SAME = 1e-6  # of their size: orbits that end so near each other end at one point

ECHO = {DRAW_NEARER: "draw nearer by the factor e or more"}


def verdict(ds: xr.Dataset, averaged: str, name: str, cut: str, ends: OrbitEnds | None, size: int) -> str:
    """What the exponents say.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.lyapunov`, but for its verdict.
    averaged : str
        Over what they were taken: "116 steps of 16 sequences (the first 12 discarded)".
    name : str
        ``exponent`` or ``finite_time_exponent``.
    cut : str
        What orbits do that are cut: "leaves |h_i| ≤ 1e+08, the first at step 14"; "" where none is.
    ends : OrbitEnds, optional
        How the orbits end that nothing drives.
    size : int
        The dimension of the state.
    """
    known = ~np.isnan(ds[name].values).all(axis=1)
    if not known.any():
        hidden = "rounding, or a kink, hides how fast nearby states part."
        return f"No exponent is known over {averaged}: {none_inside(len(known), cut) if cut else hidden}"
    some = ds.isel({schema.SAMPLE: np.flatnonzero(known)})
    words = "finite-time exponent" if name != "exponent" else "Lyapunov exponent"
    before, after = (left_by_neighbours(some), "") if ends is None else _whereabouts(some, name, ends, known)
    larger = _larger(some)
    which = "first" if larger else "largest"
    text = f"{before}Over {averaged} the {which} {words} Λ₁ is {_largest(some, name)}. "
    text += f"{_meaning(some, name, ends is not None and not (ends.periods | ends.drifting)[known].any())}{larger}"
    text += _aligned(some) + _differing(some, name) + after
    if ends is None:
        text += "" if before else _dimension(some)
    elif not (ends.periods[known].all() or (ends.dimensions[known] >= 0).any()):  # only of what attracts
        text += _dimension(some)
    text += _self_check(some, name, size) + _echo_state(some)
    if not known.all():
        gone = int(np.sum(~known))
        text += f" {gone} of {len(known)} orbits {cut or f'{agree(gone)} hidden by rounding or a kink'}, and "
        text += f"{agree(gone)} left out."
    return text


def _larger(ds: xr.Dataset) -> str:
    """Where a later exponent is larger than the first, as over few steps, in which tangent vectors do not align."""
    means = ds["mean_exponent"].values
    most = int(np.argmax(means))
    if not means[most] > means[0] + ds["rounding_bound"].values[:, [0, most]].max():
        return ""
    last, units = f"Λ{subscript(most + 1)}", ds["mean_exponent"].attrs["units"]
    more = means[most] - means[0]
    by = f" by {number(more, 1)} {units}" if np.isfinite(more) else ""
    if more <= ds["mean_exponent_error"].values[[0, most]].sum():
        return f" {last} is larger than Λ₁{by}, which is within their errors: the two may be equal."
    return f" {last} is larger than Λ₁{by}: over so short a time the exponents are not in their order yet."


def _largest(ds: xr.Dataset, name: str) -> str:
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    count, units = ds.sizes[schema.SAMPLE], ds["mean_exponent"].attrs["units"]
    if np.isneginf(mean):
        if (values := ds[name].values[:, 0]).max() > -np.inf:
            some = f"−inf in some of {count} samples, since a Jacobian is singular"
            return f"{some}, and up to {at_most(values.max())} {units}"
        return "−inf, since a Jacobian is singular"
    spread = f", the mean of {count} samples" if count > 1 else ""
    if np.isposinf(ds["rounding_bound"].values[:, 0]).any():
        return f"at most {at_most(mean)} {units}{spread}"
    figures = 2 if error / CLOSE < abs(mean) < CLOSE * error else 1
    told = with_error(mean, error, units, figures) if np.isfinite(error) else f"{number(mean)} {units}"
    sampled = "±" in told and error > ROUNDED * float(ds["rounding_bound"][:, 0].mean())  # and not rounding alone
    level = f" ({percent(1 - WRONG, 1)} confidence)" if sampled else ""
    return f"{told}{level}{spread}"


def _meaning(ds: xr.Dataset, name: str, wanders: bool) -> str:
    """What the first exponent means; `wanders` says that no orbit rests, repeats itself or goes one way."""
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    mean, error = means[0], errors[0]
    values, bounds = ds[name].values[:, 0], ds["rounding_bound"].values[:, 0]
    steps = " over these steps" if name != "exponent" else ""
    if differ(ds, name):
        return f"{_by_sample(ds, name)}{steps}."
    if np.isposinf(bounds).any():
        meet = f"It is negative: nearby orbits approach each other{steps}" if mean < 0 else "Its sign is undecided"
        return (
            f"{meet}. No lower bound is known, since a Jacobian is as small as its own error: it might be 0, and the "
            "exponent −∞."
        )
    if (np.abs(values) <= bounds).all():
        return "It is zero to rounding, and nearby orbits keep their distance."
    if np.isneginf(mean) or mean < -error:
        return f"It is negative: nearby orbits approach each other{steps}."
    if mean > error:
        chaos = ", which is chaos if the motion stays bounded" * wanders
        longer = f" {_longer(ds)} makes the error smaller." * bool(name == "exponent" and error > WIDE * mean)
        return f"It is positive: nearby orbits separate{steps}{chaos}.{_signs(means, errors)}{longer}"
    if not np.isfinite(error):
        return "Its error is not known, and its sign is undecided."
    elapsed = float(ds[schema.TIME][-1]) - float(schema.settings(ds)["transient"])
    decides = f" {_longer(ds)} may decide it." * bool(name == "exponent" and abs(mean * elapsed) < FEW_NATS)
    return f"Its sign is undecided, since zero lies within the error.{decides}"


def _longer(ds: xr.Dataset) -> str:
    """What to ask for in place of so short a run."""
    if "echo_state" in ds:
        return "A longer input"
    length = "seconds" if ds["mean_exponent"].attrs["units"] == schema.NAT_PER_SECOND else "steps"
    longer = f"{LONGER * schema.settings(ds)[length]:.12g}"
    return f"A longer run (--{length} {longer}, in Python {length}={longer})"


def _signs(means: np.ndarray, errors: np.ndarray) -> str:
    """Which have which sign: "Of 3 exponents 1 is positive (Λ₁), 1 of undecided sign (Λ₂) and 1 negative (Λ₃)"."""
    if len(means) == 1:
        return ""
    negative = (means < -errors) | np.isneginf(means)
    groups = {"positive": means > errors, "of undecided sign": ~negative & ~(means > errors), "negative": negative}
    said = [f"{int(each.sum())} {word} ({_named_exponents(each)})" for word, each in groups.items() if each.any()]
    verb = agree(int(groups["positive"].sum()))
    return f" Of {counted(len(means), 'exponent')} {joined(said).replace(' ', f' {verb} ', 1)}."


def _named_exponents(which: np.ndarray) -> str:
    """Each run of three neighbours or more by its ends: "Λ₁", "Λ₁ and Λ₂", "Λ₁ to Λ₄ and Λ₆"."""
    numbers = np.flatnonzero(which) + 1
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    named = [[f"Λ{subscript(one)}" for one in run] for run in runs]
    return joined([word for run in named for word in (run if len(run) < 3 else [f"{run[0]} to {run[-1]}"])])


def _aligned(ds: xr.Dataset) -> str:
    """Where the first frame decides more than the samples do."""
    if "alignment_error" not in ds:
        return ""
    change = float(ds["alignment_error"][:, 0].mean())
    if not change > float(np.sqrt((ds["standard_error"][:, 0] ** 2).sum())) / ds.sizes[schema.SAMPLE]:
        return ""
    part = f"{number(change, 1)} {ds['mean_exponent'].attrs['units']}"
    return (
        f" Of the error of Λ₁ about {part} comes from the random directions of the first tangent vectors, and the "
        f"rest from differences between samples. Longer sequences (--inputs noise:1.0 --steps 2000) make both smaller."
    )


def _differing(ds: xr.Dataset, name: str) -> str:
    """Where samples have exponents of their own, as on different attractors."""
    if not differ(ds, name):
        return ""
    units, values = ds[name].attrs["units"], ds[name].values[:, 0]
    low, high = number(float(values.min())), number(float(values.max()))
    return f" The samples differ beyond their errors, from {low} to {high} {units}: they have no exponent in common."


def differ(ds: xr.Dataset, name: str) -> bool:
    """Whether samples have exponents of their own: no number lies within the errors of all."""
    errors, bounds = ds["exponent_error"].values[:, 0], ds["rounding_bound"].values[:, 0]
    values = with_signs(ds[name].values[:, 0], bounds)
    if np.isneginf(values).any():
        return not np.isneginf(values).all()
    mean, error = float(ds["mean_exponent"][0]), float(ds["mean_exponent_error"][0])
    known = name == "exponent" and np.isfinite(mean + error)
    return bool(known and (values - errors).max() > (values + errors).min())


def _by_sample(ds: xr.Dataset, name: str) -> str:
    """What nearby orbits do in how many samples: "Nearby orbits separate in 1 and meet in 1 of 2 samples"."""
    errors, bounds = ds["exponent_error"].values[:, 0], ds["rounding_bound"].values[:, 0]
    values = with_signs(ds[name].values[:, 0], bounds)
    separate, meet = values > errors, (values < -errors) | np.isneginf(values)
    counts = [(separate.sum(), "separate in"), (meet.sum(), "meet in")]
    said = joined([f"{words} {count}" for count, words in counts if count]) or "separate in none"
    unsure = int((~separate & ~meet).sum())
    undecided = f", {unsure} {agree(unsure)} undecided" if unsure else ""
    return f"Nearby orbits {said} of {counted(len(values), 'sample')}{undecided}"


def left_by_neighbours(ds: xr.Dataset) -> str:
    """A sentence before all others where driven orbits stayed on what their neighbours leave."""
    if "neighbours_leave" not in ds or not (left := ds["neighbours_leave"].values == 1).any():
        return ""
    which = f"{int(left.sum())} of {len(left)} orbits" if len(left) > 1 else "The orbit"
    rates = -ds["neighbour_rate"].values[left]
    stayed = "orbits that stayed" if left.sum() > 1 else "orbit that stayed"
    return (
        f"{which} stayed on a set that orbits beside it leave: from starts {number(BESIDE)} away nearby states "
        f"approach each other at last, at {interval(rates, 2)} {ds['neighbour_rate'].attrs['units']}. The "
        f"exponents told here are those of the {stayed}; other starts have others. "
    )


def _whereabouts(ds: xr.Dataset, name: str, ends: OrbitEnds, known: np.ndarray) -> tuple[str, str]:
    """A sentence before all others where orbits stayed on what their neighbours leave, and one for where others end."""
    errors, bounds = ds["exponent_error"].values[:, 0], ds["rounding_bound"].values[:, 0]
    values = with_signs(ds[name].values[:, 0], bounds)
    periods, points, dimensions = (each[known] for each in (ends.periods, ends.points, ends.dimensions))
    count, several = len(periods), len(periods) > 1
    orbits = "orbits" if several else "orbit"
    noun = "equilibrium" if ds[name].attrs["units"] == schema.NAT_PER_SECOND else "fixed point"
    leading = ends.leading[known]
    left = (periods > 0) & (leading > SURE) & ~(values > errors)
    unstable = (periods > 0) & (values > errors)
    stable = (periods > 0) & ((values < -errors) | np.isneginf(values)) & ~left
    unit, kinked = float(ends.unit[known].max()), bool(ends.kinked[known].any())
    before = after = ""
    if (dimensions >= 0).any():
        inside = f"{ranged(dimensions[dimensions >= 0], 0)} of {points.shape[1]} dimensions"
        share, whose = "The orbit", "its exponents"
        if several:
            share, whose = f"{int((dimensions >= 0).sum())} of {count} orbits", "their exponents, too"
        before += f"{share} stayed in {inside}, on a set that orbits beside it leave: these are {whose}, and "
        before += "other starts may have others. "
    if unstable.any():
        what = _named(periods[unstable], points[unstable], unit, noun, "unstable")
        if unstable.all():
            before += f"These are the exponents of {what}, where the {orbits} stayed. "
        else:
            before += f"{int(unstable.sum())} of {count} orbits stayed at {what}, and have its exponents. "
    if left.any():
        what = _named(periods[left], points[left], unit, noun, "unstable")
        which = f"{int(left.sum())} of {count} orbits are" if several else "the orbit is"
        came = "They came there from elsewhere" if several else "It came there from elsewhere"
        after = (
            f" At last {which} at {what}. {came} and may leave again: these exponents are not those of such a state, "
            "and averages over such an orbit need not settle."
        )
    elif (periods > 0).all() and not unstable.any():
        where = _named(periods, points, unit, noun, "stable" if stable.all() and not kinked else "")
        said = "of whose exponents these are upper bounds" if np.isposinf(bounds).any() else "whose exponents these are"
        after = f" The {orbits} {'end' if several else 'ends'} at {where}, {said}."
        if kinked:
            there = "There" if (periods == 1).all() else "It passes a point where"
            after += f" {there} the map has a kink or a jump, beside which other orbits may do something else."
    elif ends.drifting[known].any():
        drift = (
            f"{int(ends.drifting[known].sum())} of {count} orbits have {DRIFT}" if several else f"The orbit has {DRIFT}"
        )
        after = f" {drift}. The exponents of where {'they end' if several else 'it ends'} may differ."
    return before, after


def _named(periods: np.ndarray, points: np.ndarray, unit: float, noun: str, kind: str) -> str:
    """What orbits end at: "the unstable fixed point at 0", "stable fixed points (2) and a cycle of period 3 (1)".

    States are measured in `unit`, beside their own size.
    """
    lengths = np.unique(periods)
    if len(lengths) > 1:
        parts = [periods == length for length in lengths]
        return joined([f"{_named(periods[one], points[one], unit, noun, kind)} ({int(one.sum())})" for one in parts])
    kind = f"{kind} " if kind else ""
    if lengths[0] > 1:
        return f"{'an' if kind.startswith('u') else 'a'} {kind}cycle of period {number(int(lengths[0]))}"
    size = unit + np.abs(points).max()
    if np.ptp(points, axis=0).max() > SAME * size:
        return f"{kind}{plural_of(noun)}"
    point = np.where(np.abs(points[0]) <= ALL_BUT_ZERO * size, 0.0, points[0])
    return f"the {kind}{noun} at {place(point)}"


def _dimension(ds: xr.Dataset) -> str:
    if not (ds["kaplan_yorke_dimension"] > 0).any():
        return ""
    text = f" The Kaplan–Yorke dimension is {_known(ds, 'kaplan_yorke_dimension', 4)}"
    name = next(each for each in ("exponent", "finite_time_exponent") if each in ds)
    if (np.abs(ds[name].values[:, 0]) <= ds["rounding_bound"].values[:, 0]).any():
        text += ", if what is zero to rounding is 0"
    if np.isnan(ds["positive_exponent_sum"]).all():
        return f"{text}."
    units = ds["positive_exponent_sum"].attrs["units"]
    means, errors = ds["mean_exponent"].values, ds["mean_exponent_error"].values
    if len(ds["positive_exponent_sum"]) == 1 and (means > errors).sum() == 1 == (means > 0).sum():
        return f"{text}; the entropy rate is at most Λ₁, the one positive exponent."
    total = _known(ds, "positive_exponent_sum", figures=2)
    return f"{text}; the entropy rate is at most the sum of the positive exponents, {total} {units}."


def _known(ds: xr.Dataset, name: str, digits: int = 3, figures: int = 1) -> str:
    """The range over samples, and of one sample the value with its error: "2.061 ± 0.006"."""
    values, error = ds[name].values, float(ds[f"{name}_error"].values[0])
    if len(values) > 1 or error == 0 or not np.isfinite(error):
        return ranged(values, digits)
    return with_error(float(values[0]), error, figures=figures)


def _self_check(ds: xr.Dataset, name: str, size: int) -> str:
    """ΣΛ against the mean of ln abs(det J), which is computed without the frame."""
    sums, dets = ds[name].values.sum(axis=1), ds["mean_log_det"].values
    if ds.sizes[schema.MODE] < size:
        return ""
    both = np.isfinite(sums) & np.isfinite(dets)
    if not both.any():
        return ""  # a Jacobian is singular, or rounding hides a mode: the flags say which
    of_flow = ds[name].attrs["units"] == schema.NAT_PER_SECOND
    other = "the mean divergence of the vector field" if of_flow else "the mean of ln |det J| over the Jacobians J"
    total = f"{number(sums[both].mean(), 6)} {ds[name].attrs['units']}"
    difference = np.abs(sums[both] - dets[both]).max()
    off = f"they differ by {number(difference, 1)}" if difference else "they agree in every digit"
    return f" Check: the sum of all exponents is {total}, and so is {other}: {off}."


def _echo_state(ds: xr.Dataset) -> str:
    if "echo_state" not in ds:
        return ""
    outcome, rates = ds["echo_state"].values, ds["separation_rate"]
    counts = {each: int(np.sum(outcome == each)) for each in (MEET, DRAW_NEARER, STAY_APART)}
    found = {ECHO.get(each, each): count for each, count in counts.items() if count}
    samples, open_ = counted(len(outcome), "sample"), int(np.sum(outcome == NEITHER))
    two = f"two initial states at a distance of {number(FAR)}"
    everywhere = f" in all {samples}" if len(outcome) > 1 else ""
    if not found:
        text = f" Whether {two} meet under the same input is undecided{everywhere}"
    else:
        said = f"{joined([f'{words} in {count}' for words, count in found.items()])} of {samples}"
        if len(found) == 1 and not open_:
            said = f"{next(iter(found))}{everywhere}"
        said += f"; in {'the other ' * (len(found) == 1)}{open_} that is undecided" if open_ else ""
        text = f" {capital(two)} under the same input {said}"
    finite = rates.values[np.isfinite(rates.values)]
    if not finite.size:
        return f"{text}."
    rate = f"{interval(finite if finite.max() > 0 else -finite, 2)} {rates.attrs['units']}"
    changes = "falls" if finite.max() <= 0 else "rises" if finite.min() >= 0 else "changes"
    which = ", from sample to sample" if np.ptp(finite) > 0 else ""
    check = f"the logarithm of the distance of two states that begin almost equal {changes} by {rate}{which}"
    return f"{text}. Check of Λ₁ without Jacobians: {check}."
