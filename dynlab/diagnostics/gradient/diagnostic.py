"""The gradient's way back through time: ‖∂h_T/∂h_t‖, and ‖∂L/∂h_t‖ where there is a loss."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.diagnostics.end_to_end import SURVIVES, surviving
from dynlab.diagnostics.gradient.large import METHOD as METHOD_LARGE
from dynlab.diagnostics.gradient.large import Chain, large_norms
from dynlab.diagnostics.gradient.loss_gradient import log_loss_gradient
from dynlab.diagnostics.gradient.small import METHOD, small_norms
from dynlab.driven import Driven, drive
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.program.jacobian import Dense, Operator
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.wording import interval, over, resized, share

EVERY = 256  # states up to which the norm at every t costs less than it is worth
Loss = Callable[[Tensor, Any], Tensor]

OF_LOSS = "; ∂L/∂h_t by backward recursion in log scale from automatic derivatives of the loss"
NOT_RESOLVED = (
    "NaN where a Jacobian at or after t is not finite (the trajectory has diverged), or the norm is not resolved"
)
NO_BOUND = "inf where there is none"
NOT_COUNTED = "NaN where it is not known: it takes all singular values, which end_to_end (--end-to-end) computes"
ZERO = "-inf where the gradient is exactly zero"


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
    """How much of a small change of h_t is left at the end of the sequence, for every t, in log scale.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Those recorded with the system where there are none (`dynlab.from_module` with a batch).
    loss : callable, optional
        ``loss(states, targets)`` of the states h_0 … h_T, shape (sample, time + 1, state), gives one number for each
        sample, shape (sample,); it must be differentiable by torch. `read_out_loss` makes one of a read-out.
    targets : optional
        Handed to `loss` as they are.
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    times : int or sequence of int, optional
        At how many t of 0 … T, evenly spaced, 0 and T among them, or at which. Where it is not given, at every t of a
        state of at most 256 dimensions, and of a larger one where T − t is 0, 1, 2, 4, … and T.
    inputs_description : str
        What the inputs are, for the verdict: "16 test sequences of har2".
    dtype, device : str
        Of the trajectory and its Jacobians; they are multiplied in float64.
    seed : int
        Of the random vectors that find norms or bounds, and recorded as what drew `inputs`.

    Returns
    -------
    xarray.Dataset
        ``log_norm(sample, time)`` = ln ‖∂h_T/∂h_t‖₂ and ``log_norm_frobenius`` for t = 0 … T; at t = T they are 0 and
        ln(n)/2. ``log_norm_error`` and ``log_norm_frobenius_error`` are bounds of their errors, but for a probability
        of 1e-9. They are of the product of Jacobians at the states as computed. ``surviving(sample)`` is how many
        singular values of ∂h_T/∂h_0 are at least 0.1. Of more than 256 dimensions it is 0 or NaN. With a loss also
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
    )
    n = driven.states.shape[-1]
    large = n > EVERY
    chosen = _chosen(driven.steps, times, large)
    backwards = range(driven.steps, 0, -1)
    jacobians: Iterable[tuple[Operator, Operator]]
    if large:
        found = large_norms(driven, chosen, seed)
        if loss is not None:
            jacobians = ((each, each.absolute()) for each in Chain(driven).operators(backwards))
            found["log_loss_gradient"] = log_loss_gradient(loss, targets, driven.states, jacobians)[:, chosen]
    else:
        found = small_norms(driven, chosen, seed)
        if loss is not None:
            jacobians = (
                (Dense(J), Dense(((J != 0) | (error > 0)).to(J)))
                for J, error in driven.jacobians_with_errors(backwards)
            )
            with one_torch_thread():
                found["log_loss_gradient"] = log_loss_gradient(loss, targets, driven.states, jacobians)[:, chosen]
    ds = schema.dataset(
        _variables(found),
        system=system.name,
        source=system.source,
        settings=driven.settings
        | {"loss": getattr(loss, "__name__", type(loss).__name__) if loss else None, "times": chosen.tolist()},
        method=(METHOD_LARGE if large else METHOD) + (OF_LOSS if loss is not None else ""),
        coords={schema.TIME: schema.time_coordinate(chosen)},
        flags=_flags(found, large),
    )
    ds.attrs["verdict"] = _verdict(ds, driven, inputs_description)
    return ds


def _chosen(steps: int, times: int | Sequence[int] | None, large: bool) -> NDArray[np.int64]:
    """The t of 0 … `steps` that are looked at, increasing."""
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


