"""The dimension of the set where a system's states lie, its principal components, and the fixed points among them.

References
----------
Gao and Ganguli, Current Opinion in Neurobiology 32 (2015), on the participation ratio; Efron and Stein, Annals of
Statistics 9 (1981), on the jackknife.
"""

from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.fixed_points.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.verification import also_incomplete, held_map
from dynlab.diagnostics.geometry.unstable_manifold import (
    growing_directions,
    growing_modes,
    unstable_manifolds,
    usual_steps,
)
from dynlab.diagnostics.geometry.verdict import verdict
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.principal import Components, principal_components
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Flow, Map, System
from dynlab.systems.autonomous import Held
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import drive
from dynlab.trajectories.following import orbit, time_step
from dynlab.trajectories.simulation import prepare_flow
from dynlab.words import counted, number, over

GROUPS = 64  # of sequences, of which the jackknife leaves out one at a time: an eigendecomposition each
FEW = "NaN: the error is taken between sequences, and fewer than two stay within the bound"
FAR = 3.0  # times the largest abs(h_i) among states and fixed points: unstable manifolds are cut there
SAMPLES, STEPS = 16, 2000  # of a flow: random states that solutions start at, usual steps of Runge and Kutta's method
LARGEST_STATE = 1e8  # a sequence whose states exceed it says nothing about where the others lie
METHOD = (
    "Principal components come from QR and SVD of the states of all sequences and steps together, less their mean. "
    "The participation ratio is (Σv)²/Σv² of the eigenvalues v of their covariance. Standard errors are the "
    f"jackknife's over sequences, in at most {GROUPS} groups. Fixed points are found and verified as "
    "dynlab.fixed_points does. A growing direction is the eigenvector of an eigenvalue whose modulus exceeds 1 by "
    "more than its error, or of a flow whose real part exceeds 0. A complex pair has the semi-axes of its ellipse. "
    "Where there is one such direction alone, points up to 1e-4 off the fixed point and their second images are "
    "followed on either side. Flows are solved by Runge and Kutta's method of order 4 with steps of a quarter of their "
    "fastest time scale"
)
COPIED = (
    "fixed_point_state",
    "residual",
    "kind",
    "stable",
    "status",
    "unstable_directions",
    "undecided_directions",
    "eigenvalue",
    "eigenvalue_error",
)


MEASURED = ("participation_ratio", "explained_variance")
GONE = "NaN: no sequence stays within the bound, or the states do not vary"
REASONS = dict.fromkeys(MEASURED, GONE) | {
    "trajectory": f"NaN for a sequence whose states exceed {LARGEST_STATE:g}",
    "unstable_manifold": "NaN where not one direction alone grows, or that is not told from another",
    "unstable_direction": "NaN for modes that do not certainly grow, or whose eigenvector is not resolved",
    "eigenvalue": "NaN where the Jacobian is not finite",
    "eigenvalue_error": "inf at a kink of the activation",
}


