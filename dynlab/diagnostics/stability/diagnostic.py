"""Whether the step of a cell keeps what its flow promises: integrators, critical steps, diffusion, theory's bounds."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.stability import theory
from dynlab.diagnostics.stability.diffusion_plane import STATES, diffusion_plane, mean_slope_step
from dynlab.diagnostics.stability.ernn_bounds import rows_of_ernn
from dynlab.diagnostics.stability.methods import METHODS, Method
from dynlab.diagnostics.stability.rates import Rates, Steps, rates_of, steps_of
from dynlab.diagnostics.stability.result import (
    REASONS,
    flags_of_steps,
    of_integrators,
    of_plane,
    of_steps,
    region,
)
from dynlab.diagnostics.stability.theory import JacobianFactors, euler_step, factors
from dynlab.diagnostics.stability.verdict import verdict
from dynlab.driven import Driven, chosen_steps, drive
from dynlab.errors import UserError, entry
from dynlab.jacobians import jacobian
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Euler, Map
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.base import positive_step
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.systems.planar import equation
from dynlab.wording import place

METHOD = (
    f"The flow's Jacobian is looked at. {EIGENVALUES}. A step multiplies the flow linearised at a state by R(ελ), "
    "exact at equilibria, and of Euler's method at every state. A state is called stable or unstable only where the "
    "error separates |R(ελ)| from 1. The plane of ε and γ is that of diag(c)(M₀ − γI) with the states, and so c, "
    "held: evenly chosen ones and those of the smallest critical steps. The γ that is needed is found by Brent's "
    "method. Each state is judged by itself: along a trajectory products of Jacobians decide (gradient, lyapunov)"
)


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
    """How large a step a cell's flow bears at the states it reaches, and what theory promises of it.

    Parameters
    ----------
    system : Map
        An `Euler` step of a flow (antisymmetric, gated, feedback …), a FastRNN, which is one of size σ(α), or an ERNN,
        whose inner iteration is one of size η. Of an asRNN, which has no flow, only the bound on its Jacobian.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Without it what was recorded with the system; a system without input is looked at where it starts.
    integrator : {"euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler"}
        Whose step is asked about; the trajectory is the network's own.
    step_size : float, optional
        ε in seconds; the network's own where it is not given, of an ERNN those that it has learned.
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    times : int
        How many steps of a sequence are linearised, evenly spaced.
    inputs_description : str
        What the inputs are, for the verdict.
    dtype, device : str
        Of the trajectory and its Jacobians; eigenvalues are computed in float64 on the CPU.
    seed : int
        The one that drew `inputs`, recorded in the settings; nothing here is random.

    Returns
    -------
    xarray.Dataset
        ``eigenvalue(sample, time, mode)`` of the flow in 1/s with ``eigenvalue_error``. Of the integrator's step
        ``step_modulus(sample, time, mode)`` = |R(ελ)| with ``step_modulus_error``, and ``used_step(sample, time)``.
        ``stable(sample, time)`` is 1 stable, 0 unstable or −1 undecided. ``dependent(sample, time)`` is 1 where
        eigenvectors of modulus 1 may be dependent, so that powers may grow as a Jordan block's do.
        ``critical_step(sample, time)`` is the largest ε for which no modulus exceeds 1 (inf: every one). Of all
        integrators the same over ``integrator``. ``region(window, y, x)`` = |R(z)|. Of flows with Jacobian diag(c) M
        also ``mean_slope_step``, what the formula 2γ/(γ² + ω²) says with the mean of c, and ``negative_factors``, the
        share of c below 0. Over γ and ε (``plane_diffusion``, ``plane_step_size``) there are
        ``plane_modulus(diffusion, step_size)``, ``plane_critical_step(diffusion)``, ``formula_step_low`` and
        ``formula_step_high``. One number each are ``own_diffusion``, ``fastest_rotation`` and ``needed_diffusion``.
        Over ``bound``: ``theory_low`` and ``theory_high`` beside ``measured_low`` and ``measured_high``, ``margin`` and
        ``outcome``.

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
    method = entry(METHODS, integrator, "integrator")
    if step_size is not None:
        positive_step(step_size)
    if not isinstance(system, Map):
        raise UserError(
            f"Stability is that of a step, got the flow {system.name!r}: take the step dynlab.Euler(flow, step_size)."
        )
    stepped = system if isinstance(system, ERNN) else euler_step(system)
    if stepped is None and not isinstance(system, ASRNN):
        raise UserError(
            f"{system.name!r} is no Euler step of a flow, so that no step size decides its stability: see its "
            f"eigenvalues with dynlab spectrum (dl.spectrum)."
        )
    if inputs is None and system.recorded_inputs is None and system.network_input_size == 0:
        inputs = np.zeros((1, 0))
    where: dict[str, Any] = {"initial_state": initial_state, "dtype": dtype, "device": device, "seed": seed}
    driven = drive(stepped or system, inputs, inputs_description=inputs_description, **where)
    times_of = chosen_steps(driven.steps, times)
    variables: dict[str, xr.Variable] = {}
    coords: dict[str, Any] = {schema.TIME: schema.time_coordinate(times_of)}
    flags: dict[str, str] = {}
    if stepped is None:
        rows = theory.rows_of_norm(system, driven, times_of)
    else:
        rates = rates_of(stepped, inputs, step_size, times=times, inputs_description=inputs_description, **where)
        steps = steps_of(rates, method)
        variables |= of_steps(rates, steps) | of_integrators(rates) | region(method, steps.used, rates.value)
        flags |= flags_of_steps(variables, steps)
        coords[schema.INTEGRATOR] = list(METHODS)
        if isinstance(stepped, Euler):
            rows, more = _of_flow(driven, rates, steps, method)
            variables |= more
            rows += theory.rows_of_norm(system, driven, times_of)
        else:
            rows = rows_of_ernn(stepped, driven, rates)
    variables |= theory.variables(rows)
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=driven.settings | {"times": times, "integrator": integrator, "step_size": step_size},
        verdict=lambda ds: verdict(ds, driven.steps, inputs_description, _at(driven, times_of)),
        method=METHOD,
        coords=coords | {schema.BOUND: [one["name"] for one in rows]},
        flags=flags | schema.not_finite(variables, REASONS),
    )


