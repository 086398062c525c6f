"""Running error analysis of a program: its values with bounds on what rounding has left in them.

References
----------
Higham, "Accuracy and stability of numerical algorithms", SIAM 2002, section 3.3.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.program.operations import NAMES, OPERATIONS, Bounded
from dynlab.program.program import Program
from dynlab.program.torch_code import _clock, _join, _row, _sums

# Operations whose results are never 0 but by underflow; a product is 0 where a factor is.
UNDERFLOWS = {"exp", "sigmoid", "tanh_slope", "sigmoid_slope", "erf_slope", "multiply"}


def bounded_values(
    program: Program, outputs: Sequence[int], constants: Sequence[Tensor], state: Tensor, input: Tensor, t: Any
) -> list[Bounded]:
    """Values of some operations for the stored numbers as they are, and bounds on their errors.

    Parameters
    ----------
    constants : sequence of Tensor
        Values of the program's constants; their own errors are `Program.errors`.
    state : Tensor, shape (..., state)
    input : Tensor, shape (..., input)
    t : int or Tensor
    """
    unit = torch.finfo(state.dtype).eps / 2
    found: dict[int, Bounded] = {}
    for i in program.needed(*outputs):
        operation = program.operations[i]
        reads = [found[k] for k in operation.reads]
        match operation.name:
            case "state":
                found[i] = state, 0.0
            case "input":
                found[i] = input, 0.0
            case "time":
                found[i] = torch.as_tensor(_clock(t, state), dtype=state.dtype), 0.0
            case "number":
                found[i] = state.new_tensor(operation.number), 0.0
            case "constant":
                found[i] = _stored(program, constants, operation.slot)
            case "lookup":
                table, error = _stored(program, constants, operation.slot, flat=False)
                found[i] = _row(table, t), error
            case "linear":
                found[i] = _linear(unit, reads[0], *_stored(program, constants, operation.slot, flat=False))
            case "take":
                index = torch.tensor(operation.index, dtype=torch.long)
                value, error = reads[0]
                found[i] = value[..., index], error[..., index] if _has_columns(error) else error
            case "join":
                sizes = program.sizes(operation.reads)
                errors = [torch.as_tensor(e, dtype=state.dtype).expand(v.shape or (1,)) for v, e in reads]
                values = [v if v.ndim else v.reshape(1) for v, _ in reads]
                found[i] = _join(values, sizes), _join(errors, sizes)
            case "sum":
                value, error = reads[0]
                length = int(operation.number)
                whole = error.expand(value.shape) if isinstance(error, Tensor) else torch.full_like(value, error)
                found[i] = _sums(value, length), _sums(whole + length * unit * value.abs(), length)
            case name:
                rule = OPERATIONS[name]
                held: Any = operation.number
                if operation.constant is not None:
                    held = _stored(program, constants, operation.slot)
                value = _function(name)(*(v for v, _ in reads), held if name == "power" else _value(held))
                extra = () if name != "power" and operation.constant is None else (held,)
                error = rule.error(unit, value, *reads, *extra)
                found[i] = value, error + _underflow(name, value, reads) if name in UNDERFLOWS else error
    return [found[i] for i in outputs]


def _underflow(name: str, value: Tensor, reads: Sequence[Bounded]) -> Tensor:
    """Return the smallest normal number where a result may have fallen below it, which is then no certain zero."""
    tiny = torch.finfo(value.dtype).tiny
    small = value.abs() < tiny
    if name == "multiply":
        small = small & (reads[0][0] != 0) & (reads[1][0] != 0)
    return tiny * small.to(value.dtype)


def _value(held: Any) -> Any:
    return held[0] if isinstance(held, tuple) else held


def _has_columns(error: Any) -> bool:
    return isinstance(error, Tensor) and error.ndim > 0 and error.shape[-1] > 1


def _stored(program: Program, constants: Sequence[Tensor], number: int, flat: bool = True) -> Bounded:
    values = constants[number].reshape(-1) if flat else constants[number]
    share = program.errors[number]
    return values, share * values.abs().max() if share and values.numel() else 0.0


@functools.cache
def _function(name: str) -> Any:
    """Return the table's source in torch as a function of its operands and, last, of what is held."""
    source = OPERATIONS[name].torch
    arguments = "a, b, c" if "{1}" in source else "a, c"
    return eval(f"lambda {arguments}: {source.format('a', 'b', c='c')}", dict(NAMES))  # of the table's own text


def _linear(unit: float, a: Bounded, matrix: Tensor, matrix_error: Any) -> Bounded:
    x, dx = a
    matrix = matrix.to(x.dtype)  # a function of float64 numbers alone may be asked for in float32
    value, moduli = linear(x, matrix), matrix.abs()
    error = (matrix.shape[1] + 1) * unit * linear(x.abs(), moduli)  # in whatever order the products are added up
    if isinstance(dx, Tensor):
        error = error + linear(dx.expand(x.shape), moduli)
    if isinstance(matrix_error, Tensor):
        size = x.abs() + dx
        error = error + matrix_error * size.sum(dim=-1, keepdim=True)
    return value, error
