"""The verdict of `dynlab.stability`: the flow, the step, and what would help or theory's bounds."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, UNDECIDED, VIOLATED
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.words import at_least, at_most, counted, interval, joined, near_one, number, ranged, share, some_of

OUTCOME = {1: "is stable", 0: "is unstable", -1: "is on the border of stability within its error"}


def verdict(ds: xr.Dataset, steps: int, described: str, place: str) -> str:
    """Say whether the flow and the step are stable, and what would help or theory's bounds; one state is at `place`."""
    where = some_of(ds.sizes[schema.TIME], steps, described)
    if "eigenvalue" not in ds:
        return f"{_norm(ds)} over {where}."
    if not np.isfinite(ds["eigenvalue"].values).any():
        return f"No Jacobian of {where} is finite: the trajectories diverge."
    last = _bounds(ds, (VIOLATED, UNDECIDED)) or _remedy(ds) or _bounds(ds, (HOLDS,))
    return f"{_states(ds, where, place)}{_critical(ds)}. {last}".rstrip()


def _norm(ds: xr.Dataset) -> str:
    one = ds.isel({schema.BOUND: 0})
    outcome, low, high = (one[name].item() for name in ("outcome", "measured_low", "measured_high"))
    said = "holds" if outcome == HOLDS else f"is {outcome}"
    measured = f", the measured norms are {interval([low, high], 4)}" if np.isfinite(low) else ""
    return f"The bound ‖∂h_t/∂h_{{t−1}}‖₂ ≤ cond(D_f) = {at_most(one['theory_high'].item())} {said}{measured}"


def _states(ds: xr.Dataset, where: str, place: str) -> str:
    """Say at how many states flow and step are stable; of one state, whether they are."""
    values, errors, stable = (ds[name].values for name in ("eigenvalue", "eigenvalue_error", "stable"))
    unstable = (values.real > errors).any(axis=-1)
    worst = f"(largest |μ| {near_one(float(np.nanmax(ds['step_modulus'].values)), 5)})"
    title = METHODS[schema.settings(ds)["integrator"]].title
    step = f"The {title} step at ε = {ranged(ds['used_step'].values, 4)} s"
    if stable.size == 1:
        stays = "the flow is stable" if (values.real < -errors).all() else "the linear part of the flow is undecided"
        first = f"At {place} {'the flow is unstable' if unstable.any() else stays}"
        largest = number(float(values.real.max()))
        return f"{first}: its largest Re λ is {largest} per second. {step} {OUTCOME[int(stable.item())]} {worst}"
    finite = np.isfinite(values) & np.isfinite(errors)
    real = np.where(np.abs(values.real) <= errors, 0, values.real)[finite]  # undecided signs are told as 0
    noun = "inner flow" if "ernn" in ds.attrs["system"] else "flow"
    rates = f" (Re λ {interval(real, 4)} per second)" if real.size else ""
    open_ = f", undecided at {share(np.mean(stable == -1))}" if (stable == -1).any() else ""
    return (
        f"The {noun} is unstable at {share(float(unstable.mean()))} of {counted(stable.size, 'state')} over {where}, "
        f"each by itself{rates}. {step} is unstable at {share(np.mean(stable == 0))} of them{open_} {worst}"
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
        own = number(ds["own_diffusion"].item())
        ways.append(f"with a diffusion γ of {at_most(needed)} per second instead of {own}")
    return f"At this ε the step would be stable {', or '.join(ways)}." if ways else ""


def _bounds(ds: xr.Dataset, outcomes: tuple[str, ...]) -> str:
    """Name those of theory's bounds that have these outcomes; "" where none has."""
    found, names = ds["outcome"].values.astype(str), ds["quantity"].values
    if outcomes == (HOLDS,):
        return f"Theory's {'bound holds' if len(found) == 1 else f'{len(found)} bounds hold'}." if len(found) else ""
    parts = [f"{each}: {joined([str(name) for name in names[found == each]])}" for each in outcomes if each in found]
    return f"Theory's bounds, {'; '.join(parts)}." if parts else ""
