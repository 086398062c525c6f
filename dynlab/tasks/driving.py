"""Inputs that drive a network under analysis: its task's data, a file, noise, or nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dynlab.arguments import check_at_least, takes
from dynlab.errors import UserError
from dynlab.tasks.array_files import Choice, read_sequences
from dynlab.tasks.task import NotAtHand
from dynlab.words import NO_INPUT, agree, counted

if TYPE_CHECKING:
    from dynlab.systems import System

FEW = 16  # sequences
MOST_NUMBERS = 5 * 10**8  # of what is made up, and of the largest two settings of a task in a checkpoint, multiplied
FILES = (".npy", ".npz", ".nc", ".zarr")
WAYS = "task:har2, a .npy, .npz, .nc or .zarr file, noise:1.0, constant:0.1,0.2 or zero"


@dataclass(frozen=True)
class Driving:
    """Inputs for an analysis, and what they are.

    Attributes
    ----------
    inputs : ndarray, shape (sample, time, input)
    targets : ndarray or None
        Targets where the inputs are a task's.
    description : str
        One phrase, for a verdict or a caption.
    real : bool
        True of data, false where they are made up.
    """

    inputs: np.ndarray
    targets: np.ndarray | None
    description: str
    real: bool


def driving_inputs(
    spec: str | None,
    system: System,
    *,
    samples: int | None = 16,
    steps: int = 50,
    seed: int = 0,
    skip: int | None = None,
    data_dir: str | Path | None = None,
    shipped: bool = False,
) -> Driving:
    """The inputs that `spec` names. Nothing is ever downloaded for it.

    Parameters
    ----------
    spec : str or None
        ``task:NAME``, a ``.npy``, ``.npz``, ``.nc`` or ``.zarr`` file of shape (sample, time, input),
        ``noise:DEVIATION``, ``constant:VALUE,VALUE…`` or ``zero``. None: what was recorded with the system, else its
        own task where the data are at hand, else white noise. Of a file only those sequences are read that are
        taken, but of a ``.npz`` all.
    system : System
    samples : int, optional
        Number of sequences at most, drawn with `seed` where there are more; None: all of a file and of what was
        recorded, 16 of others.
    steps : int
        Length of inputs that are made up.
    seed : int
    skip : int, optional
        In place of a draw the `samples` sequences after the first `skip`, of a file, a task or what was recorded.
    data_dir : str or Path, optional
        Folder of data sets, besides DYNLAB_DATA.
    shipped : bool
        Take of HAR only the sequences that ship with dynlab, even where the data set is at hand: the same everywhere.

    Returns
    -------
    Driving

    Raises
    ------
    UserError
        For a spec that names nothing, a file that cannot be read, inputs of the wrong width or not finite.
    """
    import torch

    from dynlab.trajectories.lengths import padded
    from dynlab.trajectories.simulation import check_inputs

    check_at_least(1, samples=samples or FEW, steps=steps)
    stored = system.recorded_inputs is not None if spec is None else Path(spec).suffix in FILES
    choice = Choice(samples if stored else samples or FEW, seed, skip)
    if spec is None:
        driving = _default(system, choice, steps, data_dir, shipped)
    elif spec.startswith("task:"):
        driving = _from_task(spec.removeprefix("task:"), system, choice, data_dir, shipped)
    elif Path(spec).suffix in FILES:
        driving = _from_file(Path(spec), choice)
    else:
        driving = _made_up(spec, choice, steps, system)
    if skip is not None and not driving.real and driving.targets is None:
        raise UserError(f"There is nothing to skip in {driving.description}: leave --skip (skip=) out.")
    check_inputs(torch.as_tensor(padded(np.ascontiguousarray(driving.inputs))[0]), system)
    return driving


def _default(system: System, choice: Choice, steps: int, data_dir: str | Path | None, shipped: bool) -> Driving:
    """Return the inputs recorded with the system, its own task's data, or white noise with the reason."""
    from dynlab.tasks import TASKS

    width = system.network_input_size
    if not width:
        return _made_up("zero", choice, steps, system)
    if system.recorded_inputs is not None:
        inputs = system.recorded_inputs[choice.of(len(system.recorded_inputs))]
        described = f"{_some(len(inputs), len(system.recorded_inputs))} recorded with the network"
        return Driving(inputs, None, described, True)
    reason = "no task is known" if system.task is None else f"task {system.task!r} is not dynlab's"
    if system.task in TASKS:
        try:
            driving = _from_task(system.task, system, choice, data_dir, shipped)
            if driving.inputs.shape[-1] == width:
                return driving
            reason = f"task {system.task!r} has inputs of width {driving.inputs.shape[-1]}, not {width}"
        except NotAtHand:
            reason = f"the data of its task {system.task!r} are not at hand"
    noise = _made_up("noise", choice, steps, system)
    return replace(noise, description=f"{noise.description} ({reason})")


