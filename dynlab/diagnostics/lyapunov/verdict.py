"""Lyapunov exponents in one or two plain sentences."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.lyapunov.separation import DRAW_NEARER, MEET, NEITHER, STAY_APART
from dynlab.numerics.statistics import DECIDED
from dynlab.wording import ranged


def verdict(ds: xr.Dataset, averaged: str, name: str, bound: str, *, at_rest: bool, size: int) -> str:
    """What the exponents say.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.lyapunov`, but for its verdict.
    averaged : str
        Over what they were taken: "116 steps of 16 sequences (the first 12 discarded)".
    name : str
        ``exponent`` or ``finite_time_exponent``.
    bound : str
        Beyond which orbits are cut, and when the first was: "|h_i| ≤ 1e+08, the first at step 14".
    at_rest : bool
        Whether the orbits have come to rest.
    size : int
        The dimension of the state.
    """
    values = ds[name].values
    known = ~np.isnan(values).all(axis=1)
    if not known.any():
        left = "the orbit leaves" if len(known) == 1 else "every orbit leaves"
        return f"No exponent is known over {averaged}: {left} {bound}, and is cut there.".replace("-", "−")
    some = ds.isel({schema.SAMPLE: np.flatnonzero(known)})
    words = "finite-time exponent" if name != "exponent" else "Lyapunov exponent"
    text = (
        f"Over {averaged} the largest {words} is {_largest(some, name)}: {_meaning(some, name)}.{_aligned(some, name)}"
    )
    if at_rest:
        text += " The orbit ends at a fixed point, whose exponents these are."
    else:
        text += _dimension(some)
    text += _self_check(some, name, size) + _echo_state(some)
    if not known.all():
        gone = int(np.sum(~known))
        verb = "leaves" if gone == 1 else "leave"
        text += f" {gone} of {len(known)} orbits {verb} {bound}, and {'is' if gone == 1 else 'are'} left out."
    return text


def _means(ds: xr.Dataset, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The means of the exponents over samples, their standard errors (NaN where there is none), and the bounds.

    Of what rounding adds, and of finite-time exponents the alignment of the frame, which all samples share.
    """
    errors = np.sqrt((ds["standard_error"].values ** 2).sum(axis=0)) / ds.sizes[schema.SAMPLE]
    bounds = ds["rounding_bound"].values.max(axis=0)
    if "alignment_error" in ds:
        bounds = bounds + ds["alignment_error"].values.mean(axis=0)
    return ds[name].values.mean(axis=0), errors, bounds


def _largest(ds: xr.Dataset, name: str) -> str:
    mean, error = (values[0] for values in _means(ds, name)[:2])
    count = ds.sizes[schema.SAMPLE]
    if np.isneginf(mean):
        return "−inf, since a Jacobian is singular"
    units, spread = ds[name].attrs["units"], f", mean of {count} samples" if count > 1 else ""
    known = f"± {error:.1g}" if np.isfinite(error) else "error not known"
    return f"{_number(mean, '.4g')} {units} ({known}{spread})".replace("e-", "e−")


def _meaning(ds: xr.Dataset, name: str) -> str:
    means, errors, roundings = _means(ds, name)
    mean, margin = means[0], (DECIDED * errors + roundings)[0]
    if abs(mean) <= ds["rounding_bound"].values.max(axis=0)[0]:
        return "zero to rounding, nearby orbits keep their distance"
    if np.isneginf(mean) or mean < -margin:
        return "nearby orbits meet"
    if mean > margin:
        count = int((means > DECIDED * errors + roundings).sum())
        more = "is" if count == 1 else "are"
        return f"nearby orbits separate, {count} of {len(means)} exponents {more} positive beyond the error"
    return "its sign is undecided" + ("" if np.isnan(margin) else ", zero lies within its error")


def _aligned(ds: xr.Dataset, name: str) -> str:
    """Where the first frame decides more than the samples do."""
    if "alignment_error" not in ds:
        return ""
    change, error = float(ds["alignment_error"].values.mean(axis=0)[0]), _means(ds, name)[1][0]
    if not change > error:
        return ""
    units = ds[name].attrs["units"]
    return (
        f" Another first frame changes it by {change:.1g} {units}: over so few steps tangent vectors do not align."
    ).replace("e-", "e−")


def _dimension(ds: xr.Dataset) -> str:
    if not (ds["kaplan_yorke_dimension"] > 0).any():
        return ""
    units = ds["positive_exponent_sum"].attrs["units"]
    bound = f"the entropy rate is at most the positive exponents' sum, {_known(ds, 'positive_exponent_sum')} {units}"
    return f" The Kaplan–Yorke dimension is {_known(ds, 'kaplan_yorke_dimension', '.3f')}; {bound}."


def _known(ds: xr.Dataset, name: str, spec: str = ".3g") -> str:
    """The range over samples, and of one sample the value with its error: "2.061 (± 0.006)"."""
    values, error = ds[name].values, float(ds[f"{name}_error"].values[0])
    if len(values) > 1 or error == 0:
        return ranged(values, spec)
    return f"{ranged(values, spec)} ({f'± {error:.1g}' if np.isfinite(error) else 'error not known'})".replace("-", "−")


def _self_check(ds: xr.Dataset, name: str, size: int) -> str:
    """Σλ against the mean of ln abs(det J), which is computed without the frame."""
    sums, dets = ds[name].values.sum(axis=1), ds["mean_log_det"].values
    if ds.sizes[schema.MODE] < size:
        return ""
    both = np.isfinite(sums) & np.isfinite(dets)
    if not both.any():
        return " Σλ has no finite value to check: a Jacobian is singular, or a mode is not resolved."
    other = "the mean divergence" if ds[name].attrs["units"] == schema.NAT_PER_SECOND else "the mean of ln |det J|"
    difference = f"{np.abs(sums[both] - dets[both]).max():.0e}".replace("-", "−")
    return f" Check: Σλ = {_number(sums[both].mean(), '.6g')}, {other} differs by {difference}."


def _echo_state(ds: xr.Dataset) -> str:
    if "echo_state" not in ds:
        return ""
    outcome, rate = ds["echo_state"].values, ds["separation_rate"]
    counts = {each: int(np.sum(outcome == each)) for each in (MEET, DRAW_NEARER, STAY_APART, NEITHER)}
    said = ", ".join(f"{each} in {count}" for each, count in counts.items() if count)
    rates = ranged(rate.values, ".4g").replace("-", "−")
    return (
        f" Two starts under the same input {said} of {len(outcome)} samples; near ones separate at {rates} "
        f"{rate.attrs['units']}."
    )


def _number(value: float, spec: str) -> str:
    return format(value, spec).replace("-", "−")
