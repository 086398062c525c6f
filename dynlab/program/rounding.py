"""Running error analysis of a program: its values with bounds on what rounding has left in them.

References
----------
Higham, "Accuracy and stability of numerical algorithms", SIAM 2002, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.program.operations import OPERATIONS, Bounded
from dynlab.program.program import Program
from dynlab.program.torch_code import code_of, joined, sums

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
    needed = program.needed(*outputs)
    code = code_of(program, needed)
    values = code.values(state, input, t, constants, code.fold(constants))
    found: dict[int, Bounded] = {}
    for i, given in zip(needed, values, strict=True):
        operation, value = program.operations[i], torch.as_tensor(given, dtype=state.dtype)
        reads = [found[k] for k in operation.reads]
        held: list[Any] = [operation.number] if operation.name == "power" else []
        if operation.constant is not None:
            held = [(constants[operation.constant], _of_stored(program, constants, operation.constant))]
        error: Any = 0.0
        match operation.name:
            case "state" | "input" | "time" | "number":
                pass
            case "constant" | "lookup":
                error = held[0][1]
            case "linear":
                error = _linear_error(unit, reads[0], *held[0])
            case "take":
                before = reads[0][1]
                has_columns = isinstance(before, Tensor) and before.ndim > 0 and before.shape[-1] > 1
                error = before[..., torch.tensor(operation.index, dtype=torch.long)] if has_columns else before
            case "join":
                errors = [torch.as_tensor(e, dtype=state.dtype).expand(v.shape or (1,)) for v, e in reads]
                error = joined(errors, program.sizes(operation.reads))
            case "sum":
                length = int(operation.number)
                error = sums(reads[0][1] + length * unit * reads[0][0].abs(), length)
            case name:
                error = OPERATIONS[name].error(unit, value, *reads, *held)
                if name in UNDERFLOWS:
                    error = error + _underflow(name, value, reads)
        found[i] = value, error
    return [found[i] for i in outputs]


def _underflow(name: str, value: Tensor, reads: Sequence[Bounded]) -> Tensor:
    """Return the smallest normal number where a result may have fallen below it, which is then no certain zero."""
    tiny = torch.finfo(value.dtype).tiny
    small = value.abs() < tiny
    if name == "multiply":
        small = small & (reads[0][0] != 0) & (reads[1][0] != 0)
    return tiny * small.to(value.dtype)


def _of_stored(program: Program, constants: Sequence[Tensor], number: int) -> Any:
    share, values = program.errors[number], constants[number]
    return share * values.abs().max() if share and values.numel() else 0.0


def _linear_error(unit: float, a: Bounded, matrix: Tensor, matrix_error: Any) -> Any:
    x, dx = a
    moduli = matrix.abs().to(x.dtype)
    error = (matrix.shape[1] + 1) * unit * linear(x.abs(), moduli)  # in whatever order the products are added up
    if isinstance(dx, Tensor):
        error = error + linear(dx.expand(x.shape), moduli)
    if isinstance(matrix_error, Tensor):
        error = error + matrix_error * (x.abs() + dx).sum(dim=-1, keepdim=True)
    return error
