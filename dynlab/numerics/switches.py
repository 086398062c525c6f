"""Directions in which a function written for torch may do something else: where its ReLUs and comparisons turn.

The argument of a ReLU, of an absolute value or of a comparison is 0 where the function has a kink or a jump. Random
directions do not see what it does in a narrow cone, as of relu(y − 1000 abs(x)). There the argument itself leads.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dynlab.numerics.arrays import Real

AT_ZERO = frozenset({"relu", "relu6", "leaky_relu", "prelu", "abs", "absolute", "sign", "sgn", "hardtanh", "threshold"})
LENGTHS = frozenset({"hypot", "norm", "vector_norm", "linalg_norm", "linalg_vector_norm"})  # cones about 0
AT_EQUALITY = frozenset(
    {"gt", "lt", "ge", "le", "greater", "less", "maximum", "minimum", "fmax", "fmin", "clamp", "clip"}
)
AT_WHOLE_NUMBERS = frozenset({"floor", "ceil", "trunc", "frac"})
ENDS = frozenset(
    {"max", "min", "amax", "amin", "argmax", "argmin", "cummax", "cummin", "max_pool1d", "adaptive_max_pool1d"}
)
ORDERS = frozenset({"sort", "msort", "argsort", "topk", "median", "kthvalue"})
OF_SEVERAL = ENDS | ORDERS

STARTS = 6  # random directions in which slopes of an argument are looked at
ATTEMPTS = 60  # directions in which it should grow by the slopes that are known
SAME = 1e-9  # of a slope: one that differs by less is known
ALL_ONE = 1e3  # times the slopes: how firmly the weights of a mean are held to the sum 1
MOST_PAIRS = 8  # of the entries of which one is chosen: each with so many that follow it, less one
FEWEST, FEW = 2, 5  # arguments together; of more not all signs are tried
PATTERNS = 8  # of signs, drawn at random, that all arguments together are led to; beside those of all alike
MOST_SWITCHES = 64  # those nearest to 0
NEARER = 4.0  # times what it changes by over the reach: an argument nearer to 0 may turn there


class Switches(TorchFunctionMode):
    """Inside it, what is 0 where a function of torch turns is kept in `arguments`, each of any shape.

    What is 0 where two of several entries are equal, of which one is chosen, is kept in `choices`: there are many.
    """

    def __init__(self) -> None:
        super().__init__()
        self.arguments: list[Tensor] = []
        self.choices: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name, first = func.__name__.strip("_"), args[0] if args else kwargs.get("input")
        if isinstance(first, Tensor) and first.is_floating_point():
            others = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, Tensor | float | int)]
            self.arguments += _turning(name, first, others)
            self.choices += _chosen(name, first, others)
        return func(*args, **kwargs)


def _turning(name: str, first: Tensor, others: list[Tensor | float | int]) -> list[Tensor]:
    if name in AT_EQUALITY or (name in OF_SEVERAL and others and isinstance(others[0], Tensor)):
        return [first - each for each in others if not isinstance(each, bool)]
    if name in LENGTHS:
        return [first, *(each for each in others if isinstance(each, Tensor))]
    return [first] if name in AT_ZERO else [first - first.round().detach()] if name in AT_WHOLE_NUMBERS else []


def _chosen(name: str, first: Tensor, others: list[Tensor | float | int]) -> list[Tensor]:
    if name not in OF_SEVERAL or not first.ndim or (others and isinstance(others[0], Tensor)):
        return []
    return [first - first.roll(shift, -1) for shift in range(1, min(MOST_PAIRS, first.shape[-1]))]


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

    def arguments(direction: Tensor) -> tuple[Tensor, Tensor]:
        with Switches() as seen:
            function(point + unit * direction)
        each, pairs = ([one.double().reshape(-1) for one in some] for some in (seen.arguments, seen.choices))
        return torch.cat([*each, *pairs, begin[:0, 0]]), torch.tensor([len(one) for one in each]).sum()

    with torch.no_grad():
        here, alone = arguments(torch.zeros_like(begin[0]))
        around = [arguments(each)[0] for each in begin] if len(here) else []
    if len(here) == 0 or any(each.shape != here.shape for each in around):
        return np.zeros((0, len(state)))
    moved = (torch.stack(around) - here).abs().amax(dim=0)
    near = ((here.abs() <= NEARER * moved) & (moved > 0)).nonzero()[:, 0]
    near = near[here[near].abs().argsort(stable=True)[:MOST_SWITCHES]]
    found = []
    for side in _sides((near < alone).numpy(), draws):
        led = _towards(lambda direction: arguments(direction)[0][near] / moved[near], torch.as_tensor(side), begin)
        found += [] if led is None else [size * led]
    return np.array(found).reshape(-1, len(state))


def _sides(alone: NDArray[np.bool_], draws: np.random.Generator) -> Real:
    """What signs arguments (k,) are led to, (side, k), 0 for any: each by itself, and all that are no choice together.

    Of a few of these all signs are tried, of many both that are alike, and some at random.
    """
    count, together = len(alone), int(alone.sum())
    single = np.concatenate([np.eye(count), -np.eye(count)])
    if together < FEWEST:
        return single
    if together <= FEW:
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=together)))
    else:
        alike = np.ones((1, together))
        signs = np.concatenate([alike, -alike, draws.choice([-1.0, 1.0], (PATTERNS, together))])
    combined = np.zeros((len(signs), count))
    combined[:, alone] = signs
    return np.concatenate([single, combined])


def _towards(arguments: Callable[[Tensor], Tensor], side: Tensor, starts: Tensor) -> Real | None:
    """A unit vector in which every argument of the side has its sign; None where none is found.

    Of arguments that are linear beside 0 the least is concave, and the point nearest to 0 among all means of its slopes
    is a direction in which it grows. A slope that is not known yet is found where that direction does not do.
    """
    wanted, slopes = side != 0, np.zeros((0, starts.shape[1]))
    direction = starts[0]
    for attempt in range(len(starts) + ATTEMPTS):
        if attempt < len(starts):
            direction = starts[attempt]
        elif len(slopes) and (nearest := _nearest_to_zero(slopes)).any():
            direction = torch.as_tensor(nearest / np.linalg.norm(nearest))
        else:
            return None
        direction = direction.detach().clone().requires_grad_()
        with torch.enable_grad():
            value = (side * arguments(direction))[wanted].min()
            if not value.requires_grad:
                return None
            slope = torch.autograd.grad(value, direction)[0].numpy()
        if value > 0:
            return direction.detach().numpy()
        known = bool((np.abs(slopes - slope).max(axis=1, initial=0.0) <= SAME * np.abs(slope).max()).any())
        if known and attempt >= len(starts):
            return None
        if np.isfinite(slope).all() and slope.any() and not known:
            slopes = np.vstack([slopes, slope])
    return None


def _nearest_to_zero(slopes: Real) -> Real:
    """The shortest of all means, with weights, of vectors (k, n)."""
    size = np.abs(slopes).max()
    rows = np.vstack([slopes.T / size, np.full(len(slopes), ALL_ONE)])
    weights = nnls(rows, np.append(np.zeros(slopes.shape[1]), ALL_ONE))[0]
    return np.asarray(weights / weights.sum() @ slopes)
