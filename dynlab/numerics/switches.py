"""Directions in which a function written for torch may do something else: where its ReLUs and comparisons turn.

The argument of a ReLU, of an absolute value or of a comparison is 0 where the function has a kink or a jump. Random
directions do not see what it does in a narrow cone, as of relu(y − 1000 abs(x)). There the argument itself leads.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dynlab.numerics.arrays import Real

AT_ZERO = frozenset({"relu", "relu6", "leaky_relu", "prelu", "abs", "absolute", "sign", "sgn", "hardtanh", "threshold"})
AT_EQUALITY = frozenset(
    {"gt", "lt", "ge", "le", "greater", "less", "maximum", "minimum", "fmax", "fmin", "clamp", "clip"}
)
AT_WHOLE_NUMBERS = frozenset({"floor", "ceil", "trunc", "frac"})
OF_SEVERAL = frozenset({"max", "min", "amax", "amin", "sort", "topk"})

STARTS = 4  # directions from which an argument is led upwards
STEPS, SHORTER = 100, 0.9  # of that way, and how much shorter each is than the one before
PATTERNS = 4  # of signs, drawn at random, that all arguments together are led to; beside those of all alike
MOST_SWITCHES = 64  # those nearest to 0
NEARER = 4.0  # times what it changes by over the reach: an argument nearer to 0 may turn there


class Switches(TorchFunctionMode):
    """Inside it, what is 0 where a function of torch turns is kept in `arguments`, each of any shape."""

    def __init__(self) -> None:
        super().__init__()
        self.arguments: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self.arguments += _turning(func.__name__.strip("_"), args, kwargs)
        return func(*args, **kwargs)


def _turning(name: str, args: Any, kwargs: dict[str, Any]) -> Iterator[Tensor]:
    first = args[0] if args else kwargs.get("input")
    if not isinstance(first, Tensor) or not first.is_floating_point():
        return
    others = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, Tensor | int | float)]
    if name in AT_EQUALITY or (name in OF_SEVERAL and others and isinstance(others[0], Tensor)):
        yield from (first - each for each in others if not isinstance(each, bool))
    elif name in AT_ZERO:
        yield first
    elif name in AT_WHOLE_NUMBERS:
        yield first - first.round().detach()
    elif name in OF_SEVERAL and first.ndim and first.shape[-1] > 1:
        largest = (first if name not in ("min", "amin") else -first).topk(2, dim=-1).values
        yield largest[..., 0] - largest[..., 1]


def turning_directions(function: Callable[[Tensor], Tensor], state: Real, size: Real) -> Real:
    """Directions (k, n), as long as `size`, towards both sides of every switch that turns at a state (n,).

    Parameters
    ----------
    function : callable
        Of one state, shape (n,).
    state : ndarray, shape (n,)
    size : ndarray, shape (n,)
        How far is near, coordinate by coordinate; directions are found for coordinates in these units.
    """
    draws = np.random.default_rng(0)
    point, unit = torch.as_tensor(state), torch.as_tensor(size)
    begin = torch.as_tensor(draws.standard_normal((STARTS, len(state))))
    begin = torch.nn.functional.normalize(begin, dim=1)

    def arguments(direction: Tensor) -> Tensor:
        with Switches() as seen:
            function(point + unit * direction)
        flat = [each.double().reshape(-1) for each in seen.arguments]
        return torch.cat(flat) if flat else torch.zeros(0, dtype=torch.float64)

    with torch.no_grad():
        here = arguments(torch.zeros_like(begin[0]))
        around = [arguments(each) for each in begin]
    if len(here) == 0 or any(each.shape != here.shape for each in around):
        return np.zeros((0, len(state)))
    moved = (torch.stack(around) - here).abs().amax(dim=0)
    near = ((here.abs() <= NEARER * moved) & (moved > 0)).nonzero()[:, 0]
    near = near[here[near].abs().argsort()[:MOST_SWITCHES]]
    if len(near) == 0:
        return np.zeros((0, len(state)))
    sides = np.concatenate([np.eye(len(near)), np.ones((1, len(near)))])
    sides = np.concatenate([sides, -sides, draws.choice([-1.0, 1.0], (PATTERNS, len(near)))])
    found = []
    for side in map(torch.as_tensor, np.unique(sides, axis=0)):
        led = (_ascended(lambda direction: arguments(direction)[near], side, start) for start in begin)
        found += [size * each for each in itertools.islice((each for each in led if each is not None), 1)]
    return np.array(found).reshape(-1, len(state))


def _ascended(arguments: Callable[[Tensor], Tensor], side: Tensor, start: Tensor) -> Real | None:
    """A unit vector in which every argument of the side has its sign; None where the steps end at none."""
    wanted, direction, length = side != 0, start.clone(), 1.0
    for _ in range(STEPS):
        direction.requires_grad_()
        with torch.enable_grad():
            value = (side * arguments(direction))[wanted].min()
            if not value.requires_grad:
                return None
            gradient = torch.autograd.grad(value, direction)[0]
        direction = direction.detach()
        if value > 0:
            return direction.numpy()
        if not torch.isfinite(gradient).all() or not gradient.any():
            return None
        direction = torch.nn.functional.normalize(direction + length * gradient / gradient.norm(), dim=0)
        length *= SHORTER
    with torch.no_grad():
        reached = (side * arguments(direction))[wanted].min() > 0
    return direction.numpy() if reached else None
