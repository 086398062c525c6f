"""Values of a program's operations for batches of states, and bounds on what rounding has left in them.

References
----------
Higham, "Accuracy and stability of numerical algorithms", SIAM 2002, section 3.3: running error analysis.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.program.operations import NAMES, OPERATIONS, Bounded
from dynlab.program.program import Program

LEAVES = ("state", "input", "time")
# Sources in torch, beside those of functions, from what an operation reads and the numbers that it holds.
SOURCES = {
    "state": "h",
    "input": "x",
    "time": "clock(t, h)",
    "number": "{c}",
    "constant": "{c}.reshape(-1)",
    "lookup": "row({c}, t)",
    "linear": "linear({0}, {c})",
    "join": "join([{all}], {sizes})",
    "sum": "sums({0}, {c:.0f})",
}
# Operations whose results are never 0 but by underflow; a product is 0 where a factor is.
UNDERFLOWS = {"exp", "sigmoid", "tanh_slope", "sigmoid_slope", "erf_slope", "multiply"}
ARITHMETIC = ("add", "subtract", "multiply", "divide", "negate", "power")  # of Python's numbers too


class TorchCode:
    """Source in torch of some operations' values, compiled by Python: `values` after `fold`.

    Parameters
    ----------
    program : Program
    outputs : sequence of int
    given : sequence of int
        Operations whose values are handed over, as the last argument of `values`.
    """

    def __init__(self, program: Program, outputs: Sequence[int], given: Sequence[int] = ()) -> None:
        moving = [program.depends_on(leaf) for leaf in LEAVES]
        varies = [any(each[i] for each in moving) for i in range(len(program.operations))]
        # of numbers alone: Python's own, which torch's functions do not take
        self._bare = [not (state or input) for state, input in zip(*moving[:2], strict=True)]
        needed = [i for i in program.needed(*outputs, given=given) if i not in given]
        self._names: dict[str, Any] = dict(
            NAMES, linear=linear, join=_joined, sums=_sums, row=_row, clock=_clock, tensor=_tensor
        )
        still = [i for i in needed if not varies[i]]
        read = {k for i in needed if varies[i] for k in program.operations[i].reads} | set(outputs)
        self.folded = [i for i in still if i in read]
        self.fold = self._compiled("c", program, still, self.folded)
        head = [f"    v{i} = f[{place}]" for place, i in enumerate(self.folded)]
        head += [f"    v{i} = g[{place}]" for place, i in enumerate(given)]
        self.values = self._compiled("h, x, t, c, f, g=()", program, [i for i in needed if varies[i]], outputs, head)

    def _compiled(
        self, given: str, program: Program, numbers: Sequence[int], results: Sequence[int], head: Sequence[str] = ()
    ) -> Any:
        lines = [f"    v{i} = {self._source(program, i)}" for i in numbers]
        body = [f"def function({given}):", *head, *lines, f"    return [{', '.join(f'v{i}' for i in results)}]"]
        exec("\n".join(body), self._names)  # made of the table's own text
        return self._names["function"]

    def _source(self, program: Program, i: int) -> str:
        operation = program.operations[i]
        name, reads = operation.name, [f"v{k}" for k in operation.reads]
        if name == "take":
            first = operation.index[0] if operation.index else 0
            if operation.index == tuple(range(first, first + operation.size)):
                return f"{reads[0]}[..., {first}:{first + operation.size}]"
            self._names[f"i{i}"] = torch.tensor(operation.index, dtype=torch.long)
            return f"{reads[0]}[..., i{i}]"
        if name not in (*SOURCES, *ARITHMETIC):
            reads = [f"tensor(v{k})" if self._bare[k] else f"v{k}" for k in operation.reads]
        held = operation.number if operation.constant is None else f"c[{operation.constant}]"
        source = SOURCES.get(name) or OPERATIONS[name].torch
        return source.format(*reads, all=", ".join(reads), sizes=program.sizes(operation.reads), c=held)


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
    if tuple(needed) not in program.made:
        program.made[tuple(needed)] = TorchCode(program, needed)
    code = program.made[tuple(needed)]
    values = code.values(state, input, t, constants, code.fold(constants))
    found: dict[int, Bounded] = {}
    for i, given in zip(needed, values, strict=True):
        operation, value = program.operations[i], torch.as_tensor(given, dtype=state.dtype)
        reads = [found[k] for k in operation.reads]
        held: list[Any] = [operation.number] if operation.name == "power" else []
        if operation.constant is not None:
            stored, share = constants[operation.constant], program.errors[operation.constant]
            held = [(stored, share * stored.abs().max() if share and stored.numel() else 0.0)]
        error: Any
        match operation.name:
            case "state" | "input" | "time" | "number":
                error = 0.0
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
                error = _joined(errors, program.sizes(operation.reads))
            case "sum":
                length = int(operation.number)
                error = _sums(reads[0][1] + length * unit * reads[0][0].abs(), length)
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


def _linear_error(unit: float, a: Bounded, matrix: Tensor, matrix_error: Any) -> Any:
    x, dx = a
    moduli = matrix.abs().to(x.dtype)
    error = (matrix.shape[1] + 1) * unit * linear(x.abs(), moduli)  # in whatever order the products are added up
    if isinstance(dx, Tensor):
        error = error + linear(dx.expand(x.shape), moduli)
    if isinstance(matrix_error, Tensor):
        error = error + matrix_error * (x.abs() + dx).sum(dim=-1, keepdim=True)
    return error


def _joined(parts: list[Any], sizes: list[int]) -> Tensor:
    """Return vectors one after the other; one number stands for as many as there are places."""
    like = max((part for part in parts if isinstance(part, Tensor)), key=lambda part: part.ndim)
    whole = [part.to(like) if isinstance(part, Tensor) else like.new_full((1,), part) for part in parts]
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in whole))
    return torch.cat([part.expand(*batch, size) for part, size in zip(whole, sizes, strict=True)], dim=-1)


def _sums(a: Tensor, length: int) -> Tensor:
    """Return the sums of groups of neighbours."""
    return a.unflatten(-1, (-1, length)).sum(dim=-1)


def _row(table: Tensor, t: Any) -> Tensor:
    if ((torch.as_tensor(t) < 0) | (torch.as_tensor(t) >= len(table))).any():
        raise UserError(f"The network learned its parameters for T = {len(table)} steps, and another one is asked for.")
    return table[t]


def _tensor(a: Any) -> Tensor:
    return a if isinstance(a, Tensor) else torch.tensor(a, dtype=torch.float64)


def _clock(t: Any, like: Tensor) -> Any:
    return t.to(like.dtype).unsqueeze(-1) if isinstance(t, Tensor) else t
