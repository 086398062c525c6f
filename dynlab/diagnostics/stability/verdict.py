"""The verdict of `dynlab.stability`: the flow, the step, and what would help or theory's bounds."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, UNDECIDED, VIOLATED
from dynlab.diagnostics.stability.methods import METHODS, Method
from dynlab.diagnostics.stability.theory import NO_BOUND
from dynlab.wording import (
    at_least,
    at_most,
    capital,
    counted,
    interval,
    joined,
    near_one,
    number,
    ranged,
    share,
    some_of,
)

DIGITS = 5  # of the modulus of a multiplier that is not near 1
OUTCOME = {1: "is stable", 0: "is unstable", -1: "is on the border of stability within its error"}


def verdict(ds: xr.Dataset, steps: int, described: str, place: str) -> str:
    """Say whether the flow and the step are stable, and what would help or theory's bounds; one state is at `place`."""
    where = some_of(ds.sizes[schema.TIME], steps, described)
    if "eigenvalue" not in ds:
        return f"{_norm(ds)} over {where}."
    if not np.isfinite(ds["eigenvalue"].values).any():
        return f"No Jacobian of {where} is finite: the trajectories diverge."
    first = _one_state(ds, place) if ds["stable"].size == 1 else _many_states(ds, where)
    last = _bounds(ds, (VIOLATED, UNDECIDED)) or _remedy(ds) or _bounds(ds, (HOLDS,))
    return f"{first}{_critical(ds)}. {last}".rstrip()


def _norm(ds: xr.Dataset) -> str:
    one = ds.isel({schema.BOUND: 0})
    outcome, low, high = (one[name].item() for name in ("outcome", "measured_low", "measured_high"))
    limit = at_most(one["theory_high"].item())
    said = "holds" if outcome == HOLDS else f"is {outcome}"
    measured = f", the measured norms are {interval([low, high], 4)}" if np.isfinite(low) else ""
    return f"The bound ‖∂h_t/∂h_{{t−1}}‖₂ ≤ cond(D_f) = {limit} {said}{measured}"


def _one_state(ds: xr.Dataset, place: str) -> str:
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    flow = f"At {place} the flow is {'unstable' if (values.real > errors).any() else 'stable'}"
    if not ((values.real < -errors).all() or (values.real > errors).any()):
        flow = f"At {place} the linear part does not decide whether the flow is stable"
    rate = f"its largest Re λ is {number(float(values.real.max()))} per second"
    used, stable = float(ds["used_step"].item()), int(ds["stable"].item())
    growing = ", and powers may grow" if stable == -1 and ds["dependent"].item() else ""
    modulus = near_one(float(ds["step_modulus"].max()), DIGITS)
    step = f"{capital(_method(ds).step)} at ε = {number(used)} s {OUTCOME[stable]}{growing}"
    return f"{flow}: {rate}. {step} (largest |μ| {modulus})"


def _many_states(ds: xr.Dataset, where: str) -> str:
    values, errors, stable = (ds[name].values for name in ("eigenvalue", "eigenvalue_error", "stable"))
    finite = np.isfinite(values) & np.isfinite(errors)
    real = np.where(np.abs(values.real) <= errors, 0, values.real)[finite]  # undecided signs are told as 0
    unstable = share(float(np.mean((values.real > errors).any(axis=-1))))
    noun = "inner flow" if "ernn" in ds.attrs["system"] else "flow"
    worst = near_one(float(np.nanmax(ds["step_modulus"].values)), DIGITS)
    used = ranged(ds["used_step"].values, 4)
    rates = f" (Re λ {interval(real, 4)} per second)" if real.size else ""
    open_ = f", undecided at {share(np.mean(stable == -1))}" if (stable == -1).any() else ""
    return (
        f"The {noun} is unstable at {unstable} of {counted(stable.size, 'state')} over {where}, each by itself{rates}. "
        f"{capital(_method(ds).step)} at ε = {used} s is unstable at "
        f"{share(np.mean(stable == 0))} of them{open_} (largest |μ| {worst})"
    )


def _critical(ds: xr.Dataset) -> str:
    """The critical step; of several states the smallest one at which the flow is stable."""
    known = ds["critical_step"].values[~np.isnan(ds["critical_step"].values)]
    positive = known[known > 0]
    if not positive.size:
        return ", and no step is small enough" if known.size else ""
    least = float(positive.min())
    if np.isinf(least):
        return ", and no step is too large"
    where = " where the flow is stable" if positive.size < known.size else ""
    return f"; the {'smallest ' * (ds['stable'].size > 1)}critical step{where} is {at_least(least)} s"


def _remedy(ds: xr.Dataset) -> str:
    """Name the integrators that would be stable at every state, and the γ that an unstable step needs."""
    if not (ds["stable"].values == 0).any():
        return ""
    calm = (ds["integrator_unstable"].values == 0) & (ds["integrator_undecided"].values == 0)
    stable = [method.title for method, one in zip(METHODS.values(), calm, strict=True) if one]
    ways = [f"with {joined(stable).replace(' and ', ' or ')}"] if stable else []
    if "needed_diffusion" in ds and np.isfinite(needed := ds["needed_diffusion"].item()):
        ways.append(
            f"with a diffusion γ of {at_most(needed)} per second instead of {number(ds['own_diffusion'].item())}"
        )
    return f"At this ε the step would be stable {', or '.join(ways)}." if ways else ""


def _bounds(ds: xr.Dataset, outcomes: tuple[str, ...]) -> str:
    """Which of theory's bounds have these outcomes; "" where none has."""
    found = ds["outcome"].values
    if HOLDS in outcomes:
        count = int((found != NO_BOUND).sum())
        return f"Theory's {'bound holds' if count == 1 else f'{count} bounds hold'}." if count else ""
    names = {each: [_claim(str(name)) for name in ds["quantity"].values[found == each]] for each in outcomes}
    parts = [f"{each}: {joined(one)}" for each, one in names.items() if one]
    return f"Theory's bounds, {'; '.join(parts)}." if parts else ""


def _claim(quantity: str) -> str:
    """A statement inside a list: "Lemma 1 (σ_min(∇F) > 0)"."""
    of, _, claim = quantity.partition(": ")
    return f"{of} ({claim})" if claim else quantity


def _method(ds: xr.Dataset) -> Method:
    return METHODS[schema.settings(ds)["integrator"]]
