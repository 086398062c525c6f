"""What a step makes of a flow, and of theory's bounds, in two or three sentences."""

import math

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, UNDECIDED, VIOLATED
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.diagnostics.stability.rates import ROUNDING
from dynlab.diagnostics.stability.theory import NO_BOUND
from dynlab.wording import (
    agree,
    at_least,
    at_most,
    capital,
    counted,
    interval,
    joined,
    near_one,
    number,
    over,
    ranged,
    share,
    some_of,
    typically,
    unit_after,
)

DIGITS = 5  # of the modulus of a multiplier that is not near 1
OF_FORM = (
    "the flow's Jacobian is diag(c) (A − γI), with A antisymmetric and c the activation's slopes, so that "
    "−γ max c ≤ Re λ ≤ −γ min c"
)
POSSESSIVE = {
    "euler": "Euler's step",
    "midpoint": "the explicit midpoint step",
    "rk4": "the Runge–Kutta 4 step",
    "implicit-midpoint": "the implicit midpoint step",
    "exponential-euler": "the exponential Euler step",
}


def verdict(ds: xr.Dataset, steps: int, described: str, at: str = "") -> str:
    """The step at its ε, the diffusion or the integrator that would help, the bounds that do not hold.

    Where one state is looked at, `at` says which: "at the origin of h′ = tanh(W h)".
    """
    where = some_of(ds.sizes[schema.TIME], steps) + over(steps, described)
    if "eigenvalue" not in ds:
        return _of_norm(ds, where)
    states = ds["stable"].size
    if not np.isfinite(ds["eigenvalue"].values).any():
        return f"No Jacobian of {where} is finite: the trajectories diverge."
    first = _of_one(ds, at) if states == 1 else _of_many(ds, where)
    return " ".join(filter(None, [first, _remedy(ds), _bounds(ds)]))


def _of_norm(ds: xr.Dataset, where: str) -> str:
    """Of a cell without a flow, whose Jacobian's norm alone is bounded."""
    one = ds.isel({schema.BOUND: 0})
    low, high, limit = (number(float(one[name])) for name in ("measured_low", "measured_high", "theory_high"))
    outcome = str(one["outcome"].values)
    said = "the bound holds" if outcome == HOLDS else f"the bound is {outcome}"
    return f"Over {where} ‖∂h_t/∂h_{{t−1}}‖₂ lies between {low} and {high}, cond(D_f) is {limit}: {said}."


def _of_one(ds: xr.Dataset, at: str) -> str:
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    leading = float(values.real.max())
    inside, outside = (values.real < -errors).all(), (values.real > errors).any()
    where = f"{at} the flow" if at else "the flow"
    flow = f"{capital(where)} is {'stable' if inside else 'unstable'}"
    name = POSSESSIVE[schema.settings(ds)["integrator"]]
    stable, used = int(ds["stable"].values[0, 0]), float(ds["used_step"].values[0, 0])
    modulus, critical = float(ds["step_modulus"].max()), float(ds["critical_step"].values[0, 0])
    said = {1: "is stable", 0: "is not stable", -1: "may be stable or not"}[stable]
    if stable == -1 and abs(modulus - 1) < ROUNDING:
        said = "neither grows nor decays but for rounding"
        if ds["dependent"].values[0, 0]:
            said = "may be unstable, as its eigenvectors at modulus 1 may be dependent and its powers grow"
    joint = " too" if stable == 1 and inside else ""
    own = f"{flow} (largest Re λ {number(leading)} per second), {name} at ε = {number(used)} s"
    if not (inside or outside):
        is_zero = f"{number(leading)} per second{', 0' * bool(leading)} within its error"
        own = (
            f"{capital(where)}'s largest Re λ is {is_zero}, so that the linear part does not decide whether the flow "
            f"is stable. {capital(name)} at ε = {number(used)} s"
        )
    text = f"{own} {said}{joint}: its largest multiplier has modulus {near_one(modulus, DIGITS)}"
    if np.isfinite(critical) and critical > 0:
        below = "up to which nothing grows" if stable == -1 and used < critical else "below which it is stable"
        return f"{text}, and the critical step is {at_least(critical)}, {below}."
    if critical == 0:
        return f"{text}, and no step is small enough."
    return f"{text}, and no step is too large." if np.isinf(critical) else f"{text}."


