"""What a step makes of a flow, and of theory's bounds, in two or three sentences."""

import math

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, UNDECIDED, VIOLATED
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.diagnostics.stability.rates import ROUNDING
from dynlab.diagnostics.stability.theory import NO_BOUND
from dynlab.numerics.arrays import Real
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
    ranged,
    share,
    some_of,
    unit_after,
)

DIGITS = 5  # of the modulus of a multiplier that is not near 1
OF_GATE = "of the gate"
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
    where = some_of(ds.sizes[schema.TIME], steps, described)
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
    kind = "stable" if inside else "unstable"
    flow = f"{capital(where)} is {kind}: its largest Re λ is {number(leading)} per second"
    name = POSSESSIVE[schema.settings(ds)["integrator"]]
    stable, used = int(ds["stable"].values[0, 0]), float(ds["used_step"].values[0, 0])
    modulus, critical = float(ds["step_modulus"].max()), float(ds["critical_step"].values[0, 0])
    said = {1: "is stable", 0: "is not stable", -1: "may be stable or not"}[stable]
    if stable == -1 and abs(modulus - 1) < ROUNDING:
        said = "neither grows nor decays but for rounding"
        if ds["dependent"].values[0, 0]:
            said = "may be unstable, as its eigenvectors at modulus 1 may be dependent and its powers grow"
    joint = " too" if stable == 1 and inside else ""
    if not (inside or outside):
        is_zero = f"{number(leading)} per second{', 0' * bool(leading)} within its error"
        flow = (
            f"{capital(where)}'s largest Re λ is {is_zero}, so that the linear part does not decide whether the flow "
            f"is stable"
        )
    multiplier = f"its largest multiplier has modulus {near_one(modulus, DIGITS)}"
    text = f"{flow}. {capital(name)} at ε = {number(used)} s {said}{joint}: {multiplier}."
    if np.isfinite(critical) and critical > 0:
        below = "up to it nothing grows" if stable == -1 and used < critical else "below it the step is stable"
        return f"{text} The critical step is {at_least(critical)} s: {below}."
    if critical == 0:
        return f"{text} No step is small enough."
    return f"{text} No step is too large." if np.isinf(critical) else text


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
    comma = "," * (", " in where)
    text = (
        f"Over {where}{comma} {flow}: Re λ is {spread}. {capital(name)}, with ε = {_in_seconds(ranged(used, 4))}, is "
        f"unstable at {share(np.mean(stable == 0))} of them"
    )
    if (stable == -1).any():
        text += f", and may be stable or not at {share(np.mean(stable == -1))}"
    text += "."
    known = critical[np.isfinite(critical) & (critical > 0)]
    if known.size:
        stable_flow = "Where the flow is stable, the" if (critical == 0).any() else "The"
        text += f" {stable_flow} critical step is {_of_steps(known)}."
    worst = float(np.nanmax(ds["step_modulus"].values))
    text += f" The largest modulus of a multiplier is {near_one(worst, DIGITS)}."
    if (stable == 1).all():
        text += " That is said of each state by itself: along a trajectory products of Jacobians decide."
    return text


def _of_steps(critical: Real) -> str:
    """Their median, rounded, and their ends, which no rounding makes narrower; a single one is rounded down."""
    least, largest = at_least(float(critical.min()), 3), at_most(float(critical.max()), 3)
    if critical.min() == critical.max():
        return f"{least} s"
    return f"{number(float(np.median(critical)), 3)} s in the median of these states (range {least} to {largest})"


def _in_seconds(told: str) -> str:
    """What `ranged` says, with the unit: "0.038 s in the median of these states (range 0.017 to 0.22)"."""
    middle, bracket, rest = told.partition(" (")
    return f"{middle} s" + (f" in the median of these states ({rest}" if bracket else "")


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
        (calm & np.isinf(steps), "would be stable at any ε"),
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
        return _all_kept(list(zip(*columns, strict=True)))
    whose = "of the ERNN paper's theory" if "ernn" in ds.attrs["system"] else "of theory"
    text = f"of {len(bounded)} statements {whose} {kept} {agree(kept, 'holds', 'hold')}"
    if wrong:
        text += f". Violated: {joined(wrong)}"
    if unknown:
        text += f". Undecided: {joined(unknown)}"
    return f"{capital(text)}."


def _all_kept(rows: list[tuple[str, float, float, str]]) -> str:
    """Of bounds that all hold: where those on Re λ come from, and the numbers of each."""
    gated = any(name.endswith(OF_GATE) for name, *_ in rows)
    parts = [_bound_on_rates(*row, gated) for row in rows if row[0].startswith("Re λ")]
    said = [_bound(*row) for row in rows if not row[0].startswith("Re λ")]
    if said:
        parts.append(f"The {agree(len(said), 'bound', 'bounds')} {joined(said)} {agree(len(said), 'holds', 'hold')}.")
    return " ".join(parts)


def _bound(name: str, low: float, high: float, unit: str) -> str:
    """A bound with its number: "on the diagonal factor c (−0.25 to 1)", "‖J‖ ≤ cond(D_f) = 1.2"."""
    if "≤" in name:
        return f"{name} = {number(high)}"
    return f"on {name} ({_ends(low, high)}{unit_after(unit)})"


def _bound_on_rates(name: str, low: float, high: float, unit: str, gated: bool) -> str:
    """The bound on Re λ, where it comes from, and that it is kept."""
    slopes = "factors of the gate" if gated else "slopes of the activation"
    where = name.removeprefix("Re λ").removeprefix(" of the flow")  # " where no factor c is negative"
    ends = _ends(low, high)
    here = f"from {ends}" if " to " in ends else f"both {ends}"
    return (
        f"The flow's Jacobian is diag(c) (A − γI), with A antisymmetric and c the {slopes}. By theory Re λ{where} lies "
        f"between −γ max c and −γ min c, here {here}{unit_after(unit)}. All eigenvalues keep to that."
    )


def _ends(low: float, high: float) -> str:
    return interval([float(f"{end:.2g}") for end in (low, high)], 2)  # one may be tiny beside the other


def _claim(name: str) -> str:
    """A statement inside a list: "Lemma 1 (σ_min(∇F) > 0)"."""
    of, _, claim = name.partition(": ")
    return f"{of} ({claim})" if claim else name
