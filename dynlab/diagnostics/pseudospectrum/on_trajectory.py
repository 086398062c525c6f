"""Where on a driven trajectory a Jacobian is taken."""

from typing import Any

from dynlab.errors import UserError
from dynlab.systems import Map
from dynlab.trajectories.driven import drive


def on_trajectory(
    system: Map,
    inputs: Any,
    *,
    step: int | None = None,
    sample: int = 0,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """The state, the input and the step's number at which ∂h_t/∂h_{t−1} of a driven trajectory is taken.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (sample, time, input)
    step : int, optional
        t, from 1; the last where it is not given.
    sample : int
        Which of the sequences, from 0.
    dtype, device, seed : as in `dynlab.spectrum`

    Returns
    -------
    dict
        The arguments ``state``, ``at``, ``at_step`` and ``state_description`` of `dynlab.pseudospectrum`.

    Raises
    ------
    UserError
        For a sample or a step that is not there.
    """
    if not 0 <= sample < len(inputs):
        raise UserError(f"Sequences are counted from 0 (--sample), and there are {len(inputs)}; got {sample}.")
    driven = drive(system, inputs[sample], None, dtype=dtype, device=device, seed=seed, inputs_description="")
    t = driven.steps if step is None else step
    if not 1 <= t <= driven.steps:
        raise UserError(f"The step (--at-step) must be from 1 to the sequence's {driven.steps:,} steps, got {t}.")
    state, shown = driven.states[0, t - 1], driven.inputs[0, t - 1]
    words = f"step {t:,} of sequence {sample}"
    return {"state": state.cpu().numpy(), "at": shown.cpu().numpy(), "at_step": t - 1, "state_description": words}
