"""The stability of a cell's step beside that of its flow: integrators, critical steps, diffusion, theory's bounds."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.arguments import check_positive
from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, UNDECIDED, VIOLATED
from dynlab.diagnostics.stability import multipliers, theory
from dynlab.diagnostics.stability.methods import METHODS, Method, region
from dynlab.errors import UserError, entry
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.threads import one_torch_thread
from dynlab.program.differentiation import jacobian
from dynlab.systems import Euler, Map
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.systems.fastgrnn import FastRNN, FastRNNFlow
from dynlab.trajectories.driven import Driven, chosen_steps, drive
from dynlab.words import (
    at_least,
    at_most,
    counted,
    interval,
    joined,
    near_one,
    number,
    place,
    ranged,
    share,
    some_of,
)

METHOD = (
    f"{EIGENVALUES}. A step multiplies the flow linearised at a state by R(ελ), exact at equilibria, and of Euler's "
    "method at every state. A state is stable or unstable only where the error separates |R(ελ)| from 1. The plane of "
    "ε and γ is that of diag(c)(M₀ − γI) at fixed states: evenly chosen ones and those of the smallest critical steps. "
    "Brent's method finds the γ that is needed. Each state is judged by itself: along a trajectory products of "
    "Jacobians decide (gradient, lyapunov)"
)
UNLIMITED = "inf: no step is too large"
REASONS = {
    **dict.fromkeys(("eigenvalue", "eigenvalue_error", "step_modulus", "step_modulus_error"), multipliers.NO_FLOW),
    "integrator_step": f"{UNLIMITED}; NaN where none is known",
    "integrator_modulus": multipliers.NO_FLOW,
    "region": "inf at a pole of R",
    "mean_slope_step": "NaN where the mean slope or γ is not positive",
    **dict.fromkeys(("formula_step_low", "formula_step_high"), "NaN where no mean slope is positive"),
    "plane_modulus": "inf beyond the largest number",
    "plane_critical_step": f"{UNLIMITED}; NaN where an error does not separate a real part from 0",
    "needed_diffusion": "NaN: no γ of the plane is the least that makes this ε stable",
    **dict.fromkeys(("theory_low", "theory_high"), "not finite where theory has no bound on that side"),
    **dict.fromkeys(("margin", "measured_low", "measured_high"), "NaN where nothing is known"),
}

OUTCOME = {1: "is stable", 0: "is unstable", -1: "is on the border of stability within its error"}


@one_torch_thread()
@checked
def stability(
    system: Map,
    inputs: Any = None,
    *,
    integrator: str = "euler",
    step_size: float | None = None,
    initial_state: Any = None,
    times: int = 64,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Find the step sizes that are stable for a cell's flow at the states it reaches, and check theory's bounds.

    Parameters
    ----------
    system : Map
        An `Euler` step of a flow (antisymmetric, gated, feedback …), a FastRNN, which is one of size σ(α), or an ERNN,
        whose inner iteration is one of size η. Of an asRNN, which has no flow, only the bound on its Jacobian.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system; a system without input is looked at where it starts.
    integrator : {"euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler"}
        Integrator whose step is analysed; the trajectory is the network's own.
    step_size : float, optional
        ε in seconds; by default the network's own, of an ERNN those that it has learned.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at, zero for most.
    times : int
        Number of steps of a sequence that are linearised, evenly spaced.
    inputs_description : str
        Description of the inputs for the verdict.
    dtype, device : str
        Type and device of the trajectory and its Jacobians; eigenvalues are computed in float64 on the CPU.
    seed : int
        Seed that drew `inputs`, recorded in the settings.

    Returns
    -------
    xarray.Dataset
        ``eigenvalue(sample, time, mode)`` of the flow in 1/s with ``eigenvalue_error``. Of the integrator's step
        ``step_modulus(sample, time, mode)`` = |R(ελ)| with ``step_modulus_error``, and ``used_step(sample, time)``.
        ``stable(sample, time)`` is 1 stable, 0 unstable or −1 undecided. ``critical_step(sample, time)`` is the largest
        ε for which no modulus exceeds 1 (inf: every one). Of all integrators the same over ``integrator``.
        ``region(window, y, x)`` = |R(z)|. Of flows with Jacobian diag(c) M also ``mean_slope_step``, what the formula
        2γ/(γ² + ω²) says with the mean of c, and ``negative_factors``, the share of c below 0. Over γ and ε
        (``plane_diffusion``, ``plane_step_size``) there are ``plane_modulus(diffusion, step_size)``,
        ``plane_critical_step(diffusion)``, ``formula_step_low`` and ``formula_step_high``. One number each are
        ``own_diffusion``, ``fastest_rotation`` and ``needed_diffusion``. Over ``bound``: ``theory_low`` and
        ``theory_high`` beside ``measured_low`` and ``measured_high``, ``margin`` and ``outcome``, a row for each bound
        that theory has.

    Raises
    ------
    UserError
        For a system that is no step of a flow, an unknown integrator, a step size that is not positive, and bad inputs.

    Notes
    -----
    Euler's step is stable for ε ≤ min_i −2 Re λ_i/|λ_i|², for λ = −γ ± iω up to 2γ/(γ² + ω²).

    References
    ----------
    Chang, Chen, Haber and Chi, AntisymmetricRNN, ICLR 2019, sections 3 and 4; Hairer and Wanner, "Solving Ordinary
    Differential Equations II", Springer 1996, section IV.2.

    Examples
    --------
    >>> from dynlab.matrices import planar_matrix
    >>> from dynlab.systems.planar import planar_system
    >>> ds = stability(planar_system(planar_matrix("diff")))
    >>> round(float(ds["critical_step"][0, 0]), 6), round(float(ds["step_modulus"].max()), 6)
    (0.07458, 1.005099)
    """
    entry(METHODS, integrator, "integrator")
    check_positive(step_size=step_size)
    stepped = _step(system)
    if inputs is None and system.recorded_inputs is None and system.network_input_size == 0:
        inputs = np.zeros((1, 0))
    where: dict[str, Any] = {"initial_state": initial_state, "inputs_description": inputs_description}
    where |= {"dtype": dtype, "device": device, "seed": seed}
    driven = drive(stepped or system, inputs, **where)
    times_of = chosen_steps(driven.steps, times)
    bounds, table, flags = theory.rows_of_norm(system, driven, times_of), {}, {}
    coords: dict[str, Any] = {schema.TIME: schema.time_coordinate(times_of)}
    if stepped is not None:
        rates = multipliers.rates_of(stepped, inputs, step_size, times=times, **where)
        every = {name: multipliers.judged(rates, method) for name, method in METHODS.items()}
        (own, reasons), coords[schema.INTEGRATOR] = every[integrator], list(METHODS)
        table = multipliers.table(rates, {name: steps for name, (steps, _) in every.items()}, integrator)
        table |= region(METHODS[integrator], own["used_step"], rates.value)
        noted = sorted(reasons) + [UNLIMITED] * bool(np.isinf(own["critical_step"]).any())
        flags = {"critical_step": "; ".join(noted)} if noted else {}
        if isinstance(stepped, ERNN):
            bounds = theory.rows_of_ernn(stepped, driven, rates[:2], rates.step, times_of)
        else:
            more, plane = _of_flow(driven, stepped, times_of, rates, own, METHODS[integrator])
            bounds, table = more + bounds, table | plane
    columns = {name: ((schema.BOUND,), [one[name] for one in bounds], words) for name, words in theory.COLUMNS.items()}
    start = driven.states[0, int(times_of[0]) - 1].double().cpu().numpy()
    at = f"h = {place(start)}" if start.any() else "the origin"
    return schema.result(
        system,
        table | columns,
        settings=driven.settings | {"times": times, "integrator": integrator, "step_size": step_size},
        verdict=lambda ds: _verdict(ds, driven.steps, inputs_description, at),
        method=METHOD,
        coords=coords | {schema.BOUND: [one["name"] for one in bounds]},
        reasons=REASONS,
        flags=flags,
    )


