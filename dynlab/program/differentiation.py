"""Jacobians of systems and bounds on their rounding: from the program where the step has one, else by torch.

Without a program errors are estimates: `DOUBT` (n + `FUNCTIONS`) roundings of the largest entry.
"""

from typing import Any

import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.program.derived import batch_shape, derived
from dynlab.program.jacobian import Operator, of_matrix
from dynlab.program.program import NoProgram
from dynlab.program.torch_code import bounded_values

DOUBT = 4.0
FUNCTIONS = 8  # an activation, its slope and products with it round so often
STATED = "stated_jacobian"  # the method of an implicit step, which no list of operations computes
LARGE = 0.48  # errors above this power of the largest number are unbounded


def jacobian(
    system: Any, state: Tensor, input: Tensor, t: int | Tensor = 0, method: str = "evolve", by: str = "state"
) -> Operator:
    """Return ∂step/∂state of a map, ∂velocity/∂state of a flow, or the derivative by the input.

    Parameters
    ----------
    system : System
    state : Tensor, shape (..., state)
    input : Tensor, shape (..., input)
    t : int or Tensor
        Step number, broadcastable with the leading dimensions.
    method : str
        Name of the method that is differentiated.
    by : {"state", "input"}
        The variable of the derivative.
    """
    stated = getattr(system, STATED, None) if method == "evolve" else None
    if stated is not None:
        return of_matrix(stated(state, input, t, by))
    try:
        return derived(system, method).at(by).operator(state, input, t)
    except NoProgram:
        return of_matrix(automatic_jacobian(getattr(system, method), state, input, t, by))


def along(system: Any, states: Tensor, inputs: Tensor) -> Operator:
    """Return ∂h_t/∂h_{t−1} for t = 1…T along a trajectory.

    Parameters
    ----------
    system : Map
    states : Tensor, shape (..., T + 1, state)
        h_0 … h_T.
    inputs : Tensor, shape (..., T, input)
        x_1 … x_T.

    Returns
    -------
    Operator
        With leading dimensions (..., T).
    """
    return jacobian(system, states[..., :-1, :], inputs, torch.arange(inputs.shape[-2], device=states.device))


def jacobian_and_error(system: Any, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Tensor, Tensor]:
    """Return the Jacobian as matrices, and a bound on what rounding has left in each entry, shape (..., rows, columns).

    Parameters are those of `jacobian`. What is meant is the Jacobian in real arithmetic at the numbers stored: state,
    input and parameters. The slope of a ReLU at its kink has an unbounded error.
    """
    try:
        linear = derived(system).at("state")
    except NoProgram:
        return _estimated(jacobian(system, state, input, t).dense())
    found, moduli, larger = linear.bounded(state, input, t)
    value, most = found.dense(), larger.dense()
    error = (most - moduli.dense()).clamp(min=0) + linear.terms * torch.finfo(value.dtype).eps * most
    shape = (*batch_shape(state, input, t), *value.shape[-2:])
    bounded = error <= torch.finfo(value.dtype).max ** LARGE
    return value.expand(shape), torch.where(bounded, error, torch.inf).expand(shape)


def step_and_error(
    system: Any, state: Tensor, input: Tensor, t: int | Tensor = 0, method: str = "evolve"
) -> tuple[Tensor, Tensor] | None:
    """Return what the method computes and a bound on each entry's error, shape (..., rows); None without a program.

    Parameters are those of `jacobian`.
    """
    try:
        made = derived(system, method)
    except NoProgram:
        return None
    ((value, error),) = bounded_values(made.program, [made.program.output], made.constants, state, input, t)
    shape = (*batch_shape(state, input, t), made.program.operations[made.program.output].size)
    return value.expand(shape), torch.as_tensor(error, dtype=value.dtype).expand(shape)


def jacobian_and_rounding(system: Any, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Operator, Tensor]:
    """Return the Jacobian, and a bound of ‖E‖₂ of what rounding does to it and to products with vectors, shape (...).

    Parameters are those of `jacobian`; a product rounds n + `FUNCTIONS` times, a share of the moduli.
    """
    unit = torch.finfo(state.dtype).eps / 2
    roundings = (system.state_size + FUNCTIONS) * unit
    try:
        linear = derived(system).at("state")
    except NoProgram:
        matrix, error = _estimated(jacobian(system, state, input, t).dense())
        return of_matrix(matrix), _norm(state, of_matrix(error)) + roundings * _norm(state, of_matrix(matrix.abs()))
    found, moduli, larger = linear.bounded(state, input, t)
    return found, _norm(state, moduli, larger) + (roundings + linear.terms * unit) * _norm(state, moduli)


def automatic_jacobian(evolve: Any, state: Tensor, input: Tensor, t: int | Tensor, by: str) -> Tensor:
    """Return the matrices of derivatives by torch's automatic differentiation, shape (..., rows, columns)."""
    batch = batch_shape(state, input, t)
    given = {"state": state.expand(*batch, state.shape[-1]), "input": input.expand(*batch, input.shape[-1])}
    own = given[by] = given[by].detach().clone()
    with torch.enable_grad():
        own.requires_grad_()
        try:
            value = evolve(given["state"], given["input"], t)
            # no element of a batch sees another
            sums = value.flatten(end_dim=-2).sum(dim=0) if value.ndim > 1 else value
            rows = [_pulled(total, own) for total in sums]
        except RuntimeError as error:
            reason = str(error).partition(":")[0]
            raise UserError(
                f"torch cannot differentiate the step ({reason}): compute a new tensor in place of writing on one."
            ) from error
    return torch.stack(rows, dim=-2)


def _pulled(total: Tensor, own: Tensor) -> Tensor:
    if not total.requires_grad:
        return torch.zeros_like(own)
    return torch.autograd.grad(total, own, retain_graph=True, materialize_grads=True)[0]


def _estimated(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix and the estimate of its entries' errors."""
    roundings = DOUBT * (max(matrix.shape[-2:]) + FUNCTIONS) * torch.finfo(matrix.dtype).eps / 2
    largest = matrix.abs().amax(dim=(-2, -1), keepdim=True) if matrix.numel() else matrix.new_zeros(1, 1)
    return matrix, (roundings * largest).expand(matrix.shape).clone()


def _norm(like: Tensor, smaller: Operator, larger: Operator | None = None) -> Tensor:
    """√(‖A‖₁ ‖A‖_∞) ≥ ‖A‖₂ of a matrix of no negative entries, or of the difference of two, shape (...)."""
    ones = like.new_ones(smaller.columns, 1)
    left = like.new_ones(smaller.rows, 1)
    rows, columns = smaller.apply(ones), smaller.apply_transpose(left)
    if larger is not None:
        rows, columns = larger.apply(ones) - rows, larger.apply_transpose(left) - columns
    # the roots first: of two numbers of float32 about 1e-24 the product underflows
    return rows.amax(dim=(-2, -1)).clamp(min=0).sqrt() * columns.amax(dim=(-2, -1)).clamp(min=0).sqrt()
