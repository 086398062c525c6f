"""A driven trajectory and the Jacobians along it, some steps at a time."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.errors import UserError
from dynlab.numerics.threads import slices
from dynlab.program.differentiation import (
    jacobian,
    jacobian_and_error,
    jacobian_and_rounding,
)
from dynlab.program.jacobian import Operator
from dynlab.progress import through
from dynlab.systems import Map, System
from dynlab.trajectories import simulation
from dynlab.trajectories.lengths import padded

NUMBERS_AT_ONCE = 2**24  # entries of Jacobians held at a time: 128 MiB in float64
NUMBERS_IN_CACHE = 2**19  # entries of Jacobians that are multiplied soon after they are made
ARRAYS = 4  # of that size beside the Jacobians while their errors are computed

Found = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Driven:
    """A frozen system, what its steps are given, and where that leads.

    Attributes
    ----------
    system : Map
    inputs : Tensor, shape (sample, time, input)
        x_1 … x_T.
    states : Tensor, shape (sample, time + 1, state)
        h_0 … h_T.
    settings : dict
        The arguments that every diagnostic of a driven trajectory has, JSON-able.
    lengths : ndarray of int, shape (sample,)
        Steps of each sequence; what lies after them is no part of it.
    """

    system: Map
    inputs: Tensor
    states: Tensor
    settings: dict[str, Any]
    lengths: NDArray[np.int64]

    @property
    def steps(self) -> int:
        return self.inputs.shape[1]

    def of(self, samples: slice | NDArray[np.int64]) -> "Driven":
        """Return some of the trajectories."""
        inputs, states = self.inputs[samples], self.states[samples]
        return dataclasses.replace(self, inputs=inputs, states=states, lengths=self.lengths[samples])

    @property
    def last(self) -> Tensor:
        """h_T of each sequence, shape (sample, state)."""
        return self.states[range(len(self.states)), self.lengths]

    @property
    def after(self) -> str:
        """A reason why values are NaN, where lengths differ."""
        return "NaN after a sequence's end" if len(set(self.lengths)) > 1 else ""

    def parts(self) -> "Iterator[tuple[NDArray[np.int64], Driven]]":
        """Yield for each length the numbers of the sequences that have it, and their trajectories up to their end."""
        for length in np.unique(self.lengths):
            samples = np.flatnonzero(self.lengths == length)
            part = self.of(samples) if len(samples) < len(self.lengths) else self
            inputs, states = part.inputs[:, :length], part.states[:, : length + 1]
            yield samples, dataclasses.replace(part, inputs=inputs, states=states)

    def joined(
        self, work: Callable[["Driven"], tuple[NDArray[np.int64], Found, Found]]
    ) -> tuple[NDArray[np.int64], Found]:
        """Return what `work` finds along sequences of one length, of all: NaN at the times after a sequence's end.

        Parameters
        ----------
        work : callable
            Gives increasing times, values (sample, time, ...) at these, and values (sample, ...).

        Returns
        -------
        times : ndarray of int, shape (time,)
        values : dict of ndarray
            With ``length`` (sample,) where lengths differ.
        """
        parts = [(samples, *work(part)) for samples, part in self.parts()]
        if len(parts) == 1:
            return parts[0][1], parts[0][2] | parts[0][3]
        times = np.unique(np.concatenate([own for _, own, *_ in parts]))
        found: Found = {"length": self.lengths}
        for samples, own, of_times, of_samples in parts:
            for name, values in (of_times | of_samples).items():
                shape: tuple[int, ...] = values.shape[1:]
                place: tuple[Any, ...] = (samples,)
                if name in of_times:
                    shape, place = (len(times), *shape[1:]), np.ix_(samples, np.searchsorted(times, own))
                text, inexact = values.dtype.kind == "U", values.dtype.kind in "fcU"
                kind = values.dtype if inexact else np.float64
                nothing = np.full((len(self.lengths), *shape), "" if text else np.nan, dtype=kind)
                found.setdefault(name, nothing)[place] = values
        return times, found

    def blocks(self, of: System, steps: Sequence[int] | NDArray[np.int64]) -> Iterator[Tensor]:
        """∂step/∂state (of a map; ∂velocity/∂state of a flow) at h_{t−1}, x_t for each t of `steps`, in that order.

        Yields
        ------
        Tensor, shape (sample, some of the steps, state, state)
            NaN where h_{t−1} is not finite: comparisons with NaN are false, so that a ReLU's slope would be 0 there.
        """
        for given, lost in self._pieces(steps, NUMBERS_AT_ONCE / self._entries):
            yield _masked(jacobian(of, *given).dense(), lost)

    def blocks_and_errors(self, of: System, steps: Sequence[int] | NDArray[np.int64]) -> Iterator[list[Tensor]]:
        """Yield what `blocks` does, and bounds on the entries' errors, in float64; NaN where h_{t−1} is not finite."""
        for given, lost in self._pieces(steps, NUMBERS_AT_ONCE / (ARRAYS * self._entries)):
            yield [in_float64(_masked(part, lost)) for part in jacobian_and_error(of, *given)]

    def operators(self, steps: Sequence[int] | NDArray[np.int64], at_once: float) -> Iterator[Operator]:
        """∂step/∂state at h_{t−1}, x_t for each t of `steps`, in that order, `at_once` of them at a time, in float64.

        Yields
        ------
        Operator
            With leading dimensions (sample, some of the steps). Where h_{t−1} is not finite it may be anything.
        """
        for given, _ in self._pieces(steps, at_once):
            yield jacobian(self.system, *given).mapped(in_float64, in_float64)

    def operators_with_rounding(
        self, steps: Sequence[int] | NDArray[np.int64], at_once: float
    ) -> Iterator[tuple[Operator, Tensor]]:
        """Yield what `operators` does, with bounds of `jacobian_and_rounding`, (sample, some of the steps).

        The bounds are NaN where h_{t−1} is not finite.
        """
        for given, lost in self._pieces(steps, at_once):
            found, rounding = jacobian_and_rounding(self.system, *given)
            rounding = in_float64(_masked(rounding.expand(lost.shape[:-2])[..., None, None], lost)[..., 0, 0])
            yield found.mapped(in_float64, in_float64), rounding

    def factors(self, steps: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield what `operators_with_rounding` does as matrices (sample, some of the steps, state, state)."""
        for found, rounding in self.operators_with_rounding(steps, NUMBERS_AT_ONCE / (ARRAYS * self._entries)):
            for part in slices(rounding.shape[1], NUMBERS_IN_CACHE / self._entries):
                wrong = rounding[:, part]
                yield found[:, part].dense().expand(*wrong.shape, *2 * self.states.shape[-1:]), wrong

    def jacobians_with_errors(self, steps: Sequence[int] | NDArray[np.int64]) -> Iterator[tuple[Tensor, Tensor]]:
        """The Jacobians step by step, and bounds on their entries' errors, each (sample, state, state), in float64."""
        for both in self.blocks_and_errors(self.system, steps):
            yield from zip(*(part.unbind(dim=1) for part in both), strict=True)

    @property
    def _entries(self) -> int:
        """The number of entries of one step's Jacobians."""
        return len(self.states) * self.states.shape[-1] ** 2

    def _pieces(
        self, steps: Sequence[int] | NDArray[np.int64], at_once: float
    ) -> Iterator[tuple[tuple[Tensor, Tensor, Tensor], Tensor]]:
        """Yield what `at_once` of the steps are given, and where h_{t−1} is no number (sample, step, 1, 1)."""
        for some in through(slices(len(steps), at_once)):
            before = torch.as_tensor(np.asarray(steps[some]) - 1, device=self.states.device)
            states = self.states[:, before]
            yield (states, self.inputs[:, before], before), ~torch.isfinite(states).all(dim=-1)[..., None, None]


def _masked(matrices: Tensor, lost: Tensor) -> Tensor:
    """Matrices for every sample and step, NaN where `lost` is."""
    whole = matrices.expand(*lost.shape[:-2], *matrices.shape[-2:])
    return whole.masked_fill(lost, torch.nan) if bool(lost.any()) else whole


def in_float64(values: Tensor) -> Tensor:
    """The same numbers alone in float64, on the CPU where their device has none: long products need its digits."""
    return (values.cpu() if values.device.type == "mps" else values).detach().double()


def drive(
    system: Map,
    inputs: Any,
    initial_state: Any,
    *,
    dtype: str,
    device: str,
    seed: int,
    inputs_description: str,
    uneven: bool = False,
) -> Driven:
    """Run a frozen copy of `system`; the arguments are those of the diagnostics.

    With `uneven` the sequences may have different lengths, as `padded` takes them.
    """
    if not isinstance(system, Map):
        raise UserError(
            f"A driven trajectory needs a Map, got the {type(system).__name__}: "
            f"of a flow take its step, dl.Euler(flow, step_size)."
        )
    whole, lengths = padded(inputs) if uneven else (inputs, None)
    if lengths is not None and not lengths.all():
        raise UserError("A sequence has no step: leave it out.")
    analysed, given, initial = simulation.prepare(system, whole, initial_state, dtype, device)
    driven = analysed.drive(given)
    settings = {
        "dtype": dtype,
        "device": device,
        "seed": seed,
        "inputs": inputs_description,
        "inputs_shape": list(given.shape),
        "initial_state": None if initial_state is None else np.asarray(initial_state).tolist(),
        "config": system.json_config,
    }
    lengths = np.full(len(given), given.shape[1] if lengths is None else lengths)
    return Driven(analysed, driven, simulation.orbit(analysed, driven, initial), settings, lengths)


def chosen_steps(steps: int, times: int) -> NDArray[np.int64]:
    """Return at most `times` of the steps 1 … `steps`, evenly spaced, the last always among them.

    Raises
    ------
    UserError
        If `times` is below 1.
    """
    if times < 1:
        raise UserError(f"At least one step must be looked at, got times={times}.")
    if times == 1:
        return np.array([steps])
    return np.unique(np.round(np.linspace(1, steps, min(times, steps))).astype(np.int64))