def _step(system: Map) -> Euler | ERNN | None:
    """Return the system as a step of a flow; FastRNN is an Euler step of size σ(α), and an asRNN is none."""
    if isinstance(system, Euler | ERNN):
        return system
    if isinstance(system, FastRNN):
        step = Euler(FastRNNFlow(system), float(torch.sigmoid(system.alpha.detach().double())))
        for name in ("config", "source", "recorded_inputs", "rest_input", "embedding", "network_input_size"):
            setattr(step, name, getattr(system, name))
        return step
    if isinstance(system, ASRNN):
        return None
    raise UserError(
        f"{system.name!r} is no Euler step of a flow, so that no step size decides its stability: of a flow take the "
        f"step dynlab.Euler(flow, step_size); a map's eigenvalues are told by dynlab spectrum (dl.spectrum)."
    )


def _of_flow(
    driven: Driven,
    step: Euler,
    times: NDArray[np.int64],
    rates: multipliers.Rates,
    own: dict[str, NDArray[Any]],
    method: Method,
) -> tuple[list[theory.BoundRow], dict[str, Any]]:
    """Return theory's bounds on Re λ, and where the Jacobian is diag(c) M the plane of ε and γ."""
    before = torch.as_tensor(times - 1, device=driven.states.device)
    flow = driven.system.flow if isinstance(driven.system, Euler) else step.flow
    found = jacobian(flow, driven.states[:, before], driven.inputs[:, before], before).scaled_matrix()
    if found is None:
        return [], {}
    diagonals = np.broadcast_to(found[0].double().cpu().numpy(), rates.value.shape)
    rows = theory.rows_of_flow(flow, diagonals, found[1], rates.value, rates.error, times)
    matrix, (gamma, _) = found[1].detach().double().cpu().numpy(), theory.diffusion_of(found[1])
    mean_step = multipliers.mean_slope_step(diagonals, multipliers.fastest_rotation(matrix, gamma), np.asarray(gamma))
    each, negative = (schema.SAMPLE, schema.TIME), (diagonals < 0).mean(axis=-1)
    table: dict[str, Any] = {
        "mean_slope_step": (each, mean_step, "2γ/(γ² + ω²) over the mean slope", schema.SECOND),
        "negative_factors": (each, negative, "share of the factors c below 0"),
    }
    usable = np.isfinite(diagonals).all(axis=-1) & np.isfinite(rates.value).all(axis=-1)
    if usable.any() and np.abs(matrix).any():
        chosen = diagonals[usable][multipliers.plane_states(own["critical_step"][usable])]
        table |= multipliers.diffusion_plane(chosen, matrix, gamma, float(own["used_step"][usable][0]), method)
    return rows, table


