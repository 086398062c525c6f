"""The field of a planar system, and its equilibria, of a map fixed points, in a window with their kinds.

The search of `dynlab.fixed_points` begins at a grid. A kind comes from the eigenvalues where their errors separate it,
and at the origin exactly where the matrix is known in rational numbers.

References
----------
Strogatz, Nonlinear Dynamics and Chaos, section 6.3, on what a linearisation tells and what it does not.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import torch

from dynlab import schema
from dynlab.diagnostics.fixed_points.layers import search
from dynlab.diagnostics.fixed_points.verification import Record, records
from dynlab.diagnostics.phase_plane.window import Window
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.exact_kinds import Matrix, exact_eigenvalues, exact_kind
from dynlab.numerics.kinds import CENTER, LINE, PLANE, Kind, kind_of
from dynlab.systems import System
from dynlab.systems.activations import log_cosh
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

STARTS = 33  # in each direction of the window; odd, so that the origin is one
NOTHING = 1e-30  # of the window: a smaller coordinate is 0, which nothing but underflow tells it from
CONTINUUM = 1e-3  # of the window: roots that rounding does not tell apart and that spread farther are a continuum
SIDEWAYS = np.array([0.6, 0.8])  # where fsolve starts beside a root
NONE = Kind("", -1, 0, 0)
BORDER = (CENTER, "equilibria", "period-2")  # words of the kinds that a nonlinear term may change


def without_input(system: System) -> Held:
    """Hold a system's input at zero, in the dtype and on the device of its weights."""
    return Held(system, next(system.parameters(), torch.zeros(0, dtype=torch.float64)).new_zeros(system.input_size))


