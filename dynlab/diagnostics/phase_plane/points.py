"""Each equilibrium of a planar system as that of its flow and as the fixed point of its map: eigenvalues and kinds."""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.phase_plane import exact_origin
from dynlab.diagnostics.phase_plane.equilibria import Equilibria, field
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.exact_kinds import Matrix, euler_matrix
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map
from dynlab.systems.held import Held

NONE = Kind("", -1, 0, 0)


class AtRest(NamedTuple):
    """One equilibrium; eigenvalues in decreasing modulus of the map's where there is one, else of the flow's."""

    flow: Kind
    flow_values: NDArray[np.complex128]
    map: Kind
    map_values: NDArray[np.complex128]
    critical_step: float
    flag: str


def described(
    held: Held, found: Equilibria, step_size: float | None, matrix: Matrix | None, points: NDArray[np.float64]
) -> list[AtRest]:
    """Every equilibrium's kinds; the origin's exactly where the `matrix` of the field's system there is given.

    Parameters
    ----------
    held : Held
        Of the flow, or of a map that is no Euler step.
    found : Equilibria
    step_size : float or None
        Of Euler's map, where there is one beside the flow.
    matrix : Matrix or None
    points : ndarray, shape (point, 2)
        Where what is claimed of a nonlinear field is checked.
    """
    return [
        _exact(held, matrix, step_size, points)
        if matrix is not None and not state.any()
        else _numeric(held, jacobian, error, step_size)
        for state, jacobian, error in zip(found.states, found.jacobians, found.errors, strict=True)
    ]


def _numeric(held: Held, jacobian: NDArray[np.float64], error: float, step_size: float | None) -> AtRest:
    values, errors, _ = eigenvalues(jacobian, error)
    if not held.is_flow:
        return AtRest(NONE, values, kind_of_map(values, errors), values, np.nan, "")
    flow, step, flag = kind_of_flow(values, errors), *critical_step(values, errors)
    if step_size is None:
        return AtRest(flow, values, NONE, values, step, flag)
    multipliers = 1 + step_size * values
    bounds = step_size * errors + np.finfo(float).eps * np.maximum(1.0, np.abs(multipliers))
    sorts = order(multipliers)
    return AtRest(flow, values[sorts], kind_of_map(multipliers, bounds), multipliers[sorts], step, flag)


def _exact(held: Held, matrix: Matrix, step_size: float | None, points: NDArray[np.float64]) -> AtRest:
    values = np.array(exact_origin.exact_eigenvalues(matrix), dtype=np.complex128)
    values = values[order(values)]
    on_arrays = partial(field, held)
    if not held.is_flow:
        return AtRest(NONE, values, exact_origin.kind_of_map_at_origin(matrix, on_arrays, points), values, np.nan, "")
    flow, step, flag = exact_origin.kind_of_flow_at_origin(matrix, on_arrays, points), *critical_step(values)
    if step_size is None:
        return AtRest(flow, values, NONE, values, step, flag)
    # The decimal that a person writes for a step, 0.1, is what the step is meant to be.
    euler = euler_matrix(matrix, Fraction(repr(step_size)))
    multipliers = (1 + step_size * values).astype(np.complex128)
    sorts = order(multipliers)
    kind = exact_origin.kind_of_map_at_origin(euler, on_arrays, points)
    return AtRest(flow, values[sorts], kind, multipliers[sorts], step, flag)
