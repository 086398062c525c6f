"""The eigenvalues that their first error does not separate from a bound, enclosed anew."""

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.driven import Driven
from dynlab.jacobians import jacobian
from dynlab.numerics.eigenvalues import WORTHWHILE, enclosed_anew, rounding_left
from dynlab.systems import Euler

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


def sharpened(driven: Driven, ds: xr.Dataset, limit: float, of_flow: bool) -> tuple[Real, Real]:
    """Moduli of ∂h_t/∂h_{t−1}, or real parts of the flow's eigenvalues, with their errors, shape (sample, time, mode).

    Parameters
    ----------
    driven : Driven
        What `ds` was computed along.
    ds : Dataset
        Of `dynlab.spectrum`.
    limit : float
        The bound that they are held to.
    of_flow : bool
        Whether it bounds real parts of the flow.
    """
    name = "flow_eigenvalue" if of_flow else "eigenvalue"
    values, errors = ds[name].values, ds[f"{name}_error"].values.copy()
    numbers = values.real.copy() if of_flow else np.abs(values)
    near = np.abs(numbers - limit)
    unsure = near <= errors  # false where a number is not known
    flow = driven.system.flow if isinstance(driven.system, Euler) else None
    step_size = driven.system.step_size if isinstance(driven.system, Euler) else 1.0
    conditions = ds["condition"].values
    for time in np.flatnonzero(unsure.any(axis=(0, 2))):
        steps = ds[schema.TIME].values[time : time + 1]
        (block,) = driven.blocks(flow or driven.system, steps)
        for sample in np.flatnonzero(unsure[:, time].any(axis=1)):
            matrix = block[sample, 0].cpu().numpy().astype(np.float64)
            at = sample, time
            rounding = _rounding(driven, matrix, int(sample), int(steps[0]))
            scale = 1.0 if of_flow else step_size
            wanted = unsure[at] & (near[at] > WORTHWHILE * scale * conditions[at] * rounding)
            if not wanted.any():
                continue
            # an Euler step's errors are those of 1 + ε μ: of the flow's μ without the rounding of that
            first = ds["flow_eigenvalue_error" if flow is not None else "eigenvalue_error"].values[at]
            found, bounds = _enclosed(matrix, step_size if flow is not None else None, first, wanted, rounding)
            if flow is not None and not of_flow:
                found, bounds = _of_euler(found, bounds, step_size)
            numbers[at], errors[at] = (found.real if of_flow else np.abs(found)), bounds
    return numbers, errors


def _enclosed(
    matrix: Real, step_size: float | None, errors: Real, unsure: NDArray[np.bool_], rounding: float
) -> tuple[Complex, Real]:
    """All eigenvalues of a Jacobian, those of the flow where `step_size` is given, in the order of the spectrum's."""
    values, right = np.linalg.eig(matrix)
    multipliers = values if step_size is None else 1 + step_size * values
    order = np.lexsort((-multipliers.real, -np.abs(multipliers)))
    right = right[:, order].astype(complex)
    return enclosed_anew(matrix, values[order].astype(complex), right, errors, unsure, rounding)


def _of_euler(rates: Complex, errors: Real, step_size: float) -> tuple[Complex, Real]:
    """1 + ε μ, whose sum and product round too."""
    multipliers = 1 + step_size * rates
    return multipliers, step_size * errors + 2 * np.finfo(float).eps * np.abs(multipliers)


def _rounding(driven: Driven, matrix: Real, sample: int, step: int) -> float:
    """What rounding has left in a Jacobian: in float32 the weights themselves are rounded, so never nothing."""
    system = driven.system.flow if isinstance(driven.system, Euler) else driven.system
    state, unit = driven.states[sample, step - 1], float(torch.finfo(driven.states.dtype).eps)
    if state.dtype != torch.float64:
        return rounding_left(matrix, matrix, [], unit)
    elsewhere = jacobian(system, state + 1, driven.inputs[sample, step - 1], step - 1).dense().cpu().numpy()
    held = [each.detach().cpu().numpy() for each in (*system.parameters(), *system.buffers())]
    return rounding_left(matrix, elsewhere, held, unit)
