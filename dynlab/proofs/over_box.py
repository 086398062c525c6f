"""The two bounds over a box of states, each beside the same quantity at sampled states."""

from typing import NamedTuple

import numpy as np
import torch
from flint import arb, ctx
from torch import Tensor

from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues, eigenvalues
from dynlab.program import NoProgram
from dynlab.program.differentiation import jacobian_and_error
from dynlab.program.enclosure import NonSmooth, jacobian_over_box
from dynlab.proofs.common_norm import best_weights, proved_bound, weighted
from dynlab.systems import System
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

PRECISION = 64  # bits: the box is wide, and rounding is nothing beside it


class BoxBound(NamedTuple):
    """A proved bound on the Jacobian over a box, and the same quantity at states in it.

    Attributes
    ----------
    value : float
        An upper bound on ‖T J T⁻¹‖₂, or on the logarithmic norm.
    weights : ndarray, shape (n, n)
        T.
    sampled : ndarray, shape (sample,)
        The same quantity of single Jacobians, by `weights`.
    eigenvalues : ndarray, shape (sample,)
        Their spectral radius, or abscissa.
    surely : float
        The spectral radius where it is largest, less its error; NaN where it is the abscissa that was asked for.
    inside : bool
        True if the system's value over the box is proved to lie in the box.
    """

    value: float
    weights: Real
    sampled: Real
    eigenvalues: Real
    surely: float
    inside: bool


def bound(
    exact: System, sampling: System, input: Tensor, t: int, ends: tuple[Real, Real], states: Real, logarithmic: bool
) -> BoxBound:
    """The bound of a map's or a flow's Jacobian.

    Parameters
    ----------
    exact, sampling : System
        System in float64 on the CPU, for the proof; and in the type and on the device of single Jacobians.
    input : Tensor, shape (input,)
        The input that is held.
    t : int
    ends : tuple of ndarray, each of shape (state,)
        The box.
    states : ndarray, shape (sample, state)
    logarithmic : bool
        The logarithmic norm in place of the norm.

    Raises
    ------
    UserError
        For a system without ball arithmetic, and one that is not continuous over the box.
    """
    with ctx.workprec(PRECISION):
        box = [arb(float(low)).union(arb(float(high))) for low, high in zip(*ends, strict=True)]
        try:
            image, over = jacobian_over_box(exact.program(input.double().cpu(), t), box)
        except (NoProgram, NonSmooth) as error:
            raise UserError(
                f"Bounds over a box cannot be proved: {error}; `dynlab spectrum` samples trajectories."
            ) from error
        inside = all(
            bool(entry.lower() >= arb(float(low))) and bool(entry.upper() <= arb(float(high)))
            for entry, low, high in zip(image, *ends, strict=True)
        )
        weights = best_weights(over, logarithmic)
        value = proved_bound(over, weights, logarithmic)
    matrices = held_matrices(Held(sampling, input, t), torch.as_tensor(states).to(input)).double().cpu().numpy()
    turned, values = weighted(matrices, weights), approximate_eigenvalues(matrices)
    if logarithmic:
        seen = np.linalg.eigvalsh((turned + turned.swapaxes(1, 2)) / 2).max(axis=1)
        return BoxBound(value, weights, seen, values.real.max(axis=1), np.nan, inside)
    radii = np.abs(values).max(axis=1)
    surely = _less_its_error(exact, states[np.argmax(radii)], input, t)
    return BoxBound(value, weights, np.linalg.norm(turned, 2, axis=(1, 2)), radii, surely, inside)


def _less_its_error(exact: System, state: Real, input: Tensor, t: int) -> float:
    matrix, wrong = jacobian_and_error(exact, torch.as_tensor(state), input.double().cpu(), t)
    values, errors, _ = eigenvalues(matrix.numpy(), wrong.numpy())
    return float((np.abs(values) - errors).max())