def field(held: Held, states: Real) -> Real:
    """Return the displacement at `states` (..., 2), which vanishes at an equilibrium or fixed point."""
    return held.displacement(torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def matrices(held: Held, states: Real) -> Real:
    """Return the Jacobians at `states` (..., 2)."""
    return held_matrices(held, torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def field_variables(held: Held, points: Real) -> dict[str, tuple[Any, ...]]:
    """Return the field on the grid `points` (y, x, 2), its divergence, and |det J| of a map."""
    plane, unit = (schema.Y, schema.X), schema.PER_SECOND if held.is_flow else schema.ONE
    name, during = ("velocity", "") if held.is_flow else ("displacement", " in one step")
    jacobians = matrices(held, points)
    divergence = jacobians.trace(axis1=-2, axis2=-1) - (0 if held.is_flow else 2)
    rows: dict[str, tuple[Any, ...]] = {
        "velocity": ((*plane, schema.STATE), field(held, points), f"{name}{during}", unit),
        "divergence": (plane, divergence, f"divergence of the {name}", unit),
    }
    if not held.is_flow:
        rows["area_factor"] = (plane, np.abs(np.linalg.det(jacobians)), "|det J| of a step")
    return rows


@dataclass(frozen=True)
class Origin:
    """The exact Jacobian at the origin.

    Attributes
    ----------
    matrix : sequence of two rows of two Fractions
        A, the Jacobian there.
    is_linear : bool
        True where A is the Jacobian everywhere.
    is_tanh : bool
        True of the flow h' = tanh(A h).
    """

    matrix: Matrix
    is_linear: bool
    is_tanh: bool

    @property
    def array(self) -> Real:
        """Return a in floating-point numbers."""
        return np.array([[float(entry) for entry in row] for row in self.matrix])

    @property
    def weights(self) -> Real | None:
        """Return c of H = Σ cᵢ log cosh (A h)ᵢ, which h' = tanh(A h) conserves where A = (0, b; −c, 0), b c > 0."""
        (a, b), (c, d) = self.matrix
        conserves = self.is_tanh and not a and not d and b * c < 0
        return np.abs([float(c), float(b)]) / max(abs(float(b)), abs(float(c))) if conserves else None

    def kind(self, matrix: Matrix, is_map: bool) -> Kind:
        """Return the kind of the system, or with ``I + ε A`` for `matrix` that of Euler's map of it.

        A nonlinear system has the kind of its linearisation but on the border of stability. There tanh(A h) is still 0
        along the null space of A, and a flow that conserves H is a center.
        """
        kind = exact_kind(matrix, is_map)
        rests = self.is_tanh and kind.name in {LINE, PLANE}
        circles = not is_map and kind.name == CENTER and self.weights is not None
        if self.is_linear or rests or circles or not any(word in kind.name for word in BORDER):
            return kind
        return Kind(f"linear {kind.name}, undecided", 0 if kind.unstable else -1, kind.unstable, 2 - kind.unstable)


def conserved(origin: Origin | None, points: Real) -> dict[str, tuple[Any, ...]]:
    """Return H on the grid `points` (y, x, 2), if it is conserved."""
    if origin is None or origin.weights is None:
        return {}
    potential = log_cosh(torch.from_numpy(points @ origin.array.T)).numpy() @ origin.weights
    return {"conserved": ((schema.Y, schema.X), potential, "conserved H = Σ c_i log cosh (W h)_i")}


class Equilibrium(NamedTuple):
    """A state at rest; eigenvalues in decreasing modulus of the map's where there is one, else of the flow's."""

    state: Real
    jacobian: Real
    residual: float
    continuum: bool
    flow: Kind
    flow_values: Complex
    map: Kind
    map_values: Complex
    critical_step: float
    flag: str


def equilibria(held: Held, window: Window, step_size: float | None, origin: Origin | None) -> list[Equilibrium]:
    """Return the equilibria in the window, the nearest to the origin first; one of each set that is not isolated.

    Parameters
    ----------
    held : Held
        In float64 on the CPU: the flow, or a map that is no Euler step.
    window : Window
    step_size : float or None
        Step of Euler's map, where there is one beside the flow.
    origin : Origin or None
    """
    x, y = (torch.from_numpy(line) for line in window.axes(STARTS))
    points = search(held, given=torch.cartesian_prod(x, y)).points
    found = []
    for point, row in zip(points, records(held, points, SIDEWAYS), strict=True):
        roots = [layer.root for layer in point.layers]
        wide = row.dimension > 0 and any(
            root.dimension or root.spread > CONTINUUM * window.half.max() for root in roots
        )
        if window.holds(row.state):
            state = np.where(np.abs(row.state) < NOTHING * window.half, 0.0, row.state)
            found.append(_described(held, row._replace(state=state), wide, step_size, origin))
    return sorted(found, key=lambda one: (float(np.linalg.norm(one.state)), *one.state))


def _described(held: Held, row: Record, continuum: bool, step_size: float | None, origin: Origin | None) -> Equilibrium:
    """Return the kinds by the eigenvalues and their errors; at the origin by the exact matrix where there is one."""
    values, errors, kind = row.eigenvalues, row.errors, row.kind
    exact = origin if origin is not None and (origin.is_linear or not row.state.any()) else None
    if exact is not None:
        values, errors = np.array(exact_eigenvalues(exact.matrix)), np.zeros(2)
        values, kind = values[order(values)], exact.kind(exact.matrix, not held.is_flow)
    fixed = (row.state, matrices(held, row.state[None])[0], row.residual, continuum and exact is None)
    if not held.is_flow:
        return Equilibrium(*fixed, NONE, values, kind, values, np.nan, "")
    step, flag = critical_step(values, errors)
    if step_size is None:
        return Equilibrium(*fixed, kind, values, NONE, values, step, flag)
    multipliers = (1 + step_size * values).astype(np.complex128)
    if exact is not None:  # the decimal 0.1 is what a person means by it
        epsilon = Fraction(repr(step_size))
        one_step = [[epsilon * a + (i == j) for j, a in enumerate(row_)] for i, row_ in enumerate(exact.matrix)]
        of_euler = exact.kind(one_step, True)
    else:
        rounding = np.finfo(float).eps * np.maximum(1.0, np.abs(multipliers))
        of_euler = kind_of(multipliers, step_size * errors + rounding, is_flow=False)
    sorts = order(multipliers)
    return Equilibrium(*fixed, kind, values[sorts], of_euler, multipliers[sorts], step, flag)


def equilibrium_variables(found: list[Equilibrium], is_flow: bool, is_map: bool) -> dict[str, tuple[Any, ...]]:
    """Return the variables of each equilibrium: of the flow where there is one, of the map where there is one."""
    along, state = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.STATE)
    point, points = ("equilibrium", "equilibria") if is_flow else ("fixed point", "fixed points")
    unit = schema.PER_SECOND if is_flow else schema.ONE
    vectors = np.array([eigenvectors(one) for one in found]).reshape(-1, 2, 2)
    many, words = np.array([one.continuum for one in found], np.int8), "unit eigenvector of a real eigenvalue"
    rows: dict[str, tuple[Any, ...]] = {
        "equilibrium": (state, np.array([one.state for one in found]).reshape(-1, 2), f"{point} h*"),
        "residual": (along, np.array([one.residual for one in found]), "residual", unit),
        "continuum": (along, many, f"1: of a set of states that are {points} to rounding"),
        "eigenvector": ((schema.FIXED_POINT, schema.MODE, schema.STATE), vectors, words),
    }
    if is_flow:
        rows |= _kinds("flow", [(one.flow, one.flow_values) for one in found], "eigenvalue λ", unit)
        critical = np.array([one.critical_step for one in found])
        rows["critical_step"] = (along, critical, "critical step of Euler's method", schema.SECOND)
    if is_map:
        rows |= _kinds("map", [(one.map, one.map_values) for one in found], "multiplier μ", schema.ONE)
    lines = np.array([LINE in (one.flow.name, one.map.name) for one in found], dtype=bool)
    if lines.any():
        neutral = np.abs([one.flow_values - (0 if is_flow else 1) for one in found]).argmin(axis=1)
        directions = np.where(lines[:, None], vectors[np.arange(len(found)), neutral], np.nan)
        rows["line_direction"] = (state, directions, f"direction of the line of {points}")
    return rows


def eigenvectors(one: Equilibrium) -> Real:
    """Return the unit eigenvectors of a decided kind with real eigenvalues, shape (mode, state), else NaN."""
    vectors = np.full((2, 2), np.nan)
    kind = one.map.name or one.flow.name
    if kind.startswith(("undecided", "linear")) or not any(word in kind for word in ("node", "saddle", "line")):
        return vectors
    values = (one.flow_values if one.flow.name else one.map_values).real
    for mode in range(1 if "improper" in kind else 2):
        vector = np.linalg.svd(one.jacobian - values[mode] * np.eye(2))[2][-1]
        vectors[mode] = vector * np.sign(vector[np.abs(vector).argmax()])
    return vectors


def _kinds(which: str, known: list[tuple[Kind, Complex]], name: str, unit: str) -> dict[str, tuple[Any, ...]]:
    along, values = (schema.FIXED_POINT,), np.array([each for _, each in known], dtype=complex).reshape(-1, 2)
    names, stable = np.array([kind.name for kind, _ in known], dtype=object), [kind.stable for kind, _ in known]
    return {
        f"{which}_eigenvalue": ((*along, schema.MODE), values, name, unit),
        f"{which}_kind": (along, names, f"kind for the {which}"),
        f"{which}_stable": (along, np.array(stable, dtype=np.int8), f"stable for the {which}: 1, 0, −1 undecided"),
    }
