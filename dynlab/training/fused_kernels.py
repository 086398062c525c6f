"""One GPU kernel for all steps of a sequence, forward and backward: `unitwise.cu`, which torch compiles when asked.

The function of a unit is written out in C from the scalar text of its operations.
"""

import functools
import math
import re
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import resources
from typing import Any

import torch
from torch import Tensor

from dynlab.program.operations import OPERATIONS
from dynlab.program.unitwise import Unitwise

LARGEST = 256  # units, whose matrix fits into what the threads of a sample hold and share
HELD = 128  # as in unitwise.cu
FUNCTION = re.compile(r"\b([a-z]\w+)\(")  # of C's, whose names for float end in f
HEAD = """__device__ __forceinline__ float maxf(float a, float b) { return a < b ? b : a; }  // NaN where a is
__device__ __forceinline__ float unit(float h, float pre, const float* aside, const float* own) {"""


def at_hand(like: Tensor) -> bool:
    """Tell whether there are kernels for such numbers: in float32 on NVIDIA's GPUs, by a torch that compiles."""
    compiles = hasattr(torch.cuda, "_compile_kernel") and torch.version.hip is None
    return like.is_cuda and like.dtype == torch.float32 and compiles


def unit_of(form: Unitwise, numbers: Sequence[float | None]) -> str | None:
    """Return the function of a unit in C; None where a unit has more than one coordinate or an operation no text in C.

    Parameters
    ----------
    form : Unitwise
    numbers : sequence
        Values that the function reads and that are the same at each step: a number, or None for a tensor.
    """
    operations = form.program.operations
    if form.groups > 1 or len(form.products) > 1 or form.program.size != operations[form.products[0]].size:
        return None
    own = (f"own[{place}]" for place in range(len(numbers)))
    shared = [next(own) if number is None else f"{number!r}f" for number in numbers]
    split = len(shared) - len(form.held)
    names = dict(zip(form.unit.folded, shared[:split], strict=True)) | {form.products[0]: "pre"}
    names |= {i: f"aside[{place}]" for place, i in enumerate(form.asides)}
    held = dict(zip(form.held, shared[split:], strict=True))
    names |= {i: "h" if operations[i].name == "state" else f"v{i}" for i in form.inside}
    called = [(i, operations[i]) for i in form.inside if operations[i].name != "state"]
    if not all(operation.name in OPERATIONS and OPERATIONS[operation.name].scalar for _, operation in called):
        return None
    lines = []
    for i, operation in called:
        constant = operation.number if operation.constant is None else held[operation.constant]
        written = FUNCTION.sub(r"\1f(", OPERATIONS[operation.name].scalar.replace("abs", "fabs"))
        reads = [names[k] for k in operation.reads]
        lines.append(f"const float v{i} = {written.format(*reads, c=constant)};")
    return "\n    ".join([HEAD, *lines, f"return {names[form.cut]};"]) + "\n}\n"


def _threads(n: int) -> int:
    return math.ceil(n / 32) * 32


def _memory(n: int) -> int:
    """Bytes that the threads of a sample share of the matrix: what their registers do not hold."""
    return 4 * max(0, math.ceil(n / 4) * 4 - HELD) * _threads(n)


@functools.cache
def _source(unit: str, **constants: int) -> str:
    lines = [f"constexpr int {name} = {value};" for name, value in constants.items()]
    text = resources.files("dynlab.training").joinpath("unitwise.cu").read_text(encoding="utf-8")
    return "\n".join([*lines, unit, text])


@functools.cache
def compiled(text: str, name: str, memory: int, device: int | None) -> Any:
    """The kernel of that name in the text, for the device of that number."""
    found = torch.cuda._compile_kernel(text, name)
    found.set_shared_memory_config(memory)
    return found


def _launch(name: str, unit: str, like: Tensor, given: Sequence[Tensor], **constants: int) -> None:
    steps, samples, n = like.shape
    options = dict.fromkeys(("SHARED", "ASIDE", "EVERY", "OTHERS", "DIRECT"), 0) | {"N": n} | constants
    with torch.cuda.device(like.device) if like.is_cuda else nullcontext():
        kernel = compiled(_source(unit, **options), name, _memory(n), like.device.index)
        kernel((samples, 1, 1), (_threads(n), 1, 1), [*given, samples * n, steps], _memory(n))


def run_forward(
    unit: str, states: Tensor, pre: Tensor, matrix: Tensor, asides: Sequence[Tensor], shared: Sequence[Tensor]
) -> None:
    """Write states 1 … T behind state 0, shape (T + 1, sample, n), and M h + d over d, shape (T, sample, n)."""
    row = torch.stack([part.expand(pre.shape[-1]) for part in shared]) if shared else pre
    aside = torch.stack([each.expand_as(pre) for each in asides]) if asides else pre
    given = states, pre, aside, row, matrix.mT.contiguous()
    _launch("forward", unit, pre, given, SHARED=len(shared), ASIDE=len(asides))


def run_backward(
    unit: str,
    by_states: Tensor | None,
    by_last: Tensor,
    slope_pre: Tensor,
    slope_state: Tensor | None,
    matrix: Tensor,
    others: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients by M h + d, by state 0, and those that arrive at each state where `others` need them."""
    slope_pre, slope_state = slope_pre.contiguous(), None if slope_state is None else slope_state.contiguous()
    by_pre, by_first = torch.empty_like(slope_pre), torch.empty_like(by_last)
    arriving = torch.empty_like(slope_pre) if others else None
    # the kernel takes an array for each; of one that is not asked for nothing is read or written
    entering, into, direct = (by_pre if part is None else part for part in (by_states, arriving, slope_state))
    given = entering.contiguous(), by_last.contiguous(), by_first, into, by_pre, slope_pre, direct, matrix.contiguous()
    how = {"EVERY": by_states is not None, "OTHERS": others, "DIRECT": slope_state is not None}
    _launch("backward", unit, slope_pre, given, **{key: int(value) for key, value in how.items()})
    return by_pre, by_first, arriving