def _variables(found: dict[str, NDArray[Any]]) -> dict[str, xr.Variable]:
    names = {
        "log_norm": "ln ‖∂h_T/∂h_t‖₂",
        "log_norm_error": "bound of the error of ln ‖∂h_T/∂h_t‖₂",
        "log_norm_frobenius": "ln ‖∂h_T/∂h_t‖_F",
        "log_norm_frobenius_error": "bound of the error of ln ‖∂h_T/∂h_t‖_F",
        "surviving": f"directions that survive from h_0 to h_T, σ ≥ {SURVIVES}",
        "log_loss_gradient": "ln ‖∂L/∂h_t‖₂",
    }
    dims = (schema.SAMPLE, schema.TIME)
    return {name: schema.variable(dims[: values.ndim], values, names[name]) for name, values in found.items()}


def _flags(found: dict[str, NDArray[Any]], large: bool) -> dict[str, str]:
    flags = {}
    for name, values in found.items():
        reasons = (
            (ZERO, np.isneginf(values).any()),
            (NO_BOUND, np.isposinf(values).any()),
            (NOT_COUNTED if large and name == "surviving" else NOT_RESOLVED, np.isnan(values).any()),
        )
        if any(holds for _, holds in reasons):
            flags[name] = "; ".join(reason for reason, holds in reasons if holds)
    return flags


def _verdict(ds: xr.Dataset, driven: Driven, described: str) -> str:
    start = ds["log_norm"].values[:, 0]
    told = start[~np.isnan(start)]
    samples, _, n = driven.states.shape
    text = (
        f"Over {over(driven.steps, described)} the gradient ‖∂h_T/∂h_0‖ {resized(told if told.size else start, 'is')}"
    )
    if np.isfinite(start).any() and np.isfinite(ds["surviving"].values).all():
        kept = ds["surviving"].values
        text += f". {surviving(kept, n)}: {_left(kept, n)}"
    lost = int((~driven.states[:, -1].isfinite().all(dim=-1)).sum())
    if lost:
        text += f"; {lost:,} of {samples:,} trajectories diverge"
    if "log_loss_gradient" in ds:
        loss = ds["log_loss_gradient"].values
        known = np.isfinite(loss[:, -1])  # where the loss sees h_T at all
        change = loss[known, 0] - loss[known, -1]
        text += f". From t = T back to t = 0 the gradient of the loss {resized(change)}"
    text += "."
    if (unknown := np.isnan(start) & driven.states.isfinite().all(dim=-1).all(dim=-1).cpu().numpy()).any():
        text += _known_from(ds["log_norm"].values[unknown], ds[schema.TIME].values, samples)
    if ds.sizes[schema.TIME] <= driven.steps:
        count, every = ds.sizes[schema.TIME], driven.steps + 1
        text += f" The norm is given at {count:,} of {every:,} times t. "
        text += f"All of them: --times {every}, in Python times={every}."
    if np.isnan(ds["surviving"].values).any() and np.isfinite(start).any():
        why = "left out: end_to_end (--end-to-end) tells" if n > EVERY else "not known: rounding hides the small ones"
        text += f" How many of its {n:,} singular values are at least {SURVIVES} is {why}."
    return text


def _left(kept: NDArray[np.float64], n: int) -> str:
    """What it means that so many of `n` singular values, of each sample, are at least `SURVIVES`."""
    some = kept > 0
    if not some.any():
        return "every small change of h_0 shrinks to less than a tenth of its size"
    if (kept == n).all():
        return "every small change of h_0 keeps a tenth of its size or more"
    where = "" if some.all() else f" in {share(float(some.mean()))} of the samples"
    return f"some small change of h_0 keeps a tenth of its size or more{where}"


def _known_from(log_norms: NDArray[np.float64], times: NDArray[np.int64], samples: int) -> str:
    """Of the samples, (sample, time), whose first norm is not known: from when on they are, and why not before."""
    known = np.logical_and.accumulate(~np.isnan(log_norms)[:, ::-1], axis=1)[:, ::-1]
    first = known.argmax(axis=1)
    some = f"In {len(log_norms)} of {samples} samples it" if samples > 1 else "It"
    return (
        f" {some} is not known before t = {interval(times[first], 0)}, from where on to T the gradient "
        f"{resized(log_norms[np.arange(len(first)), first], 'is')}. A Jacobian before is too uncertain, as where a "
        "unit is at a kink or a jump of its activation."
    )
