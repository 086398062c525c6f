"""What a public function of a system is called with, checked before it computes anything."""

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from dynlab.arguments import bound, check_at_least, check_positive
from dynlab.errors import UserError
from dynlab.reading import out_of_memory
from dynlab.systems.base import Flow, Map, System
from dynlab.systems.function import OF_CODE, Function, is_users
from dynlab.systems.held import frozen, number_type

# At how many states a function is called, and at how many of them again: that dropout makes the same of all has no
# chance, and what mixes the states of a batch makes another thing of fewer.
STATES, FEWER = 64, 32
# Its slopes at so many states, by differences to both sides at these distances, which agree where they can be believed.
SLOPES, NEAR, NEARER = 16, 1e-5, 1e-6
FINE = (1e-8, 1e-10)  # steps that see what goes up and down within 1e-6, as in a unit of 1e-9
TAKES = (
    "it takes states (..., state_size), inputs (..., input_size) and t, with any dimensions in front, as h[..., 0] and "
    "h @ W.T do, and returns the next states, or the velocity, of the states' shape."
)
ALIKE, APART = 1e-3, 1e-2  # of the larger one

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, that refuses misspelt arguments, and values of another kind, in one sentence."""
    takes = inspect.signature(function, eval_str=True).parameters

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        names = list(takes)[: len(args)]
        if len(names) < len(args) or kwargs.keys() & set(names):
            raise UserError(f"{function.__name__} takes {', '.join(takes)}, each once.")
        given = bound("diagnostic", function.__name__, function, dict(zip(names, args, strict=True)) | kwargs)
        if not isinstance(given["system"], System):
            raise UserError(
                f"{function.__name__} takes a system of dynlab's, got {type(given['system']).__name__}: dynlab.load, "
                f"from_module, from_function and create make one."
            )
        check_at_least(0, seed=given.get("seed", 0))
        check_positive(max_memory=given.get("max_memory"))
        dtype = number_type(given.get("dtype", "float64"))
        for system in (value for value in given.values() if isinstance(value, System)):
            _check_finite(system, dtype)
        # A user's function may hold weights that are being trained, or be asked where derivatives are off for good.
        with torch.inference_mode(False), torch.no_grad():
            for part in given["system"].modules():
                if isinstance(part, Map | Flow) and is_users(part):
                    _check_called(part, dtype)
                    _check_one_answer(part, dtype)
                    _check_slope(part)
                if isinstance(part, Flow):
                    check_autonomous(part)
            try:
                return function(**given)  # type: ignore[call-arg]
            except OF_CODE as error:
                if (own := _whose(error, given["system"])) is None or out_of_memory(error):
                    raise
                raise UserError(f"{own.name} fails in its {_evolving(own)[0]} ({error}): {TAKES}") from error

    return call


def _evolving(part: Map | Flow) -> tuple[str, Callable[..., Any]]:
    """The name of what a class of a user's own defines, and that."""
    return ("velocity", part.velocity) if isinstance(part, Flow) else ("step", part.step)


def _check_called(part: Map | Flow, dtype: torch.dtype) -> None:
    """Raise where a class of a user's own cannot be called as all are, or returns no states; functions say so too."""
    if isinstance(part, Function):
        return
    name, evolve = _evolving(part)
    try:
        inspect.signature(evolve).bind(None, None, 0)
    except TypeError as error:
        raise UserError(f"{part.name}.{name} is called as {name}(state, input, t) ({error}): {TAKES}") from error
    state, input = (torch.zeros(FEWER, size, dtype=dtype) for size in (part.state_size, part.input_size))
    try:
        found = evolve(state, input, 0)
    except Exception:  # of other states it may be asked, and what it says then is told
        return
    got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
    if not isinstance(found, Tensor) or found.shape != state.shape:
        raise UserError(f"{part.name}.{name} returned {got} for states of shape {tuple(state.shape)}: {TAKES}")


def _whose(error: BaseException, system: System) -> Map | Flow | None:
    """The class of a user's own in whose code an error was raised; a function tells of its own."""
    parts = [part for part in system.modules() if isinstance(part, Map | Flow) and is_users(part)]
    codes = {getattr(_evolving(part)[1], "__code__", None): part for part in parts if not isinstance(part, Function)}
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            return codes[at.tb_frame.f_code]
        at = at.tb_next
    return None


