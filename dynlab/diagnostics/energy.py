"""The energy of a flow along its solutions, conserved or dissipated, and its drift under integrators."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.errors import UserError, entry
from dynlab.numerics.arrays import Real
from dynlab.systems import Euler, Flow, System, frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import check_seconds, held_matrices
from dynlab.systems.checked import checked
from dynlab.systems.integrators import INTEGRATORS
from dynlab.trajectories.constant_input import under_constant_input
from dynlab.trajectories.simulation import orbit, prepare_flow, simulate
from dynlab.words import at_most, interval, joined, number, ranging

ENERGY = "energy H = Σᵢ log cosh((M h + q)ᵢ)"
STARTS = 3
CONSERVED = 1e-9  # relative: a change below it is the solver's, whose tolerance is 1e-12, not the flow's
ROUNDED = 1e-12  # times the largest: a rate so small has no sign
METHOD = (
    "The flow is solved by Dormand and Prince's pair of order 8(5,3) at a relative tolerance of 1e-12. The integral "
    "of dH/dt is one more unknown of it. Each integrator takes its own steps. The implicit midpoint rule is solved by "
    "Newton's method to a residual of 10 n ε (1 + ‖h‖), and is NaN from where that fails. The divergence is the trace "
    "of the flow's Jacobian"
)
CUT = "the orbit or a step's solution is not finite from here on"


@checked
def energy(
    system: System,
    inputs: Any = None,
    *,
    at: str | ArrayLike = "zero",
    initial_state: Any = None,
    step_size: float | None = None,
    steps: int = 500,
    integrators: Sequence[str] = tuple(INTEGRATORS),
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Follow the energy H = Σ log cosh((M h + q)_i) of h' = tanh(M h + q) along solutions and integrators' orbits.

    Under a constant input Ḣ = f · M f: H is conserved where M is antisymmetric, and falls as −γ |f|² where M is that
    less γ I. The volume of the flow changes at the rate of its divergence, tr ∂f/∂h, which is 0 and −γ Σ tanh' there.

    Parameters
    ----------
    system : Flow or Euler
        A flow with an energy: the ungated antisymmetric one, or feedback by tanh.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs that define the mean input.
    at : "zero", "mean" or array_like, shape (input,)
        The input that is held.
    initial_state : array_like, shape (state,) or (sample, state), optional
        Three states with independent standard normal entries where it is not given.
    step_size : float, optional
        ε of the integrators in seconds; by default that of the `Euler` step.
    steps : int
        Number of steps.
    integrators : sequence of str
        Keys of `dynlab.systems.INTEGRATORS`.
    dtype, device : str
        Type and device of the integrators' steps; the flow itself is solved in float64 on the CPU.
    seed : int
        Seed of the initial states.

    Returns
    -------
    xarray.Dataset
        ``exact_energy(sample, time)`` of the solution and ``dissipation(sample, time)``, its rate Ḣ in 1/s.
        ``balance(sample, time)`` = H − H₀ − ∫ Ḣ dt is the solver's error. ``divergence(sample, time)`` is in 1/s.
        ``energy(integrator, sample, time)`` is that along the integrators' orbits, and
        ``drift(integrator, sample, time)`` is that less the exact one. Both are NaN from where an orbit is no longer
        finite, and flagged.

    Raises
    ------
    UserError
        For a system whose flow has no energy, a flow without `step_size`, and an unknown integrator. For initial states
        of the wrong width, and more seconds than the flow can be solved for.

    References
    ----------
    Chang, Chen, Haber and Chi, ICLR 2019, section 3; Hairer, Lubich and Wanner, "Geometric Numerical Integration",
    Springer 2006, chapter I.

    Examples
    --------
    >>> from dynlab.matrices import planar_matrix
    >>> from dynlab.systems.planar import planar_system
    >>> ds = energy(planar_system(planar_matrix("zero")), initial_state=[0.0, 0.5], steps=50, integrators=["euler"])
    >>> bool(abs(ds.balance).max() < 1e-11), round(float(ds.drift[0, 0, -1]), 4)
    (True, 0.61)
    """
    flow, step = _flow_and_step(system, step_size)
    check_at_least(1, steps=steps, integrators=len(integrators))
    methods = [entry(INTEGRATORS, name, "integrator") for name in integrators]
    held, driven = under_constant_input(system, inputs, at, dtype=dtype, device=device)
    stepped = held.system.flow if isinstance(held.system, Euler) else cast(Flow, held.system)
    if initial_state is None:
        initial_state = np.random.default_rng(seed).standard_normal((STARTS, flow.state_size))
    exact = Held(frozen(flow), held.input.double().cpu())
    seconds = step * np.arange(steps + 1, dtype=float)
    states, balance = _solution(exact, prepare_flow(flow, initial_state)[1].numpy(), seconds)
    begun, along = torch.from_numpy(states[:, 0]).to(held.input), held.input.expand(len(states), steps, -1)
    orbits = [orbit(each(stepped, step), along, begun).double().cpu() for each in methods]
    return schema.result(
        system,
        _table(exact, states, balance, orbits),
        settings={"at": at if isinstance(at, str) else "values", "input": held.input.tolist(), "step_size": step}
        | {"initial_state": states[:, 0].tolist(), "steps": steps, "integrators": list(integrators)}
        | {"inputs": None if driven is None else list(driven.shape), "seed": seed, "dtype": dtype, "device": device},
        method=METHOD,
        coords={
            schema.TIME: schema.time_coordinate(seconds, schema.SECOND),
            schema.INTEGRATOR: schema.variable((schema.INTEGRATOR,), np.array(integrators, dtype=str), "integrator"),
        },
        reasons=dict.fromkeys(("energy", "drift"), CUT),
        verdict=lambda ds: under_input(_verdict(ds), at, system.network_input_size),
    )


