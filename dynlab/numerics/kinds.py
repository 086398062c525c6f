"""The kind of an equilibrium or fixed point, from eigenvalues and what is known of their errors.

Exact classification of a 2 × 2 matrix entered by hand is in `dynlab.numerics.exact_kinds`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

UNDECIDED, NEAR = "undecided, ", "near "
ZERO = 1e-6  # an eigenvalue that is 0 within an error below this turns nothing: multiple zeros count as real

CENTER = "center"
SADDLE = "saddle"
SADDLE_FOCUS = "saddle-focus"
LINE = "line of equilibria"
PLANE = "plane of equilibria"  # every point is one: the flow of the zero matrix, the map of the identity
PERIOD_TWO_LINE = "line of period-2 points"  # a map with the multiplier −1
PERIOD_TWO_PLANE = "plane of period-2 points"  # the map h → −h


class Kind(NamedTuple):
    """The kind of an equilibrium of a flow, or of a fixed point of a map.

    Attributes
    ----------
    name : str
        Name such as ``"stable focus"``, ``"flip saddle"``, ``"undecided, near center"``.
    stable : int
        1 stable (a center and a stable line of equilibria too: in Lyapunov's sense), 0 unstable, −1 undecided.
    unstable : int
        Number of directions that certainly grow.
    undecided : int
        Number of directions whose growth the numbers' own error leaves open.
    """

    name: str
    stable: int
    unstable: int
    undecided: int


def kind_of(eigenvalues: ArrayLike, errors: ArrayLike, is_flow: bool) -> Kind:
    """Return the kind of a flow's equilibrium, or of a map's fixed point.

    Parameters
    ----------
    eigenvalues : array_like of complex, shape (mode,)
        Eigenvalues of the real Jacobian, in any order: of a flow in 1/s, of a map its multipliers.
    errors : array_like, shape (mode,) or ()
        A bound on the error of each.
    is_flow : bool

    Returns
    -------
    Kind
        Node or focus by the rightmost eigenvalue of a flow, the largest of a map, after ``flip`` where that one is
        negative. A saddle is a saddle-focus where the leading growing or the leading decaying eigenvalue is complex.

    References
    ----------
    Strogatz, Nonlinear Dynamics and Chaos, section 5.2; Kuznetsov, Elements of Applied Bifurcation Theory,
    section 2.2.

    Examples
    --------
    >>> kind_of([-0.15 + 2j, -0.15 - 2j], 1e-15, is_flow=True).name
    'stable focus'
    >>> kind_of([2j, -2j], 1e-15, is_flow=True).name
    'undecided, near center'
    >>> kind_of([-1.5, 0.5], 1e-15, is_flow=False).name
    'flip saddle'
    """
    values = np.atleast_1d(np.asarray(eigenvalues, dtype=complex))
    bounds = np.broadcast_to(np.asarray(errors, dtype=float), values.shape)
    # how far each lies beyond the border of stability, circle or axis, negative inside
    excess = values.real if is_flow else np.abs(values) - 1.0
    grows, decays = excess > bounds, excess < -bounds
    unstable, undecided = int(grows.sum()), int((~grows & ~decays).sum())
    if not (np.isfinite(values).all() and np.isfinite(bounds).all()):
        return Kind("undecided, eigenvalues not finite", -1, unstable, len(values) - unstable)
    if undecided and not unstable:
        return Kind(UNDECIDED + _border(values, bounds, ~grows & ~decays, is_flow), -1, unstable, undecided)
    # Beside a growing direction an undecided one cannot make the point stable: name it by the nearest sign.
    outside = excess > 0 if undecided else grows
    parts = [_rotates(values, bounds, excess, side) for side in (outside, ~outside) if side.any()]
    leading = excess + bounds >= np.max(excess - bounds)  # all that may be the largest: 1/2 and −1/2 both lead
    flip = "flip " if not is_flow and ((values.imag == 0) & (values.real < 0))[leading].any() else ""
    if outside.all() or not outside.any():
        first = values[leading]
        if len(first) > 1 and (first == first[0]).all():  # a star or an improper node
            parts = [-1]
        noun = {1: "focus", 0: "node", -1: "improper node"}[parts[0]]
        name = f"{'unstable' if unstable else 'stable'} {flip}{noun}"
    else:
        name = flip + (SADDLE_FOCUS if 1 in parts else SADDLE)
    # A saddle that surely has a complex leading pair is a saddle-focus whatever its other side turns out to be.
    prefix = UNDECIDED + NEAR if undecided or (-1 in parts and 1 not in parts) else ""
    return Kind(prefix + name, 0 if unstable else 1, unstable, undecided)


def _rotates(
    values: NDArray[np.complex128], errors: NDArray[np.float64], excess: NDArray[np.float64], side: NDArray[np.bool_]
) -> int:
    """Return whether the leading eigenvalue of one side is complex: 1 yes, 0 no, −1 undecided.

    A real matrix's eigenvalue is surely real where its disc meets no other's: its conjugate would lie there too. An
    eigenvalue whose disc meets the leading one's excess may lead as well; where those differ, it is undecided.
    """
    first = np.max(np.where(side, excess - errors, -np.inf))
    kinds = {_complex(values, errors, int(i)) for i in np.flatnonzero(side & (excess + errors >= first))}
    return kinds.pop() if len(kinds) == 1 else -1


def _complex(values: NDArray[np.complex128], errors: NDArray[np.float64], i: int) -> int:
    if abs(values[i].imag) > errors[i]:
        return 1
    zero = abs(values[i]) <= errors[i] <= ZERO and bool((np.abs(values) > errors).any())  # among others, as of low rank
    if zero or values[i].imag == errors[i] == 0:  # as the zeros of dead units
        return 0
    apart = np.abs(values - values[i]) > errors + errors[i]
    return 0 if values[i].imag == 0 and np.delete(apart, i).all() else -1


def _border(
    values: NDArray[np.complex128], errors: NDArray[np.float64], undecided: NDArray[np.bool_], is_flow: bool
) -> str:
    """Return what the undecided eigenvalues are nearest to on the border of stability."""
    border = values[undecided]
    if (np.abs(border.imag) > errors[undecided]).any():
        return NEAR + CENTER
    return "eigenvalue near 0" if is_flow else f"multiplier near {'−1' if (border.real < 0).any() else '1'}"
