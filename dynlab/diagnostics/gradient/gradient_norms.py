"""The gradient's way back through time: ‖∂h_T/∂h_t‖, and ‖∂L/∂h_t‖ where there is a loss."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.diagnostics.gradient.loss_gradient import log_loss_gradient
from dynlab.diagnostics.gradient.norms import (
    METHOD,
    METHOD_LARGE,
    SURVIVES,
    large_norms,
    sized,
    small_norms,
    surviving,
)
from dynlab.errors import UserError
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import Driven, drive
from dynlab.trajectories.lengths import LENGTH, of_lengths, reasons_with
from dynlab.words import counted, over

EVERY = 256  # states up to which the norm at every t costs less than it is worth
Loss = Callable[[Tensor, Any], Tensor]

OF_LOSS = "; ∂L/∂h_t by backward recursion in log scale from automatic derivatives of the loss"
ZERO = "-inf where it is exactly zero; "
NOT_RESOLVED = "NaN where the trajectory has diverged, a unit is at a kink, or rounding hides it"
NO_BOUND = "inf or NaN where there is no bound"
EACH = (schema.SAMPLE, schema.TIME)
# name: dimensions, long name, units, why a value is not finite
VARIABLES = {
    "log_norm": (EACH, "ln ‖∂h_T/∂h_t‖₂", schema.ONE, ZERO + NOT_RESOLVED),
    "log_norm_error": (EACH, "bound of the error of ln ‖∂h_T/∂h_t‖₂", schema.ONE, NO_BOUND),
    "log_norm_frobenius": (EACH, "ln ‖∂h_T/∂h_t‖_F", schema.ONE, ZERO + NOT_RESOLVED),
    "log_norm_frobenius_error": (EACH, "bound of the error of ln ‖∂h_T/∂h_t‖_F", schema.ONE, NO_BOUND),
    "log_loss_gradient": (EACH, "ln ‖∂L/∂h_t‖₂", schema.ONE, ZERO + NOT_RESOLVED),
    "surviving": (
        (schema.SAMPLE,),
        f"directions that survive from h_0 to h_T, σ ≥ {SURVIVES}",
        schema.ONE,
        "NaN where one is not certainly above or below, or only end_to_end (--end-to-end) computes it",
    ),
    "lost_after": (
        (schema.SAMPLE,),
        f"steps T − t from which on ‖∂h_T/∂h_t‖₂ stays below {SURVIVES}",
        schema.STEP,
        "NaN where it does not, or that is not known",
    ),
    "vanished_after": (
        (schema.SAMPLE,),
        "steps T − t from which on ∂h_T/∂h_t is exactly zero",
        schema.STEP,
        "NaN where it is not at any t",
    ),
    "length": (*LENGTH, ""),
}


@checked
def gradient(
    system: Map,
    inputs: Any = None,
    *,
    loss: Loss | None = None,
    targets: Any = None,
    initial_state: Any = None,
    times: int | Sequence[int] | None = None,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute the norm of ∂h_T/∂h_t for every t, in log scale: how much of a small change is left at the end.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system (`dynlab.from_module` with a batch). Sequences of different lengths: a
        list of arrays (time, input), a PackedSequence, or NaN after their ends; each has its own T.
    loss : callable, optional
        ``loss(states, targets)`` of the states h_0 … h_T, shape (sample, time + 1, state), gives one number for each
        sample, shape (sample,); it must be differentiable by torch. `read_out_loss` makes one of a read-out.
    targets : optional
        Targets of `loss`, handed to it as they are.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default zero.
    times : int or sequence of int, optional
        Number of t of 0 … T that are looked at, evenly spaced, 0 and T among them, or these t. By default every t of a
        state of at most 256 dimensions, and of a larger one those where T − t is 0, 1, 2, 4, … and T.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of the trajectory and its Jacobians; they are multiplied in float64.
    seed : int
        Seed of the random vectors that find norms or bounds, recorded as what drew `inputs`.

    Returns
    -------
    xarray.Dataset
        ``log_norm(sample, time)`` = ln ‖∂h_T/∂h_t‖₂ for t = 0 … T, 0 at t = T, and up to 256 dimensions
        ``log_norm_frobenius``. ``log_norm_error`` and ``log_norm_frobenius_error`` are bounds of their errors, but for
        a probability of 1e-9. They are of the product of Jacobians at the states as computed. ``surviving(sample)`` is
        how many singular values of ∂h_T/∂h_0 are at least 0.1. Of more than 256 dimensions it is 0 or NaN.
        ``lost_after(sample)`` is the number of steps T − t from which on the norm stays below 0.1, and
        ``vanished_after(sample)`` that from which on it is exactly zero, of the t that are looked at. With a loss also
        ``log_loss_gradient(sample, time)`` = ln ‖∂L/∂h_t‖₂. It is the total derivative: h_t acts through all later
        states.

    Raises
    ------
    UserError
        For a flow, for inputs of the wrong width, empty or not finite, and for a loss that does not give one
        differentiable number for each sample.

    References
    ----------
    Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", ICML 2013, section 2.1.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = gradient(from_function(lambda h, x: h / 8, state_size=2), np.zeros((1_000, 0)))
    >>> ds["log_norm"].values[0, [0, -1]].round(2).tolist()
    [-2079.44, 0.0]
    """
    if loss is None and targets is not None:
        raise UserError("targets are what a loss is given: give loss, too, or leave them out.")
    driven = drive(
        system,
        inputs,
        initial_state,
        dtype=dtype,
        device=device,
        seed=seed,
        inputs_description=inputs_description,
        uneven=True,
    )
    large = driven.states.shape[-1] > EVERY
    if loss is not None and driven.after:
        raise UserError("A loss is of sequences of one length: give those of each length alone.")

    def along(part: Driven) -> tuple[Any, ...]:
        chosen = _chosen(part.steps, times, large)
        found = (large_norms if large else small_norms)(part, chosen, seed)
        if loss is not None:
            with nullcontext() if large else one_torch_thread():
                found["log_loss_gradient"] = log_loss_gradient(loss, targets, part, large)[:, chosen]
        return chosen, found, {"surviving": found.pop("surviving"), **_losses(found, part.steps - chosen)}

    chosen, found = driven.joined(along)
    settings = {"loss": getattr(loss, "__name__", type(loss).__name__) if loss else None, "times": chosen.tolist()}
    return schema.result(
        system,
        {name: (dims, found[name], *words) for name, (dims, *words, _) in VARIABLES.items() if name in found},
        settings=driven.settings | settings,
        method=(METHOD_LARGE if large else METHOD) + (OF_LOSS if loss is not None else ""),
        coords={schema.TIME: schema.time_coordinate(chosen)},
        reasons=reasons_with({name: row[-1] for name, row in VARIABLES.items()}, driven.after),
        verdict=lambda ds: _verdict(ds, driven, inputs_description) + of_lengths(ds),
    )


