"""A system under a constant input, and what drives it: the one place that reads `inputs`, `at` and `at_step`."""

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab.errors import UserError
from dynlab.systems import Euler, Flow, Map, System
from dynlab.systems.autonomous import Held, held_input, step_number
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
        By default those recorded with the system; of a flow only their mean counts.
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
        For inputs of a flow whose mean is not what is held, inputs that do not fit, and an input or a step that cannot
        be held.
    """
    is_map = isinstance(system, Map)
    if not is_map and inputs is not None and not (isinstance(at, str) and at == "mean"):
        raise UserError("Equilibria of a flow are those under a constant input: give at=, and no inputs.")
    step = system if isinstance(system, Map) else Euler(cast(Flow, system), 1.0)
    inputs = system.recorded_inputs if inputs is None else inputs
    given = np.zeros((1, step.network_input_size)) if inputs is None else inputs
    analysed, driving, _ = prepare(step, given, None, dtype, device)
    like, drives = analysed.drive(driving), inputs is not None and step.network_input_size > 0
    whole = analysed if is_map else cast(Euler, analysed).flow
    held = Held(whole, held_input(whole, at, like, drives), step_number(system, at_step))
    return held, like if drives and is_map else None
