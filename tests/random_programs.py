"""Programs of random operations: all of the table, joined, summed, broadcast, with stored numbers not all exact."""

import numpy as np
import torch

from dynlab.program import Program
from dynlab.program.torch_code import TorchCode

# Functions of any number, and those of numbers above 0.
ANYWHERE = ("tanh", "sigmoid", "relu", "abs", "exp", "expm1", "sin", "cos", "atan", "erf", "softplus", "negate")
POSITIVE = ("log", "log1p", "sqrt")
POWERS = (3.0, -2.0, 2.5, -0.75, 1.0, 0.0, 7.0)
ERROR = 1e-12  # of some stored numbers


def random_program(seed: int, names: tuple[str, ...] = (*ANYWHERE, *POSITIVE)) -> Program:
    """A map of 1 to 4 numbers of 10 to 25 operations, whose results are of moderate size."""
    chance = np.random.default_rng(seed)
    n = int(chance.integers(1, 5))
    p = Program(n)
    results = [p.append("state", size=n)]

    def stored(*shape):
        return p.store(torch.from_numpy(chance.normal(0, 1, shape)), float(chance.choice([0.0, ERROR])))

    def tame(a):
        return p.append("tanh", a)

    def above_0(a):
        return p.add(p.constant(0.25), p.append("softplus", a))

    def vector(size):
        return p.append("constant", size=size, constant=stored(size))

    def fitting(a):
        size = p.operations[a].size
        fits = [b for b in results if p.operations[b].size in (1, size)]
        return [vector(size), p.constant(float(chance.normal())), fits[chance.integers(len(fits))]][chance.integers(3)]

    for _ in range(int(chance.integers(10, 26))):
        a = results[chance.integers(len(results))]
        size = p.operations[a].size
        match chance.integers(9):
            case 0:
                found = p.linear(stored(int(chance.integers(1, 6)), size), a)
            case 1:
                found = p.take(a, chance.integers(0, size, chance.integers(1, 6)))
            case 2:
                found = p.join([a, results[chance.integers(len(results))]])
                found = p.take(found, range(min(8, p.operations[found].size)))
            case 3:
                found = p.sum(a, int(chance.choice([k for k in range(1, size + 1) if size % k == 0])))
            case 4:
                name = str(chance.choice(["add", "subtract", "multiply"]))
                found = p.append(name, *chance.permutation([a, fitting(a)]).tolist())
            case 5:
                found = p.append("divide", a, above_0(fitting(a)))
            case 6:
                bias = p.store(torch.from_numpy(chance.normal(0, 0.3, int(chance.choice([1, size])))), ERROR)
                found = p.append("modrelu", a, constant=bias)
            case 7:
                found = p.append("power", above_0(tame(a)), number=float(chance.choice(POWERS)))
            case _:
                name = str(chance.choice(names))
                found = p.append(name, above_0(tame(a)) if name in POSITIVE else tame(a) if "exp" in name else a)
        results.append(found if p.operations[found].size <= 1 or chance.random() < 0.5 else tame(found))
    last = p.join([tame(each) for each in results[-3:]])
    p.output = p.linear(stored(n, p.operations[last].size), p.append("tanh", last))
    return p


def value(program: Program, state: torch.Tensor, input: torch.Tensor | None = None) -> torch.Tensor:
    """The step in floating point."""
    code = TorchCode(program, [program.output])
    given = torch.zeros(0, dtype=torch.float64) if input is None else input
    (found,) = code.values(state, given, 0, program.constants, code.fold(program.constants))
    return found.expand(program.size)
