"""Where branches meet: in which directions the others leave, and what says that they do meet.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977) (the algebraic branching equation);
Golubitsky, Stewart and Schaeffer, Singularities and Groups in Bifurcation Theory II (1988), chapter XIII (a branch that
breaks the symmetry of a state that has it).
"""

import itertools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation.curve import SolutionCurve
from dynlab.diagnostics.bifurcation.equation import Equation
from dynlab.diagnostics.bifurcation.extended import Refined
from dynlab.numerics.running_error import RunningErrors, Untracked, bounded

Vector = NDArray[np.float64]

PITCHFORK, TRANSCRITICAL, BRANCH_POINT = "pitchfork", "transcritical", "branch point"
UNDECIDED = "undecided: a branch point or a fold nearby"
DEGENERATE = "degenerate"
FLAT = 1e-6  # times max(1, ‖a‖): a branching equation with a smaller eigenvalue does not say where branches leave
MOVES = 1e-5  # of a unit tangent: a branch whose parameter component is larger passes through, rounding being 1e-8
SAME = 0.9  # the cosine between the tangent of the branch that is known and the root that must be it
STEPS = 2.0**20  # a straight branch is tried with multiples of 2⁻²⁰
NEAR = 1e-8  # times max(1, |h|): where it meets the point so nearly
SMALL = 1e-6  # times the state's size: what vanishes by symmetry is below
MOST_SIGNS = 8  # dimensions: up to so many every change of signs is tried, beyond only h → −h
TRIALS, TRIAL_REACHES = (
    16,
    (2.0, 1e-8, 1e-16, 0.0),
)  # random states, and parameters, of each symmetry


class Meeting(NamedTuple):
    """A point where two branches meet.

    Attributes
    ----------
    kind : str
        One of the five above.
    other : ndarray, shape (n + 1,), or None
        The unit tangent of the other branch; None where the algebraic branching equation has no second real root.
    reach : float
        Of one that is undecided: how far from it in p the branches turn back, where they do, to leading order.
    """

    kind: str
    other: Vector | None
    reach: float = 0.0


def meeting(curve: SolutionCurve, refined: Refined, tangent: Vector, symmetries: list[Vector]) -> Meeting:
    """What meets at a branch point.

    Parameters
    ----------
    curve : SolutionCurve
    refined : Refined
    tangent : ndarray, shape (n + 1,)
        Of the branch that is known, nearby.
    symmetries : list of ndarray
        Of `sign_symmetries`.

    Notes
    -----
    With φ_1, φ_2 spanning the null space of G_z and w its left null vector, the tangents α_1 φ_1 + α_2 φ_2 solve
    Σ a_ij α_i α_j = 0, a_ij = wᵀ G_zz φ_i φ_j. The branch point is a pitchfork where an exact symmetry S, with
    S G(h) = G(S h), keeps the state and turns the null vector around: the other branch then breaks S and comes in
    mirrored pairs. Without a symmetry branches meet where one of them is a straight line of fixed points, or a state
    that stays, exactly so at every parameter tried. Otherwise numbers cannot tell β = 0 from one below its error, with
    which the branches pass each other within √(2 |β| / |a|) of the point, and some turn back there: it is undecided.
    Where a has an eigenvalue that is as good as 0, branches touch or more than two of them meet: it is degenerate.
    """
    basis = np.linalg.svd(curve.linear(refined.z)[0])[2][-2:]
    a = _second_derivatives(curve, refined, basis)
    discriminant = a[0, 1] ** 2 - a[0, 0] * a[1, 1]
    curved = np.abs(np.linalg.eigvalsh(a))
    if curved.min() <= FLAT * max(1.0, float(curved.max())):
        return Meeting(DEGENERATE, None)
    q = -(a[0, 1] + np.copysign(np.sqrt(max(0.0, discriminant)), a[0, 1]))
    roots = [np.array([q, a[0, 0]]), np.array([a[1, 1], q])] if discriminant > 0 else []
    tangents = [root @ basis / np.linalg.norm(root) for root in roots]
    is_pitchfork = any(_breaks(curve, refined, signs) for signs in symmetries)
    is_sure = is_pitchfork or any(_is_straight(curve, refined, one) for one in tangents)
    least = float(curved.min())
    reach = 0.0 if is_sure else curve.parameter_scale * float(np.sqrt(2 * refined.unfolding_error / least))
    if not tangents:
        return Meeting(PITCHFORK if is_pitchfork else UNDECIDED, None, reach)
    tangents.sort(key=lambda one: abs(float(one @ tangent)))
    other, known = tangents
    if is_pitchfork:
        kind = PITCHFORK
    elif is_sure:
        kind = TRANSCRITICAL if min(abs(other[-1]), abs(known[-1])) > MOVES else BRANCH_POINT
    else:
        kind = UNDECIDED
    return Meeting(kind, other if abs(float(known @ tangent)) > SAME else None, reach)


