"""A step as one product with a matrix and a function of each unit by itself: the form that training runs fast."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Unitwise:
    """The steps h_t = f(h_{t−1}, M h_{t−1} + d_t, …), where f acts on each unit by itself, under given inputs.

    A unit has one coordinate in each of `groups` parts of the state: one of h, or one of x and one of z where the state
    is (x, z). A coordinate of f depends on its own unit's coordinates alone, of the state and of all that f is given.

    Attributes
    ----------
    matrix : Tensor, shape (pre, state)
        M, with one or more rows for each unit: first one for every unit, then the next.
    drive : Tensor, shape (..., pre)
        d, of the inputs (..., input); it is overwritten, so that it must have memory of its own.
    function : callable
        f of h, shape (..., state), of M h + d, shape (..., pre), of `aside` where there is one, and of each of
        `shared`.
    aside : Tensor or None, shape (..., units)
        What of the inputs reaches f beside M h + d.
    shared : tuple of Tensor
        What f takes that is the same at each step, of shape () or (units,).
    groups : int
        Coordinates of the state for each unit.
    into, out : Tensor or None, shape (state, state)
        Of a change of coordinates u = `into` h, h = `out` u where these steps are those of u.
    """

    matrix: Tensor
    drive: Tensor
    function: Callable[..., Tensor]
    aside: Tensor | None = None
    shared: tuple[Tensor, ...] = ()
    groups: int = 1
    into: Tensor | None = None
    out: Tensor | None = None
