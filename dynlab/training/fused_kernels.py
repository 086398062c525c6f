"""All steps of a sequence as one kernel of a GPU, forward and backward: `unitwise.cu`, which torch compiles when asked.

The function of a unit is written out in C from what torch records of it. A function with an operation that has no word
here has no kernel.
"""

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import resources
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

LARGEST = 256  # units, whose matrix fits into what the threads of a sample hold and share
HELD = 128  # as in unitwise.cu

WORDS: dict[Any, str] = {
    torch.ops.aten.add.Tensor: "{} + {}",
    torch.ops.aten.sub.Tensor: "{} - {}",
    torch.ops.aten.rsub.Scalar: "{1} - {0}",
    torch.ops.aten.mul.Tensor: "{} * {}",
    torch.ops.aten.neg.default: "-{}",
    torch.ops.aten.tanh.default: "tanhf({})",
    torch.ops.aten.sigmoid.default: "1.0f / (1.0f + expf(-{}))",
    torch.ops.aten.relu.default: "{0} <= 0.0f ? 0.0f : {0}",
    torch.ops.aten.abs.default: "fabsf({})",
    torch.ops.aten.sign.default: "{0} > 0.0f ? 1.0f : {0} < 0.0f ? -1.0f : {0}",
}


def at_hand(like: Tensor) -> bool:
    """Whether sequences of such numbers have kernels here: in float32 on NVIDIA's GPUs, by a torch that compiles."""
    compiles = hasattr(torch.cuda, "_compile_kernel") and torch.version.hip is None
    return like.is_cuda and like.dtype == torch.float32 and compiles


def unit_of(function: Callable[..., Tensor], asides: int, shared: Sequence[Tensor]) -> str | None:
    """The function of a unit in C; None where it has an operation without a word.

    Parameters
    ----------
    function : callable
        As `dynlab.systems.unitwise.Unitwise` has it.
    asides : int
        How many arguments it takes of the inputs beside M h + d: 0 or 1.
    shared : sequence of Tensor
        What it takes that is the same at each step.
    """
    samples = [torch.zeros(1, 1) for _ in range(2 + asides)]
    samples += [torch.zeros(1 if part.ndim else ()) for part in shared]
    names = ["h", "pre", *["aside"] * asides, *(f"own[{number}]" for number in range(len(shared)))]
    written: dict[Any, str] = {}
    lines = []
    for node in make_fx(function)(*samples).graph.nodes:
        if node.op == "placeholder":
            written[node] = names[len(written)]
        elif node.op == "output":
            lines.append(f"return {written[node.args[0]]};")
        elif node.op == "call_function" and node.target in WORDS and set(node.kwargs) <= {"alpha"}:
            if not all(part in written or math.isfinite(part) for part in node.args):
                return None
            words = [written[part] if part in written else _number(part) for part in node.args]
            if "alpha" in node.kwargs:
                words[1] = f"{_number(node.kwargs['alpha'])} * {words[1]}"
            written[node] = f"v{len(written)}"
            lines.append(f"const float {written[node]} = {WORDS[node.target].format(*words)};")
        else:
            return None
    head = "__device__ __forceinline__ float unit(float h, float pre, float aside, const float* own) {"
    return "\n    ".join([head, *lines]) + "\n}\n"


def _number(value: float) -> str:
    return f"({float(value)!r}f)"


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
    aside = asides[0].contiguous() if asides else pre
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
    by_pre, by_first = torch.empty_like(slope_pre), torch.empty_like(by_last)
    arriving = torch.empty_like(slope_pre) if others else None
    # the kernel takes an array for each; of one that is not asked for nothing is read or written
    entering, into, direct = (by_pre if part is None else part for part in (by_states, arriving, slope_state))
    given = entering.contiguous(), by_last.contiguous(), by_first, into, by_pre, slope_pre, direct, matrix.contiguous()
    how = {"EVERY": by_states is not None, "OTHERS": others, "DIRECT": slope_state is not None}
    _launch("backward", unit, slope_pre, given, **{key: int(value) for key, value in how.items()})
    return by_pre, by_first, arriving