@checked
@one_thread_each()
def geometry(
    system: System,
    inputs: Any = None,
    *,
    components: int = 3,
    transient: float = 0,
    seconds: float | None = None,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    starts: int | ArrayLike | None = None,
    curve_steps: int | None = None,
    initial_state: Any = None,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Return principal components of the states along trajectories, their dimension, and the fixed points among them.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs that drive a map, by default those recorded with it. A flow is solved under the input that is held.
    components : int
        Number of principal components on which trajectories and fixed points are projected.
    transient : float
        Steps, or seconds of a flow, that are not counted, while states come to where they stay. h_0 never counts.
    seconds : float, optional
        Length of a flow's solutions; by default 2,000 steps of a quarter of its fastest time scale.
    at, at_step, starts : as in `dynlab.fixed_points`
        The input and the step that are held for the fixed points, and where these are sought.
    curve_steps : int, optional
        Number of steps of the curves along which orbits leave saddles; by default 10,000, of networks of more than 500
        states fewer.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what a map has learned to start at, zero for most; 16 random states of a flow.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of the trajectories and the search.
    seed : int
        Seed of the random starts.

    Returns
    -------
    xarray.Dataset
        ``participation_ratio`` with ``participation_ratio_error``. ``explained_variance(mode)`` is each component's
        share of the variance, with ``explained_variance_error``. ``origin(state)`` and ``direction(axis, state)`` are
        the mean state and the components, and ``trajectory(sample, time, axis)`` are the states along them. Of each
        fixed point ``fixed_point_position(fixed_point, axis)``. ``unstable_direction(fixed_point, mode, axis)`` is NaN
        for modes that do not certainly grow. For points that one direction alone leaves,
        ``unstable_manifold(fixed_point, side, iteration, axis)`` are the curves that orbits leave along.
        ``leads_to(fixed_point, side)`` is the stable fixed point they lead to. Most variables of `dynlab.fixed_points`
        are there too.

    Raises
    ------
    UserError
        For a transient as long as the sequences, seconds of a map, bad inputs and starts.

    Notes
    -----
    With covariance Σ the participation ratio is (tr Σ)²/tr Σ²: n where all directions vary alike, 1 on a line. From few
    states it is too small.

    References
    ----------
    Gao and Ganguli, Current Opinion in Neurobiology 32 (2015). Sussillo and Barak, Neural Computation 25 (2013), on
    fixed points in the space of the principal components.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> noise = np.random.default_rng(0).standard_normal((8, 200, 2))
    >>> ds = geometry(from_function(lambda h, x: 0.5 * h + x, state_size=2, input_size=2), noise)
    >>> round(float(ds["participation_ratio"]), 1), ds["stable"].values.tolist()
    (2.0, [1])
    """
    steps = usual_steps(system.state_size) if curve_steps is None else curve_steps
    check_at_least(1, components=components, curve_steps=steps)
    check_positive(seconds=seconds)
    where: dict[str, Any] = {"dtype": dtype, "device": device, "seed": seed}
    if isinstance(system, Map) and seconds is not None:
        raise UserError(f"{system.name} is a map, which is followed along its inputs: leave out seconds.")
    points = fixed_points(system, inputs, at=at, at_step=at_step, starts=starts, **where)
    held = held_map(system, points)
    states, times, settings = _followed(system, held, inputs, initial_state, seconds, inputs_description, where)
    if not 0 <= transient < times[-1]:
        raise UserError(f"The transient must be at least 0 and below {times[-1]:,g}, got {transient:g}.")
    inside = (np.abs(states) <= LARGEST_STATE).all(axis=(1, 2))
    settled, shown = states[inside][:, times > transient], times >= transient
    states[~inside] = np.nan
    found = principal_components(settled.reshape(-1, states.shape[-1]))
    axes = found.directions[:components]
    averaged = over(settled.shape[1], inputs_description, of=len(times) - 1)
    if held.is_flow:
        averaged = f"{number(times[-1] - transient, 3)} s of {counted(len(states), 'solution')}"
    left_out = f", {(~inside).sum()} of {len(states)} sequences that leave the bound left out" * (not inside.all())
    return schema.result(
        system,
        _of_states(found, settled, axes, (states[:, shown] - found.origin) @ axes.T)
        | _of_points(held, points, settled, found.origin, axes, steps),
        settings=settings
        | {"components": len(axes), "transient": transient, "curve_steps": steps}
        | {name: schema.settings(points)[name] for name in ("at", "input", "at_step", "starts", "given_starts")},
        verdict=lambda ds: verdict(ds, averaged + left_out) + also_incomplete(points),
        method=METHOD,
        coords={schema.TIME: schema.time_coordinate(times[shown], schema.SECOND if held.is_flow else schema.STEP)},
        reasons=REASONS | {f"{name}_error": FEW if len(settled) < 2 else GONE for name in MEASURED},
    )


def _followed(
    system: System, held: Held, inputs: Any, initial_state: Any, seconds: float | None, said: str, where: dict[str, Any]
) -> tuple[Real, Real, dict[str, Any]]:
    """Return the states of a map along its inputs, or of a flow's solutions, their times, and the settings of both."""
    if isinstance(system, Map):
        driven = drive(system, inputs, initial_state, inputs_description=said, **where)
        return driven.states.double().cpu().numpy(), np.arange(driven.steps + 1.0), driven.settings
    drawn = np.random.default_rng(where["seed"]).standard_normal((SAMPLES, system.state_size))
    begin = prepare_flow(cast(Flow, held.system), drawn if initial_state is None else initial_state)[1]
    dt = time_step(held, begin)
    count = STEPS if seconds is None else int(np.ceil(seconds / dt))
    dt = dt if seconds is None else seconds / count
    states = torch.cat([begin[None], orbit(held, begin, count, dt=dt)[0]])
    times, began = np.linspace(0.0, dt * count, count + 1), begin.tolist()
    return states.transpose(0, 1).numpy().copy(), times, {"seconds": dt * count, "initial_state": began} | where


def _of_states(found: Components, settled: Real, axes: Real, trajectory: Real) -> dict[str, tuple[Any, ...]]:
    ratio_error, share_errors = jackknife(settled)
    total, mode = found.variances.sum(), (schema.MODE,)
    shares = found.variances / total if total > 0 else np.full(len(found.variances), np.nan)
    return {
        "participation_ratio": ((), participation_ratio(shares), "participation ratio of the states"),
        "participation_ratio_error": ((), ratio_error, "standard error of the participation ratio"),
        "explained_variance": (mode, shares, "share of the variance"),
        "explained_variance_error": (mode, share_errors, "standard error of the share"),
        "origin": ((schema.STATE,), found.origin, "mean state"),
        "direction": ((schema.AXIS, schema.STATE), axes, "principal component"),
        "trajectory": ((schema.SAMPLE, schema.TIME, schema.AXIS), trajectory, "state along principal component"),
    }


def _of_points(
    held: Held, points: xr.Dataset, settled: Real, origin: Real, axes: Real, steps: int
) -> dict[str, tuple[Any, ...] | xr.Variable]:
    places, modes = points["fixed_point_state"].values, growing_modes(held, points)
    reach = FAR * float(max(np.abs(each).max(initial=1.0) for each in (settled, places)))
    curves, leads_to = unstable_manifolds(held, points, modes, reach, steps)
    growing, position = growing_directions(modes, points, axes), (places - origin) @ axes.T
    each, both = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.SIDE)
    curve = (*both, schema.ITERATION, schema.AXIS)
    return {name: points[name].variable for name in COPIED} | {
        "fixed_point_position": ((*each, schema.AXIS), position, "fixed point along principal component"),
        "unstable_direction": (
            (*each, schema.MODE, schema.AXIS),
            growing,
            "growing direction along principal component",
        ),
        "unstable_manifold": (curve, (curves - origin) @ axes.T, "unstable manifold along component"),
        "leads_to": (both, leads_to, "number of the fixed point it leads to, −1 to none that is known"),
    }