def _at(driven: Driven, times: NDArray[np.int64]) -> str:
    """Which state is linearised where it is one, and of which equation: "at the origin of h′ = tanh(W h)"."""
    state = driven.states[0, int(times[0]) - 1].double().cpu().numpy()
    of = f" of {said}" if (said := equation(driven.system)) else ""
    return f"at {place(state) if state.any() else 'the origin'}{of}"


def _of_flow(
    driven: Driven, rates: Rates, steps: Steps, method: Method
) -> tuple[list[theory.BoundRow], dict[str, xr.Variable]]:
    """Theory's bounds on Re λ, and where the Jacobian is diag(c) M the plane of ε and γ."""
    flow = driven.system.flow if isinstance(driven.system, Euler) else None
    before = torch.as_tensor(rates.times - 1, device=driven.states.device)
    found = factors(jacobian(flow, driven.states[:, before], driven.inputs[:, before], before)) if flow else None
    rows = theory.rows_of_flow(flow, found, rates.value, rates.error, rates.times)
    if found is None:
        return rows, {}
    diagonals, matrix = _arrays(found, rates)
    gamma, _ = theory.diffusion_of(found.matrix)
    each = (schema.SAMPLE, schema.TIME)
    variables = {
        "mean_slope_step": schema.variable(
            each, mean_slope_step(diagonals, matrix, gamma), "2γ/(γ² + ω²) over the mean slope", schema.SECOND
        ),
        "negative_factors": schema.variable(each, (diagonals < 0).mean(axis=-1), "share of the factors c below 0"),
    }
    usable = np.isfinite(diagonals).all(axis=-1) & np.isfinite(rates.value).all(axis=-1)
    if not usable.any() or not np.abs(matrix).any():
        return rows, variables
    chosen = _statesof_plane(steps.critical[usable])
    plane = diffusion_plane(diagonals[usable][chosen], matrix, gamma, float(steps.used[usable][0]), method)
    return rows, variables | of_plane(plane, gamma)


def _arrays(found: JacobianFactors, rates: Rates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    diagonal = found.diagonal.double().cpu().numpy()
    shape = (*rates.value.shape[:2], diagonal.shape[-1])
    return np.broadcast_to(diagonal, shape), found.matrix.detach().double().cpu().numpy()


def _statesof_plane(critical: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of at most `STATES` states: half of them those of the smallest critical steps, the rest evenly spaced."""
    if len(critical) <= STATES:
        return np.arange(len(critical))
    first = np.argsort(np.nan_to_num(critical, nan=np.inf), kind="stable")[: STATES // 2]
    even = np.linspace(0, len(critical) - 1, STATES - len(first)).round().astype(np.int64)
    return np.unique(np.concatenate([first, even]))