def _verdict(ds: xr.Dataset, steps: int, described: str, at: str) -> str:
    """Say whether the flow and the step are stable, and what would help or theory's bounds; one state is `at`."""
    where = some_of(ds.sizes[schema.TIME], steps, described)
    if "eigenvalue" not in ds:
        return f"{_norm(ds)} over {where}."
    if not np.isfinite(ds["eigenvalue"].values).any():
        return f"No Jacobian of {where} is finite: the trajectories diverge."
    last = _bounds(ds, (VIOLATED, UNDECIDED)) or _remedy(ds) or _bounds(ds, (HOLDS,))
    return f"{_states(ds, where, at)}{_critical(ds)}. {last}".rstrip()


def _norm(ds: xr.Dataset) -> str:
    one = ds.isel({schema.BOUND: 0})
    outcome, low, high = (one[name].item() for name in ("outcome", "measured_low", "measured_high"))
    said = "holds" if outcome == HOLDS else f"is {outcome}"
    measured = f", the measured norms are {interval([low, high], 4)}" if np.isfinite(low) else ""
    return f"The bound ‖∂h_t/∂h_{{t−1}}‖₂ ≤ cond(D_f) = {at_most(one['theory_high'].item())} {said}{measured}"


def _states(ds: xr.Dataset, where: str, at: str) -> str:
    """Say at how many states flow and step are stable; of one state, whether they are."""
    values, errors, stable = (ds[name].values for name in ("eigenvalue", "eigenvalue_error", "stable"))
    unstable = (values.real > errors).any(axis=-1)
    worst = f"(largest |μ| {near_one(float(np.nanmax(ds['step_modulus'].values)), 5)})"
    title = METHODS[schema.settings(ds)["integrator"]].title
    step = f"The {title} step at ε = {ranged(ds['used_step'].values, 4)} s"
    if stable.size == 1:
        stays = "the flow is stable" if (values.real < -errors).all() else "the linear part of the flow is undecided"
        first = f"At {at} {'the flow is unstable' if unstable.any() else stays}"
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
    """Return the critical step; of several states the smallest one at which the flow is stable."""
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
    named = {each: [str(name) for name in names[found == each]] for each in outcomes if each in found}
    return " ".join(f"{joined(which)} {'is' if len(which) == 1 else 'are'} {each}." for each, which in named.items())