@np.errstate(invalid="ignore", divide="ignore")
def participation_ratio(variances: Real) -> Real:
    """Return (Σv)²/Σv² of a covariance's eigenvalues v (..., component): how many share the variance; NaN without."""
    return np.asarray(1 / ((variances / variances.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1))


@np.errstate(invalid="ignore", divide="ignore")
def jackknife(states: Real) -> tuple[Real, Real]:
    """Return the standard errors of the participation ratio and of the components' shares of the variance (component,).

    They are √((G − 1)/G Σ_g (θ_g − θ̄)²), where θ_g is computed without the g-th of G groups of sequences. Sequences of
    `states` (sample, time, state) are independent of each other; the states of one are not. NaN for a single sequence.
    """
    samples, _, n = states.shape
    if samples < 2:
        return np.array(np.nan), np.full(n, np.nan)
    groups = np.array_split(np.arange(samples), min(samples, GROUPS))
    left = (np.delete(states, group, axis=0).reshape(-1, n) for group in groups)
    found = [np.linalg.eigvalsh(np.cov(each, rowvar=False, bias=True).reshape(n, n)) for each in left]
    variances = np.array(found)[:, ::-1].clip(min=0.0)
    each = participation_ratio(variances), variances / variances.sum(axis=1, keepdims=True)
    ratio, shares = (np.sqrt((len(groups) - 1) * np.var(values, axis=0)) for values in each)
    return ratio, shares
