"""The Dataset of covariant Lyapunov vectors: what two passes agree on, and what it says in a few sentences."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.covariant_vectors.ginelli import RUNS, Passes, TangentSteps, angles_between, subspace_angles
from dynlab.diagnostics.lyapunov.orbits import Flags, none_inside, why_cut
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.statistics import BLOCKS, FEW_NATS, SHORTEST_BLOCK, standard_errors, sure
from dynlab.systems import Flow, System
from dynlab.words import agree, number, ranged

AGREE = 1e-6  # radians between the vectors of both runs, above which they are not determined
# The gap between two exponents must explain half of the decades of that agreement over the shorter transient: vectors
# of a defective matrix agree too after long enough, but as 1/t.
SEPARATED = float(-np.log(AGREE) / 2)
ROUNDING = 1e-10  # nat a step: an exponent that near to 0 is 0 to rounding
MOST_NUMBERS = 2**22  # of vectors that are kept
METHOD = (
    "Ginelli's method: the Jacobians carry a random frame forward, which QR makes orthonormal after every {step}, and "
    "random upper triangular coefficients are carried back through R⁻¹, twice from other random starts. A vector is "
    f"determined where both runs agree within {AGREE:g} rad at every step between the transients, and the gaps of its "
    f"exponent to its neighbours, times the shorter transient, exceed {SEPARATED:.3g}. Signs of exponents are "
    f"believed beyond an error that two in a thousand exceed, and where all the growth is above {FEW_NATS:g} nats"
)
LOST = "NaN where the orbit was cut, or rounding drowns the mode"
UNDETERMINED = f"NaN where the vector is not determined: its exponent is not told from another's, or {LOST[4:]}"
NO_ANGLE = "NaN where no exponent is certainly positive, or none certainly negative, or the orbit was cut"
TIME, EACH, MODE = (schema.SAMPLE, schema.TIME), (schema.SAMPLE,), (schema.SAMPLE, schema.MODE)
# name: dimensions, long name, kind of unit (a rate, a time or none), why values are missing
VARIABLES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "trajectory": ((*TIME, schema.STATE), "state h", "", "NaN where the orbit was cut"),
    "vector": ((*TIME, schema.MODE, schema.STATE), "covariant Lyapunov vector v_i", "", UNDETERMINED),
    "local_rate": ((*TIME, schema.MODE), "local growth rate along v_i", "rate", UNDETERMINED),
    "exponent": (MODE, "Lyapunov exponent Λ_i", "rate", LOST),
    "standard_error": (MODE, "standard error of Λ_i", "rate", f"{LOST}, or there are too few blocks"),
    "mean_local_rate": (MODE, "mean local growth rate along v_i", "rate", UNDETERMINED),
    "determined": (MODE, "1: the vector is determined", "", ""),
    "start_difference": (MODE, "largest angle between runs from other starts (rad)", "", LOST),
    "covariance_residual": (MODE, "largest ‖J v_i(t − 1)/‖·‖ − v_i(t)‖", "", LOST),
    "angle": (TIME, "smallest angle between unstable and stable subspace (rad)", "", NO_ANGLE),
    "angle_error": (TIME, "difference of this angle between runs from other starts (rad)", "", NO_ANGLE),
    "smallest_angle": (EACH, "smallest of these angles at any step (rad)", "", NO_ANGLE),
    "smallest_angle_time": (EACH, "when it is smallest", "time", NO_ANGLE),
    "median_angle": (EACH, "median of these angles (rad)", "", NO_ANGLE),
    "angle_difference": (EACH, "largest difference of these angles between runs (rad)", "", NO_ANGLE),
    "unstable_dimension": (EACH, "dimension of the unstable subspace", "", ""),
    "stable_dimension": (EACH, "dimension of the stable subspace that was followed", "", ""),
}


def measured(steps: TangentSteps, passes: Passes, first: int, last: int, times: int) -> tuple[Index, dict[str, Real]]:
    """Return the steps that are kept, and the variables' values, rates in nat a step."""
    window, (samples, k, n) = last - first, (*passes.sound.shape, steps.states.shape[2])
    blocks = max(1, min(BLOCKS, window // SHORTEST_BLOCK))
    growth = passes.log_factors.cumsum(axis=1)
    exponents = growth[:, -1] / window
    errors = standard_errors(growth, np.arange(1.0, window + 1), blocks if window >= SHORTEST_BLOCK else 0)
    cut, _ = steps.cuts()
    inside = np.isinf(cut)
    sound = passes.sound & inside[:, None]
    unstable, stable = _dimensions(exponents, sure(blocks) * errors + ROUNDING, sound)
    most = max(1, MOST_NUMBERS // (samples * n * k))
    kept = np.unique(np.round(np.linspace(first + 1, last, min(times, window, most))).astype(int))
    vectors, rates = np.zeros((samples, len(kept), k, n)), np.zeros((samples, len(kept), k))
    angles = np.full((RUNS, samples, window), np.nan)
    total, differences, residuals = np.zeros((3, samples, k))
    for stretch in passes.back():
        here = np.flatnonzero((kept > stretch.start) & (kept <= stretch.stop))
        at = kept[here] - stretch.start - 1
        vectors[:, here], rates[:, here] = stretch.vectors[0][:, at].swapaxes(-1, -2), stretch.rates[:, at]
        total += stretch.rates.sum(axis=1)
        differences = np.fmax(differences, angles_between(*stretch.vectors).max(axis=1))
        residuals = np.fmax(residuals, stretch.residuals.max(axis=1))
        part = slice(stretch.start - first, stretch.stop - first)
        angles[:, :, part] = subspace_angles(stretch, unstable, stable, sound.sum(axis=1))
    determined = sound & (differences <= AGREE) & _separated(exponents, min(first, steps.count - last))
    values = {
        "trajectory": np.where((kept >= cut[:, None])[..., None], np.nan, steps.states[:, kept]),
        "vector": np.where(determined[:, None, :, None], vectors, np.nan),
        "local_rate": np.where(determined[:, None], rates, np.nan),
        "mean_local_rate": np.where(determined, total / window, np.nan),
        "determined": determined.astype(np.int8),
        "unstable_dimension": np.where(inside, unstable, 0),
        "stable_dimension": np.where(inside, stable, 0),
    }
    of_modes = {"exponent": exponents, "standard_error": errors, "start_difference": differences}
    values |= {
        name: np.where(sound, each, np.nan) for name, each in (of_modes | {"covariance_residual": residuals}).items()
    }
    return kept, values | _angles(angles, first, kept)


def _angles(angles: Real, first: int, kept: Index) -> dict[str, Real]:
    """Return the variables of the angles of both runs, (run, sample, step), NaN where one is not known at some step."""
    known = np.isfinite(angles[0]).all(axis=1)
    ours, apart = np.nan_to_num(angles[0]), np.nan_to_num(np.abs(angles[0] - angles[1]))
    of_samples = {
        "smallest_angle": ours.min(axis=1),
        "smallest_angle_time": first + 1.0 + ours.argmin(axis=1),
        "median_angle": np.median(ours, axis=1),
        "angle_difference": apart.max(axis=1),
    }
    at = kept - first - 1
    return {
        "angle": angles[0][:, at],
        "angle_error": np.abs(angles[0] - angles[1])[:, at],
        **{name: np.where(known, values, np.nan) for name, values in of_samples.items()},
    }


@np.errstate(invalid="ignore")
def _dimensions(exponents: Real, margin: Real, sound: Flags) -> tuple[Index, Index]:
    """Return how many leading modes certainly grow and how many of the last sound ones certainly decay."""
    grows, decays = exponents > margin, exponents < -margin
    unstable = np.cumprod(grows & sound, axis=1).sum(axis=1)
    stable = np.cumprod((decays | ~sound)[:, ::-1], axis=1).sum(axis=1) - (~sound).sum(axis=1)
    return unstable.astype(np.int64), np.maximum(stable, 0).astype(np.int64)


def _separated(exponents: Real, transient: int) -> Flags:
    """Return whether the gaps to both neighbours are wide enough for the transients."""
    gaps = exponents[:, :-1] - exponents[:, 1:]
    wide = np.pad(gaps * transient >= SEPARATED, ((0, 0), (1, 1)), constant_values=True)
    return wide[:, :-1] & wide[:, 1:]


def dataset(
    steps: TangentSteps,
    kept: Index,
    values: dict[str, Real],
    system: System,
    settings: dict[str, Any],
    *,
    averaged: str,
    before: str,
) -> xr.Dataset:
    """Return the Dataset of `dynlab.covariant_vectors`; its verdict says `before`, and over what is `averaged`."""
    flow = isinstance(system, Flow)
    units = {
        "rate": schema.NAT_PER_SECOND if flow else schema.NAT_PER_STEP,
        "time": schema.SECOND if flow else schema.STEP,
        "": schema.ONE,
    }
    scale = {"rate": 1 / steps.length, "time": steps.length}
    return schema.result(
        system,
        {
            name: (dims, values[name] * scale[kind] if kind else values[name], words, units[kind])
            for name, (dims, words, kind, _) in VARIABLES.items()
        },
        settings=settings | {"separated": SEPARATED},
        verdict=lambda ds: before + _verdict(ds, steps, averaged, settings),
        method=METHOD.format(step=f"{steps.length:.3g} s" if flow else "step"),
        coords={schema.TIME: schema.time_coordinate(kept * steps.length if flow else kept, units["time"])},
        reasons={name: row[3] for name, row in VARIABLES.items()},
    )


def _verdict(ds: xr.Dataset, steps: TangentSteps, averaged: str, settings: dict[str, Any]) -> str:
    cut, lost = steps.cuts()
    inside = np.isinf(cut)
    why = why_cut(cut * steps.length, lost, settings["largest_state"], "seconds" in settings)
    if not inside.any():
        return f"No vector is known over {averaged}: {none_inside(len(inside), why)}"
    counts, means = ds["determined"].values[inside].sum(axis=1), ds["exponent"].mean(schema.SAMPLE)
    ends = [number(each, 2) for each in means.dropna(schema.MODE).values[[0, -1]]] if means.notnull().any() else []
    span = f"; exponents go from {' to '.join(ends)} {ds['exponent'].attrs['units']}" * bool(ends)
    longer, gone = " A longer run may determine some." * (not counts.any()), int((~inside).sum())
    left_out = f" {gone} of {len(inside)} orbits {why}, and {agree(gone)} left out." * bool(gone)
    return (
        f"Over {averaged}: {ranged(counts, 0)} of {ds.sizes[schema.MODE]} covariant vectors are determined{span}. "
        f"{_angle(ds.isel({schema.SAMPLE: inside}))}{longer}{left_out}"
    )


def _angle(ds: xr.Dataset) -> str:
    """Return the sentence on the angle between the subspaces of orbits that were not cut."""
    if np.isnan(ds["median_angle"].values).all():
        missing = "negative" if ds["unstable_dimension"].values.any() else "positive"
        return f"No exponent is {missing} beyond its error, and so there is no angle between subspaces."
    unstable, stable = (ranged(ds[f"{name}_dimension"].values, 0) for name in ("unstable", "stable"))
    least = np.nanmin(np.maximum(ds["smallest_angle"].values - ds["angle_difference"].values, 0))
    return (
        f"The angle between the unstable subspace (dimension {unstable}) and the stable one (dimension {stable}) is "
        f"{_degrees(np.nanmedian(ds['median_angle'].values))} in the median and at least {_degrees(least)}."
    )


def _degrees(angle: float) -> str:
    return f"{number(float(np.degrees(angle)), 3)}°"
