"""A system under a constant input, and what drives it: the one place that reads `inputs`, `at` and `at_step`."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab.errors import UserError
from dynlab.systems import Map, System, frozen
from dynlab.systems.autonomous import Held, held_input, number_type, step_number
from dynlab.trajectories.simulation import prepare


def under_constant_input(
    system: System,
    inputs: Any,
    at: str | ArrayLike,
    at_step: int = -1,
    dtype: str = "float64",
    device: str = "cpu",
) -> tuple[Held, Tensor | None]:
    """Return a frozen copy with its input and step number held, and the inputs of its steps where inputs drive it.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system.
    at : "zero", "rest", "mean" or array_like, shape (input,)
        The input that is held, as in `dynlab.systems.autonomous.held_input`.
    at_step : int
        The step whose parameters are held; −1 is the last.
    dtype, device : str
        Type and device of the copy.

    Returns
    -------
    held : Held
    driven : Tensor or None
        Shape (sample, time, input); None where nothing drives the system, as a flow.

    Raises
    ------
    UserError
        For inputs of a flow, inputs that do not fit, and an input or a step that cannot be held.
    """
    if not isinstance(system, Map):
        if inputs is not None:
            raise UserError("Equilibria of a flow are those under a constant input: give at=, and no inputs.")
        analysed, driven = frozen(system, number_type(dtype), device), None
        like = torch.zeros(1, 1, system.input_size, dtype=number_type(dtype), device=device)
    else:
        inputs = system.recorded_inputs if inputs is None else inputs
        drives = inputs is not None and system.network_input_size > 0
        given = inputs if drives else np.zeros((1, system.network_input_size))
        analysed, driving, _ = prepare(system, given, None, dtype, device)
        like = analysed.drive(driving)
        driven = like if drives else None
    return Held(analysed, held_input(analysed, at, like, driven is not None), step_number(system, at_step)), driven