def _chosen(steps: int, times: int | Sequence[int] | None, large: bool) -> NDArray[np.int64]:
    """Return the t of 0 … `steps` that are looked at, increasing."""
    if times is None:
        back = [0, *(2**power for power in range(steps.bit_length())), steps]
        return np.unique([steps - each for each in back if each <= steps]) if large else np.arange(steps + 1)
    if isinstance(times, int):
        check_at_least(1, times=times)
        return np.unique(np.round(np.linspace(0, steps, min(times, steps + 1))).astype(np.int64))
    found = np.unique(np.asarray(times, dtype=np.int64))
    if not found.size or found[0] < 0 or found[-1] > steps:
        raise UserError(f"times= are steps from 0 to {steps:,}, at least one; got {list(times)}.")
    return found


@np.errstate(invalid="ignore")
def _losses(found: dict[str, NDArray[Any]], back: Index) -> dict[str, Real]:
    """Return after how many of the steps `back` (time,), decreasing, the norm stays below `SURVIVES`, and is zero."""
    small = found["log_norm"] + found["log_norm_error"] < np.log(SURVIVES)

    def since(holds: NDArray[np.bool_]) -> Real:
        from_start = np.logical_and.accumulate(holds, axis=1).sum(axis=1)  # longest products come first
        return np.where(from_start > 0, back[np.maximum(from_start, 1) - 1], np.nan).astype(float)

    return {"lost_after": since(small), "vanished_after": since(np.isneginf(found["log_norm"]))}


def _verdict(ds: xr.Dataset, driven: Driven, described: str) -> str:
    start, kept, steps = ds["log_norm"].values[:, 0], ds["surviving"].values, driven.steps
    diverged = int((~driven.last.isfinite().all(dim=-1)).sum())
    known = "" if np.isnan(start).all() else f"{surviving(kept, driven.states.shape[-1])}."
    sentences = [
        f"Over {over(steps, described)} the gradient ‖∂h_T/∂h_0‖ is {sized(start)}.",
        _none_survives(ds, steps) if (kept == 0).all() else known,
        f"{diverged:,} of {counted(len(start), 'trajectory', 'trajectories')} diverge." * bool(diverged),
        _of_loss(ds["log_loss_gradient"].values) if "log_loss_gradient" in ds else "",
        f"The norm is given at {ds.sizes[schema.TIME]:,} of {steps + 1:,} times t (--times {steps + 1})."
        * (ds.sizes[schema.TIME] <= steps),
    ]
    return " ".join(filter(None, sentences))


def _none_survives(ds: xr.Dataset, steps: int) -> str:
    """Return the sentences on when the last direction is lost, and when nothing is left."""
    lost, gone = (ds[name].values[np.isfinite(ds[name].values)] for name in ("lost_after", "vanished_after"))
    when = f"; counted back from the end, the last is lost after {np.median(lost):g}" if lost.size else ""
    when += f", and nothing is left after {np.median(gone):g}" if gone.size else ""
    when += " (median)" * (lost.size > 1)
    return (
        f"No direction keeps {100 * SURVIVES:g} % after {counted(steps, 'step')}{when}. Attractors may still remember: "
        f"run fixed-points."
    )


def _of_loss(loss: Real) -> str:
    """Return the sentence on the gradient of the loss, (sample, time), in logarithms."""
    known = np.isfinite(loss[:, -1])  # where the loss sees h_T at all
    factor = sized(loss[known, 0] - loss[known, -1])
    return f"From t = T back to t = 0 the gradient of the loss changes by the factor {factor}."