def _from_task(name: str, system: System, choice: Choice, data_dir: str | Path | None, shipped: bool) -> Driving:
    """Test sequences of a task, made as it was for the system's training where it is the same.

    Of HAR, where it is not at hand, those that ship with dynlab, which are scaled as the whole training split would be.
    """
    from dynlab.tasks import TASKS, create, har

    settings = system.task_settings if name == system.task else {}
    sizes = sorted(value for key, value in settings.items() if isinstance(value, int) and key != "seed")
    _check_size(math.prod([1000, *sizes][-2:]))  # a file may say anything, and leave out one as usual
    of_har = name in har.CLASSES
    settings = ({"retrain": True} if of_har else {}) | settings | {"data_dir": data_dir}
    if "download" in takes(TASKS, name, "task"):
        settings["download"] = False
    try:
        if shipped and of_har:
            raise NotAtHand(f"only the embedded sequences of {name} are asked for")
        task = create(name, **settings)
        split, ships, real = task.test, "", task.source["origin"] != "generated"
    except NotAtHand:
        if not of_har:
            raise
        split, real = har.sample(name, settings.get("standardise", "feature")), True
        ships = " that {} with dynlab"
    chosen = split[choice.of(len(split))]
    described = counted(len(chosen), f"test sequence of {name}") + ships.format(agree(len(chosen), "ships", "ship"))
    return Driving(chosen.inputs, chosen.targets, described, real)


def _from_file(path: Path, choice: Choice) -> Driving:
    inputs, available = read_sequences(path, choice)
    if inputs.ndim == 2:
        inputs, available = inputs[None][choice.of(1)], 1
    return Driving(inputs.astype(np.float64), None, f"{_some(len(inputs), available)} of {path.name}", True)


def _made_up(spec: str, choice: Choice, steps: int, system: System) -> Driving:
    """Zeros, a constant, or white noise; of a network that reads tokens, random ones in place of noise."""
    kind, _, text = ("noise:1.0" if spec == "noise" else spec).partition(":")
    shape = (choice.samples or FEW if kind == "noise" else 1, steps, system.network_input_size)
    _check_size(shape[0] * steps * max(system.network_input_size, system.state_size))
    try:
        values = [float(value) for value in text.split(",")] if text else []
    except ValueError:
        values = []
    if kind == "zero" and not text:
        return Driving(np.zeros(shape), None, NO_INPUT, False)
    if kind == "constant" and values:
        return Driving(np.tile(values, (1, steps, 1)), None, f"the constant input {text}", False)
    if kind != "noise" or len(values) != 1 or values[0] < 0:
        raise UserError(f"Unknown inputs {spec!r}: choose {WAYS}; the deviation of noise must not be negative.")
    generator, tokens = np.random.default_rng(choice.seed), getattr(system.embedding, "tokens", None)
    if tokens is not None:
        inputs, described = generator.integers(tokens, size=shape).astype(float), "random tokens"
    else:
        inputs = values[0] * generator.standard_normal(shape)
        described = f"white noise of deviation {values[0]:g}"
    inside = f" at the layer's own {system.input_size} inputs" * bool(system.part_of)
    return Driving(inputs, None, f"{counted(len(inputs), 'sequence')} of {described}{inside}", False)


def _check_size(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise UserError(
            f"The inputs, or the states that they lead to, are {numbers:,} numbers or more, and {MOST_NUMBERS:,} is "
            f"the most: take fewer or shorter sequences (--samples, --steps), or another task."
        )


def _some(taken: int, available: int) -> str:
    return f"{taken:,} of {available:,} sequences" if taken < available else counted(taken, "sequence")
