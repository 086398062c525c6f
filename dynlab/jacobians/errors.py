"""Jacobians with a bound on what rounding has left in them."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dynlab.jacobians.against_values import belied
from dynlab.jacobians.draws import Draws
from dynlab.jacobians.estimated import FEWER_PLACES, OF_FUNCTIONS, with_estimate
from dynlab.jacobians.of_system import jacobian
from dynlab.numerics.rounded_anew import RoundedAnew
from dynlab.numerics.running_error import RunningErrors, Untracked, bounded
from dynlab.operators import Cascade, Dense, Operator
from dynlab.systems import System
from dynlab.systems.function import has_users_code


def jacobian_and_error(
    system: System,
    state: Tensor,
    input: Tensor,
    t: int | Tensor = 0,
    *,
    diagonal: bool = False,
    unit: float | Tensor = 1.0,
) -> tuple[Tensor, Tensor]:
    """The Jacobian as matrices, and a bound on what rounding has left in each entry.

    Parameters are those of `jacobian`; with `diagonal` nothing need be known outside the `System.blocks` along the
    diagonal, where the bound is then inf: of a stack that saves most of the time. `unit` is what each state is measured
    in where entries are compared with the largest one. What is meant is the Jacobian in real arithmetic at the numbers
    stored: the state, the input and the parameters; of an orthogonal or unitary matrix, the matrix as it was computed.

    Returns
    -------
    jacobian, error : Tensor, shape (..., rows, columns)
        Where a closed form is made of functions that `dynlab.numerics.running_error` has rules for, the bound is
        rigorous. Elsewhere, as after automatic differentiation, it is an estimate: what changes in the last digits of
        all stored numbers do, and roundings of the matrix's largest entry, each `DOUBT` (n + `OF_FUNCTIONS`) times. Of
        a user's function it is no less than the noise of its derivative beside the state.
    """
    if diagonal and len(system.blocks) > 1:
        blocks = diagonal_blocks_and_errors(system, state, input, t, unit=unit)
        return _with_diagonal(jacobian(system, state, input, t).dense(), blocks)
    found = _tracked(system, state, input, t, lambda closed: closed.dense())
    return _bounded(found, system, state, input, t, unit)


def diagonal_blocks_and_errors(
    system: System, state: Tensor, input: Tensor, t: int | Tensor = 0, *, unit: float | Tensor = 1.0
) -> list[tuple[Tensor, Tensor]]:
    """The `System.blocks` along the diagonal of the Jacobian, which have all its eigenvalues, and their errors.

    The same as those of `jacobian_and_error`, whose parameters these are, in a fraction of the time.
    """

    def blocks(closed: Operator) -> list[Any]:
        return [each.dense() for each in (closed.layers if isinstance(closed, Cascade) else [closed])]

    found = _tracked(system, state, input, t, blocks)
    if found is not None and len(found) > 1:
        return list(map(bounded, found))
    whole = _bounded(None if found is None else found[0], system, state, input, t, unit)
    ends = itertools.pairwise(itertools.accumulate(system.blocks, initial=0))
    return [(whole[0][..., i:j, i:j], whole[1][..., i:j, i:j]) for i, j in ends]


def jacobian_and_rounding(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Operator, Tensor]:
    """The Jacobian, and a bound of ‖E‖₂, of what rounding does to it and to its product with a vector, shape (...).

    Parameters are those of `jacobian`. The errors of the factors' numbers are those of `jacobian_and_error`, rigorous
    and estimated as there; a product rounds n + `OF_FUNCTIONS` times, a share of the moduli.
    """
    roundings = (system.state_size + OF_FUNCTIONS) * torch.finfo(state.dtype).eps / 2
    closed = _tracked(system, state, input, t, lambda closed: closed)
    if closed is None:
        matrix, error = with_estimate(system, state, input, t, 1.0)
        return Dense(matrix), _norm(state, Dense(error)) + roundings * _norm(state, Dense(matrix.abs()))
    moduli, larger = (closed.mapped(reach, reach) for reach in (_modulus, _largest_modulus))
    found, error = closed.mapped(_value, _value), _norm(state, moduli, larger) + roundings * _norm(state, moduli)
    if has_users_code(system):
        wrong = FEWER_PLACES * belied(system, state, input, t, found.dense())
        error = error + torch.linalg.matrix_norm(wrong, "fro")
    return found, error


def exact_zeros(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
    """Where the Jacobian is 0, and not for rounding, as of a saturated unit, or a difference: shape (..., n, n).

    Parameters are those of `jacobian`.
    """
    found = _tracked(system, state, input, t, lambda closed: closed.dense())
    if found is not None:
        value, error = bounded(found)
        return (value == 0) & (error == 0)
    with RoundedAnew(Draws(state.device, torch.finfo(state.dtype).eps ** 0.5).rounded):
        anew = jacobian(system, state, input, t).dense()
    return (jacobian(system, state, input, t).dense() == 0) & (anew == 0)


def _bounded(
    found: Any, system: System, state: Tensor, input: Tensor, t: int | Tensor, unit: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The Jacobian that was `found` with its rounding, or where none was, with an estimate of it."""
    if found is None:
        return with_estimate(system, state, input, t, unit)
    value, error = bounded(found)
    if has_users_code(system):  # whose closed form may be another function's, and near some states alone
        error = torch.maximum(error, FEWER_PLACES * belied(system, state, input, t, value, unit))
    return value, error


def _tracked(system: System, state: Tensor, input: Tensor, t: int | Tensor, made: Callable[[Operator], Any]) -> Any:
    """What is `made` of the Jacobian whose numbers carry their rounding; None without a closed form that has rules."""
    try:
        with RunningErrors():
            closed = system.closed_form_jacobian(state, input, t)
            return None if closed is None else made(closed)
    except (Untracked, TypeError, AttributeError):  # the last two: of code that asks for tensors and nothing else
        return None


def _with_diagonal(matrix: Tensor, blocks: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The matrix and its entries' errors where those of the blocks along its diagonal are known, and no others."""
    error, start = torch.full_like(matrix, torch.inf), 0
    for value, wrong in blocks:
        part = slice(start, start := start + value.shape[-1])
        matrix[..., part, part], error[..., part, part] = value, wrong
    return matrix, error


def _norm(like: Tensor, smaller: Operator, larger: Operator | None = None) -> Tensor:
    """√(‖A‖₁ ‖A‖_∞) ≥ ‖A‖₂ of a matrix of no negative entries, or of the difference of two, shape (...)."""
    ones = like.new_ones(smaller.columns, 1)
    rows, columns = smaller.apply(ones), smaller.apply_transpose(ones)
    if larger is not None:
        rows, columns = larger.apply(ones) - rows, larger.apply_transpose(ones) - columns
    # the roots first: of two numbers of float32 about 1e-24 the product underflows
    return rows.amax(dim=(-2, -1)).clamp(min=0).sqrt() * columns.amax(dim=(-2, -1)).clamp(min=0).sqrt()


def _value(number: Any) -> Any:
    return number if isinstance(number, float | int) else bounded(number)[0]


def _modulus(number: Any) -> Any:
    return abs(number) if isinstance(number, float | int) else bounded(number)[0].abs()


def _largest_modulus(number: Any) -> Any:
    return abs(number) if isinstance(number, float | int) else bounded(number)[0].abs() + bounded(number)[1]
