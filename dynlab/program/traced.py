"""A system's program, from one run of its step; held against the step and its derivative at random points."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch
from torch import Tensor

from dynlab.program.program import NoProgram, Program
from dynlab.program.torch_code import TorchCode
from dynlab.program.trace import Recorder

TRIALS = 2  # random states at which a trace is held against the step, and its Jacobian against torch's once


def traced(system: Any, method: str = "evolve", stretches: bool = True) -> tuple[Program, Recorder]:
    """The program of a system's step or velocity, and what recorded it.

    Raises
    ------
    NoProgram
    """
    program = Program(system.state_size, system.input_size)
    recorder = Recorder(program, stretches)
    recorder.errors |= {id(buffer): 0.0 for buffer in system.buffers()}  # a constant of its own, which may be moved
    h, x, t = _point(system, 0)
    try:
        with torch.no_grad(), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            recorder.mark(h, program.state())
            recorder.mark(x, program.input())
            recorder.mark(t, program.time())
            found = getattr(system, method)(h, x, t)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise NoProgram(f"its step cannot be traced ({str(error).splitlines()[0]})") from error
    node = recorder.node(found)
    size = program.operations[node.number].size
    program.output = node.number if size == found.numel() else program.take(node.number, (0,) * found.numel())
    for i in program.needed(program.output):
        if program.operations[i].name == "sign":
            raise NoProgram("it uses the sign of a number, which jumps")
    return program, recorder


def _point(system: Any, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    numbers = itertools.chain(system.parameters(), system.buffers())
    like = next((each for each in numbers if each.is_floating_point()), torch.zeros((), dtype=torch.float64))
    drawn = [
        torch.randn(n, generator=generator, dtype=torch.float64).to(like)
        for n in (system.state_size, system.input_size)
    ]
    return drawn[0], drawn[1], torch.tensor(min(seed, 1), device=like.device)


def verify(system: Any, method: str, program: Program, linear: Any) -> None:
    """Hold the program against the step at random points, and its Jacobian against torch's once.

    Parameters
    ----------
    system : System
    method : str
    program : Program
    linear : Linear
        The program's derivative by the state.

    Raises
    ------
    NoProgram
        If they differ: numbers left the tensors on the way, or a rule of its own says what the derivative is.
    """
    code, evolve = TorchCode(program, [program.output]), getattr(system, method)
    folded = code.fold(program.constants)
    tables = [len(program.constants[o.slot]) for o in program.operations if o.name == "lookup"]
    for seed in range(1, 1 + TRIALS):
        h, x, t = _point(system, seed)
        t = t.clamp(max=min(tables, default=2) - 1)
        with torch.no_grad():
            asked = evolve(h, x, t)
        (found,) = code.values(h, x, t, program.constants, folded)
        if not _close(found, asked):
            raise NoProgram("its step computes something else than the operations that torch sees")
    with torch.enable_grad():
        own = h.clone().requires_grad_()
        value = evolve(own, x, t)
        along = torch.randn(value.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(value)
        total = (value * along).sum()  # with a gradient given for its values torch would import sympy, for a second
        (pulled,) = torch.autograd.grad(total, own, allow_unused=True) if total.requires_grad else (None,)
    expected = torch.zeros_like(h) if pulled is None else pulled
    told = linear.operator(h, x, t).apply_transpose(along.unsqueeze(-1)).squeeze(-1)
    if not _close(told, expected, least=1.0):  # torch's 1 − tanh² is rounding where a unit saturates
        raise NoProgram("its derivative by torch is not that of the operations it consists of")


def _close(found: Any, asked: Tensor, least: float = 0.0) -> bool:
    """Tell whether two results agree to half of the digits of the largest entry, or of `least` where that is larger."""
    value = torch.as_tensor(found, dtype=asked.dtype).expand(asked.shape)
    reach = float(torch.finfo(asked.dtype).eps ** 0.5)
    largest = float(asked.nan_to_num().abs().max()) if asked.numel() else 0.0
    return torch.allclose(value, asked, rtol=reach, atol=reach * max(largest, least), equal_nan=True)
