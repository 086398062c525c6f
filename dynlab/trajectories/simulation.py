"""Orbits of maps, solutions of flows, driven trajectories."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn.utils import parametrize

from dynlab import schema
from dynlab.errors import UserError
from dynlab.progress import through
from dynlab.systems import Flow, Map, System, frozen
from dynlab.systems.autonomous import number_type

# A flow's solution is meant to be exact beside what is compared with it: DOP853 at tolerances near rounding.
RELATIVE_TOLERANCE = 1e-12
ABSOLUTE_TOLERANCE = 1e-13
MOST_EVALUATIONS = 1_500_000  # of a velocity along one solution: a minute at 40 µs each
PIECE = 4096  # states of an orbit that are held one by one before they are stacked

MapType = TypeVar("MapType", bound=Map)


@torch.no_grad()
def simulate(
    system: System,
    inputs: Any = None,
    *,
    initial_state: Any = None,
    steps: int | None = None,
    times: Any = None,
    dtype: str = "float64",
    device: str = "cpu",
) -> xr.Dataset:
    """Follow a map under its inputs, or solve a flow.

    Parameters
    ----------
    system : System
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs of a map; by default zero for `steps` steps, or those recorded with the system.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default the state that the system has learned to start at, zero for most.
    steps : int, optional
        Length of an orbit without input.
    times : array_like, shape (time,), optional
        For a flow: the times in seconds, increasing, the first that of the initial state.
    dtype, device : str
        Type and device of a map's orbit; a flow is solved in float64 on the processor.

    Returns
    -------
    xarray.Dataset
        ``trajectory(sample, time, state)``; the first time is that of the initial state. Where a map's orbit leaves
        what floating-point numbers hold, it is NaN from there on, and flagged.

    Raises
    ------
    UserError
        For inputs of the wrong width, of length 0, or not finite, and for arguments of the other kind of system.

    Examples
    --------
    >>> import dynlab
    >>> orbit = dynlab.simulate(dynlab.create("henon"), initial_state=[0.1, 0.1], steps=1000)
    >>> orbit.trajectory.dims, orbit.sizes["time"]
    (('sample', 'time', 'state'), 1001)
    """
    if isinstance(system, Flow):
        if inputs is not None or steps is not None:
            raise UserError(
                "A flow is solved without input at times= in seconds; for inputs or steps= give "
                "dynlab.Euler(flow, step_size)."
            )
        return _solution(system, initial_state, times)
    if not isinstance(system, Map):
        raise UserError(f"Only a Map or a Flow can be simulated, got {type(system).__name__}.")
    if times is not None:
        raise UserError("A map has no times=: give inputs, or steps= for an orbit without input.")
    if inputs is None and (steps is not None or system.recorded_inputs is None):
        if steps is None:
            raise UserError("Give inputs, or steps= for an orbit without input.")
        inputs = np.zeros((steps, system.input_size))
    system, driving, initial = prepare(system, inputs, initial_state, dtype, device)
    states = orbit(system, system.drive(driving), initial).cpu().numpy()
    settings = {"initial_state": initial.tolist(), "steps": states.shape[1] - 1, "dtype": dtype, "device": device}
    return _trajectory_dataset(system, states, np.arange(states.shape[1]), schema.STEP, settings)


def orbit(system: Map, inputs: Tensor, initial: Tensor) -> Tensor:
    """h_0 … h_T, shape (..., T + 1, state), of `inputs` (..., T, input) from `initial` (..., state)."""
    states = _states(system, inputs, initial)
    with parametrize.cached():  # a constrained matrix is made once an orbit, not once a step
        pieces = iter(lambda: list(islice(states, PIECE)), [])
        return torch.cat([torch.stack(piece, dim=-2) for piece in pieces], dim=-2)


def _states(system: Map, inputs: Tensor, state: Tensor) -> Iterator[Tensor]:
    yield state
    for t in through(range(inputs.shape[-2])):
        state = system.step(state, inputs[..., t, :], t)
        yield state


def prepare(
    system: MapType, inputs: Any, initial_state: Any = None, dtype: str = "float64", device: str = "cpu"
) -> tuple[MapType, Tensor, Tensor]:
    """A frozen copy of the system, and its inputs and initial states as tensors of one batch.

    Returns
    -------
    system : Map
    inputs : Tensor, shape (sample, time, network input)
        Inputs, by default those recorded with the system; as the network is given them: `System.drive` makes of
        them what the steps are given.
    initial : Tensor, shape (sample, state)

    Raises
    ------
    UserError
        For an unknown dtype, and for inputs of the wrong width, of length 0, or not finite.
    """
    number = number_type(dtype)
    system = frozen(system, number, device)
    if inputs is None:
        if system.recorded_inputs is None:
            width = system.network_input_size
            raise UserError(
                f"Give inputs of shape (sample, time, {width}): inputs=dl.driving_inputs(None, system).inputs takes "
                f"those of the commands, which are its task's data where they are at hand, else white noise. None were "
                f"recorded with the system."
            )
        inputs = system.recorded_inputs
    driving = _tensor("inputs", inputs, number, device)
    driving = driving.unsqueeze(0) if driving.ndim == 2 else driving
    check_inputs(driving, system)
    initial = _initial(system, initial_state, number, device)
    samples = max(driving.shape[0], initial.shape[0] if initial.ndim == 2 else 1)
    if driving.shape[0] not in (1, samples) or (initial.ndim == 2 and initial.shape[0] not in (1, samples)):
        raise UserError(f"There are {driving.shape[0]} input sequences for {initial.shape[0]} initial states.")
    return (
        system,
        driving.expand(samples, *driving.shape[1:]),
        initial.expand(samples, system.state_size),
    )


def prepare_flow(system: Flow, initial_state: Any = None) -> tuple[Flow, Tensor]:
    """A frozen copy of a flow, and its initial states as a tensor (sample, state), both in float64 on the processor.

    Raises
    ------
    UserError
        For initial states of the wrong width, or not finite, and for a velocity that changes with time.
    """
    system = frozen(system)
    initial = _initial(system, initial_state, torch.float64, "cpu").reshape(-1, system.state_size)
    first, later = (system.velocity(initial, initial.new_zeros(len(initial), system.input_size), t) for t in (0, 1))
    if not torch.equal(first.nan_to_num(), later.nan_to_num()):
        raise UserError(
            f"The velocity of {system.name} changes with time: make the time a state of its own, with rate 1."
        )
    return system, initial


def _tensor(name: str, values: Any, dtype: torch.dtype, device: str) -> Tensor:
    """Numbers as a tensor, or the error that says they are none."""
    if isinstance(values, Tensor):
        return values.detach().to(device=device, dtype=dtype)
    try:
        return torch.as_tensor(np.array(values, dtype=float), dtype=dtype, device=device)
    except (TypeError, ValueError) as error:
        raise UserError(f"The {name} must be an array of numbers, rows of equal length; got {values!r:.80}.") from error


def _initial(system: System, given: Any, dtype: torch.dtype, device: str) -> Tensor:
    """The initial states that are given, else the learned one, else 0."""
    size, learned = system.state_size, system.initial_state()
    start = np.zeros(size) if learned is None else learned
    initial = _tensor("initial state", start if given is None else given, dtype, device)
    if initial.ndim not in (1, 2) or initial.shape[-1] != size:
        raise UserError(f"The initial state must have shape ({size},) or (sample, {size}), got {tuple(initial.shape)}.")
    if not torch.isfinite(initial).all():
        raise UserError("The initial state holds NaN or infinite values; give finite ones.")
    return initial


def check_inputs(inputs: Tensor, system: System) -> None:
    """Raise where inputs (sample, time, input) cannot drive the network that `system` is, or is a layer of."""
    width = system.network_input_size
    if inputs.ndim == 3 and inputs.shape[-1] == system.input_size != width:
        raise UserError(
            f"The network takes inputs of shape (sample, time, {width}), got {tuple(inputs.shape)}: give what the "
            f"whole network is given (network_input_size), of which it makes the {system.input_size} numbers that "
            f"each step takes (input_size)."
        )
    if inputs.ndim != 3 or inputs.shape[-1] != width:
        raise UserError(
            f"The network takes inputs of shape (sample, time, {width}), got {tuple(inputs.shape)}; "
            f"check that these are the data it was trained on. Where other layers stand before it, "
            f"from_module(model, batch=batch) records what it is given (then leave the inputs out), and of a file "
            f"--encoder NAME:tanh (encoder=) runs the linear layer before it."
        )
    if inputs.shape[0] == 0 or inputs.shape[1] == 0:
        raise UserError(f"The inputs are empty: shape {tuple(inputs.shape)}; give at least one sequence of one step.")
    if not torch.isfinite(inputs).all():
        raise UserError("The inputs hold NaN or infinite values; clean them before the analysis.")


def _solution(system: Flow, initial_state: Any, times: Any) -> xr.Dataset:
    """A flow's solution by the embedded Runge–Kutta pair of order 8(5,3) of Dormand and Prince."""
    import scipy.integrate  # here, since a third of a second is long for a command that solves no flow

    if times is None:
        raise UserError("Give times= in seconds for a flow, such as numpy.linspace(0, 10, 101).")
    seconds = np.asarray(times, dtype=float)
    if seconds.ndim != 1 or len(seconds) < 2 or not (np.diff(seconds) > 0).all() or not np.isfinite(seconds).all():
        raise UserError("times= must be two or more finite seconds in increasing order, such as numpy.linspace(0, 1).")
    system, initial = prepare_flow(system, initial_state)
    starts = initial.numpy()
    zero = torch.zeros(system.input_size, dtype=torch.float64)

    def solve(start: np.ndarray) -> np.ndarray:
        evaluations = count(1)

        def velocity(t: float, h: np.ndarray) -> np.ndarray:
            check_evaluations(system, next(evaluations), t, seconds[-1])
            return system.velocity(torch.from_numpy(h), zero).numpy()

        # A solution that runs off to infinity ends early and is flagged; its overflow is no warning besides.
        with np.errstate(all="ignore"):
            begun = velocity(seconds[0], start)
            if not np.isfinite(begun).all():  # of which SciPy makes no length of a first step
                return start[None]
            found = scipy.integrate.solve_ivp(
                velocity,
                (seconds[0], seconds[-1]),
                start,
                method="DOP853",
                t_eval=seconds,
                rtol=RELATIVE_TOLERANCE,
                atol=ABSOLUTE_TOLERANCE,
            )
        return found.y.T

    states = np.full((len(starts), len(seconds), system.state_size), np.nan)
    for sample, begin in enumerate(starts):
        solved = solve(begin)
        states[sample, : len(solved)] = solved
    settings = {"initial_state": starts.tolist(), "relative_tolerance": RELATIVE_TOLERANCE}
    return _trajectory_dataset(system, states, seconds, schema.SECOND, settings)


def check_evaluations(system: System, taken: int, t: float, end: float) -> None:
    """Raise where a solution has taken too many evaluations of the velocity on its way to `end`, at `t` seconds."""
    if taken > MOST_EVALUATIONS:
        raise UserError(
            f"{system.name} has taken {taken:,} evaluations to get to {t:.4g} s of the {end:.4g} s asked for: it is "
            f"stiff, or its velocity jumps. Take fewer seconds, or Euler(flow, step_size)."
        )


def _trajectory_dataset(
    system: System, states: np.ndarray, times: np.ndarray, units: str, settings: dict[str, Any]
) -> xr.Dataset:
    diverged = np.maximum.accumulate(~np.isfinite(states).all(axis=-1), axis=1)
    states = np.where(diverged[..., None], np.nan, states)
    flags = {"trajectory": "NaN where the trajectory has left the floating-point numbers, or where the step is none"}
    return schema.dataset(
        {"trajectory": schema.variable((schema.SAMPLE, schema.TIME, schema.STATE), states, "state h")},
        system=system.name,
        source=system.source,
        settings=settings | {"config": system.json_config},
        coords={schema.TIME: schema.time_coordinate(times, units)},
        flags=flags if diverged.any() else None,
    )