def _is_straight(curve: SolutionCurve, refined: Refined, tangent: Vector) -> bool:
    """Whether a straight line through the point is a branch, exactly so at every parameter tried.

    Its slope and its state at the parameter 0 are tried as multiples of 2⁻²⁰. What rounding may have taken away counts.
    """
    if abs(tangent[-1]) <= MOVES:
        return False
    state, p = curve.state(refined.z), curve.parameter(refined.z)
    slope = _nearest(tangent[:-1] * curve.state_scale / (tangent[-1] * curve.parameter_scale))
    start = _nearest(state - slope * p)
    if np.abs(slope * p + start - state).max() > NEAR * max(1.0, float(np.abs(state).max())):
        return False
    tried = _nearest(p + curve.parameter_scale * np.linspace(-0.5, 0.5, TRIALS))
    return all(_vanishes(curve.equation, slope * one + start, one) for one in tried)


def _nearest(values: Vector) -> Vector:
    return np.asarray(np.round(values * STEPS) / STEPS + 0.0)


def _vanishes(equation: Equation, state: Vector, p: float) -> bool:
    """Whether G is 0 in exact arithmetic."""
    held, start = equation.varied.fixed(p), torch.from_numpy(state)
    try:
        with RunningErrors():
            last = start
            for _ in range(equation.period - 1):
                last = held.moved(last)
            found = held.moved(last) - start if equation.is_map else held.moved(last)
    except (Untracked, TypeError, AttributeError):
        return False
    value, error = bounded(found)
    return not bool(value.any() or error.any())


def sign_symmetries(equation: Equation, lowest: float, highest: float, seed: int) -> list[Vector]:
    """The changes of signs S ≠ 1 with F(S h) = S F(h), as vectors of ±1.

    Negation is exact in floating-point numbers, so that a symmetry must hold to the last bit at every state tried.
    """
    n = equation.varied.system.state_size
    generator = np.random.default_rng(seed)
    # beside states of size 1 a bias below rounding would not be seen
    reach = np.tile(TRIAL_REACHES, TRIALS // len(TRIAL_REACHES))[:, None]
    states = torch.from_numpy(generator.uniform(-1, 1, (TRIALS, n)) * reach)
    parameters = torch.from_numpy(generator.uniform(lowest, highest, TRIALS))
    method = "step" if equation.is_map else "velocity"

    def images(at: torch.Tensor) -> torch.Tensor:
        pairs = zip(at, parameters, strict=True)
        return torch.stack([equation.varied.at(p.reshape(1), method, h) for h, p in pairs])

    straight = images(states)
    candidates = itertools.product((1.0, -1.0), repeat=n) if n <= MOST_SIGNS else [(-1.0,) * n]
    found = []
    for signs in candidates:
        s = torch.tensor(signs, dtype=torch.float64)
        if (s < 0).any() and torch.equal(images(states * s), straight * s):
            found.append(s.numpy())
    return found


def _breaks(curve: SolutionCurve, refined: Refined, signs: Vector) -> bool:
    """Whether S, or S after half of an orbit of even period, keeps the state and turns the null vector around."""
    state, null = curve.state(refined.z), refined.null.real
    images = [(signs * state, signs * null)]
    equation = curve.equation
    if equation.period % 2 == 0:
        half = Equation(equation.varied, equation.is_map, equation.period // 2)
        at = torch.from_numpy(state), torch.tensor(curve.parameter(refined.z), dtype=torch.float64)
        moved = equation.orbit(*at)[half.period].numpy()
        images.append((signs * moved, signs * (half.jacobian(*at).numpy() @ null)))
    return any(
        np.abs(image - state).max() <= SMALL * max(1.0, np.abs(state).max())
        and np.abs(turned + null).max() <= SMALL * np.abs(null).max()
        for image, turned in images
    )


def _second_derivatives(curve: SolutionCurve, refined: Refined, basis: Vector) -> Vector:
    """a_ij, shape (2, 2)."""
    w = torch.from_numpy(refined.left.real.copy())
    origin, directions = torch.from_numpy(refined.z), torch.from_numpy(basis)

    def along(alpha: torch.Tensor) -> torch.Tensor:
        z = origin + alpha @ directions
        return w @ curve.equation.residual(z[:-1] * curve.state_scale, z[-1] * curve.parameter_scale)

    return torch.autograd.functional.hessian(along, torch.zeros(2, dtype=torch.float64)).numpy()