def _of_many(ds: xr.Dataset, where: str) -> str:
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    name = POSSESSIVE[schema.settings(ds)["integrator"]]
    stable, used, critical = ds["stable"].values, ds["used_step"].values, ds["critical_step"].values
    real = values.real[np.isfinite(values)]
    rounded = np.abs(real) <= errors[np.isfinite(values)]
    grows = float(np.mean((values.real > errors).any(axis=-1)))
    told = np.where(rounded, 0, real)
    spread = f"{interval(told, 4)} per second"
    spread += ", where 0 stands for what lies within its error of it" * (0 in (told.min(), told.max()))
    noun = "inner flow" if "ernn" in ds.attrs["system"] else "flow"
    flow = f"the {noun} is unstable at {share(grows)} of {counted(stable.size, 'state')}"
    text = (
        f"Over {where} {flow} (Re λ is {spread}). {capital(name)} at ε = {ranged(used, 4)} "
        f"is unstable at {share(np.mean(stable == 0))} of them"
    )
    if (stable == -1).any():
        text += f", and may be stable or not at {share(np.mean(stable == -1))}"
    known = critical[np.isfinite(critical) & (critical > 0)]
    if known.size:
        stable_flow = " where the flow is stable" if (critical == 0).any() else ""
        text += f"; the critical step {typically(known, 3, at_least)}{stable_flow}"
    worst = float(np.nanmax(ds["step_modulus"].values))
    text = f"{text}. The largest modulus of a multiplier is {near_one(worst, DIGITS)}."
    if (stable == 1).all():
        text += " That is said of each state by itself: along a trajectory products of Jacobians decide."
    return text


def _remedy(ds: xr.Dataset) -> str:
    """Where a step is unstable: the γ that it needs, and which integrators are stable at this ε."""
    if not (ds["stable"].values == 0).any():
        return ""
    text, parts = "", []
    if "needed_diffusion" in ds and np.isfinite(needed := float(ds["needed_diffusion"])):
        least = at_most(math.nextafter(needed, math.inf))
        own = f"{number(float(ds['own_diffusion']))} per second" if "own_diffusion" in ds else "not known"
        text = (
            f"The least diffusion γ that would make the step stable at this ε is {least} per second; here γ is {own}. "
        )
    unstable, open_ = ds["integrator_unstable"].values, ds["integrator_undecided"].values
    steps = ds["integrator_step"].values
    titles = [method.title for method in METHODS.values()]
    calm = (unstable == 0) & (open_ == 0)
    border = (unstable == 0) & (open_ == 1) & (np.abs(ds["integrator_modulus"].values - 1) < ROUNDING)
    border &= ds["integrator_dependent"].values == 0
    other = np.array(list(METHODS)) != schema.settings(ds)["integrator"]
    for which, words in (
        (calm & ~np.isinf(steps), "would be stable at this ε"),
        (calm & np.isinf(steps), "would be stable at any"),
        (border, "would keep the size of small changes, up to rounding"),
        ((unstable == 0) & (open_ > 0) & (open_ < 1), "would be unstable at no state"),
        (other & (unstable == 0) & (open_ == 1) & ~border, "might be stable or not"),
        (other & (unstable > 0) & (unstable < 1), "would be unstable at some states, too"),
        (other & (unstable == 1), "would be unstable, too"),
    ):
        if which.any():
            named = joined([title for title, one in zip(titles, which, strict=True) if one])
            parts.append(f"{named[:1].lower() + named[1:] if not named.startswith('Runge') else named} {words}")
    others = f"Of the other integrators {'; '.join(parts)}." if parts else ""
    return f"{text}{others}".rstrip()


def _bounds(ds: xr.Dataset) -> str:
    names, outcomes = ds["quantity"].values, ds["outcome"].values
    bounded = [(name, outcome) for name, outcome in zip(names, outcomes, strict=True) if outcome != NO_BOUND]
    if not bounded:
        return ""
    wrong = [_claim(name) for name, outcome in bounded if outcome == VIOLATED]
    unknown = [_claim(name) for name, outcome in bounded if outcome == UNDECIDED]
    kept = len(bounded) - len(wrong) - len(unknown)
    if kept == len(bounded):
        columns = (ds[each].values[outcomes != NO_BOUND] for each in ("quantity", "theory_low", "theory_high", "unit"))
        rows = zip(*columns, strict=True)
        said = [_bound(*row) for row in rows]
        text = f"the {'bound' if kept == 1 else 'bounds'} {joined(said)} {agree(kept, 'holds', 'hold')}"
        if kept == 1 and said[0].startswith(OF_FORM):
            text = said[0]
    else:
        whose = "of the ERNN paper's theory" if "ernn" in ds.attrs["system"] else "of theory"
        text = f"of {len(bounded)} statements {whose} {kept} {agree(kept, 'holds', 'hold')}"
    if wrong:
        text += f". Violated: {joined(wrong)}"
    if unknown:
        text += f". Undecided: {joined(unknown)}"
    return f"{capital(text)}."


def _bound(name: str, low: float, high: float, unit: str) -> str:
    """A bound with its number: "on Re λ of the flow (−1 to 0 per second)", "‖J‖ ≤ cond(D_f) = 1.2"."""
    if "≤" in name:
        return f"{name} = {number(high)}"
    ends = interval([float(f"{end:.2g}") for end in (low, high)], 2)  # one may be tiny beside the other
    if name.startswith("Re λ"):
        return f"{OF_FORM} (here {ends}{unit_after(unit)}), which holds"
    return f"on {name} ({ends}{unit_after(unit)})"


def _claim(name: str) -> str:
    """A statement inside a list: "Lemma 1 (σ_min(∇F) > 0)"."""
    of, _, claim = name.partition(": ")
    return f"{of} ({claim})" if claim else name