def _check_one_answer(part: Map | Flow, dtype: torch.dtype) -> None:
    """Raise where a user's code gives random states another answer beside fewer of them, beyond rounding."""
    generator, analysed = torch.Generator().manual_seed(0), frozen(part, dtype)
    evolve = analysed.velocity if isinstance(analysed, Flow) else analysed.step
    given = [torch.randn(STATES, size, generator=generator, dtype=dtype) for size in (part.state_size, part.input_size)]
    try:
        first, second = (evolve(*(one[:some].clone() for one in given)).nan_to_num(0, 0, 0) for some in (STATES, FEWER))
    except (UserError, TypeError, ValueError, RuntimeError, IndexError):  # of one, or a few, it may not mind
        return
    size = torch.maximum(first.abs(), given[0].abs())[:FEWER].amax(dim=-1, keepdim=True)
    if bool(
        ((first[:FEWER] - second).abs() > torch.finfo(dtype).eps ** 0.5 * size).any()
    ):  # a kernel may round otherwise
        kind = "flow" if isinstance(part, Flow) else "map"
        raise UserError(
            f"{part.name} gives two answers to one state and input, so it is no {kind}: it keeps a count, draws "
            f"random numbers, or mixes the states of a batch. Call eval() on a module that has dropout or batch "
            f"normalisation, or give a function of state and input alone."
        )


def _check_slope(part: Map | Flow) -> None:
    """Raise where a user's code has other slopes than its derivative says, at most of some random states."""
    generator, analysed = torch.Generator().manual_seed(0), frozen(part)
    evolve = analysed.velocity if isinstance(analysed, Flow) else analysed.step
    h, along, weights = torch.randn(3, SLOPES, part.state_size, generator=generator, dtype=torch.float64)
    x = torch.randn(SLOPES, part.input_size, generator=generator, dtype=torch.float64)
    try:
        told = (_pulled_back(analysed, h, x, weights) * along).sum(-1)
        far, near, *fine = (
            ((evolve(h + at * along, x.clone()) - evolve(h - at * along, x.clone())) * weights).sum(-1) / (2 * at)
            for at in (NEAR, NEARER, *FINE)
        )
        size = (evolve(h.clone(), x.clone()) * weights).abs().sum(-1)
    except (UserError, TypeError, ValueError, RuntimeError, IndexError):  # which is said where it is differentiated
        return
    rounding = torch.finfo(torch.float64).eps ** 0.5 * size
    believed = (far - near).abs() <= ALIKE * near.abs() + rounding
    wrong = believed & ((told - near).abs() > APART * torch.maximum(told.abs(), near.abs()) + 2 * rounding)
    unit = torch.finfo(torch.float64).eps * (size + (weights * h).abs().sum(-1))
    for at, slope in zip(FINE, fine, strict=True):
        wrong &= (told - slope).abs() > APART * torch.maximum(told.abs(), slope.abs()) + 2 * unit / at
    if int(wrong.sum()) > SLOPES // 2:
        raise UserError(
            f"{part.name} has another slope than its derivative says, at {int(wrong.sum())} of {SLOPES} random states: "
            f"at one of them {float(near[wrong][0]):.3g}, and the derivative {float(told[wrong][0]):.3g}. Leave out "
            f"detach(), no_grad() and gradients that are not those of the values, such as straight-through ones."
        )


def _pulled_back(system: Map | Flow, h: Tensor, x: Tensor, weights: Tensor) -> Tensor:
    """Of each row the gradient of weights · step by the state: by the closed form where a class has its own."""
    closed = system.closed_form_jacobian(h, x)
    if closed is not None:
        return (weights.unsqueeze(-2) @ closed.dense()).squeeze(-2)
    with torch.enable_grad():
        own = h.clone().requires_grad_()
        evolve = system.velocity if isinstance(system, Flow) else system.step
        value = (evolve(own.clone(), x.clone()) * weights).sum()
        if not value.requires_grad:
            return torch.zeros_like(h)
        return torch.autograd.grad(value, own, materialize_grads=True)[0]


def check_autonomous(flow: Flow) -> None:
    """Raise where a user's velocity reads the time, which is 0 in all that dynlab computes of a flow."""
    if not is_users(flow):
        return
    generator, analysed = torch.Generator().manual_seed(0), frozen(flow)
    sizes = flow.state_size, flow.input_size
    state, input = (torch.randn(FEWER, size, generator=generator, dtype=torch.float64) for size in sizes)
    try:
        first, later = (analysed.velocity(state.clone(), input.clone(), t).nan_to_num(0, 0, 0) for t in (0, 1))
    except (UserError, TypeError, ValueError, RuntimeError, IndexError):
        return
    if bool(((first - later).abs() > torch.finfo(torch.float64).eps ** 0.5 * first.abs()).any()):
        raise UserError(
            f"The velocity of {flow.name} changes with t, and a flow's t is always 0: make the time a state of its "
            f"own, whose velocity is 1."
        )


def _check_finite(system: System, dtype: torch.dtype) -> None:
    """Raise where a weight is NaN or infinite, as after a training that diverged, or too large for the type."""
    for name, values in itertools.chain(system.named_parameters(), system.named_buffers()):
        if not (values.is_floating_point() or values.is_complex()) or values.is_meta:
            continue
        wrong = int((~(values.detach() if values.is_complex() else values.detach().to(dtype)).isfinite()).sum())
        if wrong:
            raise UserError(
                f"{name} of {system.name!r} has {wrong:,} of {values.numel():,} entries that are no finite numbers "
                f"of {str(dtype).removeprefix('torch.')}: take a checkpoint from before the training diverged."
            )