class _Balanced(Flow):
    """A flow with ∫ Ḣ dt as its last unknown."""

    def __init__(self, held: Held) -> None:
        super().__init__(held.system.state_size + 1, 0)
        self.held = held

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        h = state[..., :-1]
        _, rate = _energy_and_rate(self.held, h)
        return torch.cat([self.held.moved(h), rate.unsqueeze(-1)], dim=-1)


def _flow_and_step(system: System, step_size: float | None) -> tuple[Flow, float]:
    flow = system.flow if isinstance(system, Euler) else system
    nothing = torch.zeros(flow.state_size), torch.zeros(flow.input_size)
    parameter = next(flow.parameters(), nothing[0])
    if not isinstance(flow, Flow) or flow.energy(*(one.to(parameter) for one in nothing)) is None:
        raise UserError(
            f"{system.name!r} has no energy: only flows h' = tanh(M h + q) have one, such as antisymmetric and "
            "feedback with tanh."
        )
    if step_size is None:
        if not isinstance(system, Euler):
            raise UserError("A flow has no step of its own: give step_size in seconds (--step-size 0.1).")
        return flow, system.step_size
    check_positive(step_size=step_size)
    return flow, step_size


def _solution(held: Held, start: Real, seconds: Real) -> tuple[Real, Real]:
    """Return the states (sample, time, state) from those at the start, and ∫ Ḣ dt (sample, time)."""
    check_seconds(held, torch.from_numpy(np.concatenate([0 * start[:1], start])), float(seconds[-1]))
    begun = np.concatenate([start, np.zeros((len(start), 1))], axis=1)
    solved = simulate(_Balanced(held), initial_state=begun, times=seconds).trajectory.values
    return solved[..., :-1], solved[..., -1]


def _energy_and_rate(held: Held, states: Tensor) -> tuple[Tensor, Tensor]:
    """Return H and Ḣ of a flow that `_flow_and_step` has found to have them."""
    return cast(tuple[Tensor, Tensor], cast(Flow, held.system).energy(*held.given(states)))


def _table(exact: Held, states: Real, balance: Real, orbits: list[Tensor]) -> dict[str, tuple[Any, ...]]:
    """Return H, its rate and the divergence along the solution, and H along each integrator's orbits."""
    values, rate = (one.numpy() for one in _energy_and_rate(exact, torch.from_numpy(states)))
    found = np.stack([_energy_and_rate(exact, one)[0].numpy() for one in orbits])
    matrices = (held_matrices(exact, sample) for sample in torch.from_numpy(states))
    divergence = np.stack([each.diagonal(dim1=-2, dim2=-1).sum(dim=-1).numpy() for each in matrices])
    over, each = (schema.SAMPLE, schema.TIME), (schema.INTEGRATOR, schema.SAMPLE, schema.TIME)
    return {
        "exact_energy": (over, values, "energy H of the flow"),
        "dissipation": (over, rate, "rate of H along the flow", schema.PER_SECOND),
        "balance": (over, values - values[:, :1] - balance, "H − H₀ − ∫ Ḣ dt"),
        "divergence": (over, divergence, "divergence of the flow", schema.PER_SECOND),
        "energy": (each, found, "energy H along the integrator's orbit"),
        "drift": (each, found - values, "drift of the energy"),
    }


def _verdict(ds: xr.Dataset) -> str:
    """Say whether the flow keeps H, how far each integrator drifts from it, and what becomes of volumes."""
    settings, seconds = schema.settings(ds), f"{float(ds[schema.TIME][-1]):g} s"
    values, rate, divergence = (ds[name].values for name in ("exact_energy", "dissipation", "divergence"))
    largest, rounded = np.abs(values - values[:, :1]).max(), ROUNDED * np.abs(rate).max()
    conserves = f"The flow conserves the {ENERGY}: in {seconds} it changes by at most {at_most(largest, 2)}."
    way = _sign(rate, rounded, "stays", "falls", "rises", "rises and falls")
    changes = f"The {ENERGY} {way} along the flow, by {interval(np.ptp(values, axis=1))} in {seconds}."
    first = changes if largest > CONSERVED * (1 + np.abs(values).max()) else conserves
    named = zip(settings["integrators"], ds["drift"].values, strict=True)
    side = _sign(divergence, 0.0, "keeps", "shrinks", "expands", "shrinks and expands")
    return (
        f"{first} At ε = {settings['step_size']:g} s the largest drift of H is "
        f"{joined([f'{_drift(drift)} for {METHODS[name].title}' for name, drift in named])}. "
        f"The flow {side} volumes: its divergence {ranging(divergence)} per second."
    )


def _sign(values: Real, rounded: float, none: str, below: str, above: str, both: str) -> str:
    """Return the words for the signs of values, of which some are rounding."""
    words = {(True, True): none, (True, False): below, (False, True): above, (False, False): both}
    return words[bool((values <= rounded).all()), bool((values >= -rounded).all())]


def _drift(drift: Real) -> str:
    worst = float(drift.flat[np.abs(drift).argmax()])
    return f"{'+' * (worst > 0)}{number(worst, 2)}" if np.isfinite(drift).all() else "not finite"
