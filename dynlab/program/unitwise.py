"""Read from a program whether the step is one product and a function of each unit: the form that training runs fast.

The step is u' = f(u, M u + d, …), where f acts on each unit by itself and d and whatever else f reads do not depend on
the state. M collects all that is linear before f. Where the step ends in a product h' = C u' and f does not read h
itself, the steps are those of u.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.program.derived import Derived
from dynlab.program.operations import OPERATIONS
from dynlab.program.program import NoProgram
from dynlab.program.torch_code import TorchCode

SCALING = ("multiply", "divide")


class Unitwise:
    """A system's steps as one product and a function of each unit.

    A unit has one coordinate in each of `groups` parts of the state: one of h, or one of x and one of z where the state
    is (x, z).

    Parameters
    ----------
    system : System

    Attributes
    ----------
    groups : int
    products : list of int
        Operations that are affine in the state: M u + d is all of them, one after the other.
    asides : list of int
        Operations that f reads beside, which depend on the input or the step's number.

    Raises
    ------
    NoProgram
        If the step has no program, or is not of this form.
    """

    def __init__(self, system: Any) -> None:
        self.made = Derived(system, stretches=False)  # whose matrix takes more operations than they do
        self.program = p = self.made.program
        self.moving = p.depends_on("state")
        by_input, timed = p.depends_on("input"), p.depends_on("time")
        self.driven = [a or b for a, b in zip(by_input, timed, strict=True)]
        self.mixed = self._affine(self.moving, self.driven)
        self.cut = self._last_function()
        self.products: list[int] = []
        self.asides: list[int] = []
        self.inside: list[int] = []  # the operations of f
        self._visit(self.cut, [k for i in p.needed(self.cut) for k in p.operations[i].reads])
        self._check()
        both = self._affine([a or b for a, b in zip(self.moving, by_input, strict=True)], timed)
        self.affine_in_input = all(i in both and not timed[i] for i in self.products)
        self.before = TorchCode(p, self.products)
        self.beside = TorchCode(p, self.asides)
        self.unit = TorchCode(p, [self.cut], given=[*self.products, *self.asides])
        self.after = TorchCode(p, [p.output], given=[self.cut])
        self.held = sorted({o.slot for o in (p.operations[i] for i in self.inside) if o.constant is not None})

    def _affine(self, moving: Sequence[bool], driven: Sequence[bool]) -> dict[int, bool]:
        """The operations that are affine in what moves, and whether they mix its entries."""
        p = self.program
        found: dict[int, bool] = {}
        for i in p.needed(p.output):
            operation = p.operations[i]
            varying = [k for k in operation.reads if moving[k]]
            still = [k for k in operation.reads if not moving[k]]
            if moving[i] and not operation.reads:
                found[i] = False
            elif varying and all(k in found for k in varying):
                linear = operation.name in ("linear", "take", "negate", "add", "subtract")
                scaled = operation.name in SCALING and still and not driven[still[0]]
                if linear or (scaled and (operation.name == "multiply" or still[0] == operation.reads[1])):
                    found[i] = operation.name == "linear" or any(found[k] for k in varying)
        return found

    def _last_function(self) -> int:
        """The operation behind which there are nothing but a product and factors; the output where there is none."""
        p, at, product = self.program, self.program.output, False
        while p.operations[at].name in ("linear", "negate", *SCALING):
            moving = [k for k in p.operations[at].reads if self.moving[k]]
            if len(moving) != 1 or any(self.driven[k] for k in p.operations[at].reads if k not in moving):
                break
            product = product or p.operations[at].name == "linear"
            at = moving[0]
        return at if product and at not in self.mixed else p.output

    def _visit(self, i: int, reads: list[int]) -> None:
        """Find what f consists of, and what it reads."""
        operation = self.program.operations[i]
        if i in (*self.products, *self.asides, *self.inside):
            return
        if not self.moving[i]:
            if self.driven[i]:
                self.asides.append(i)
            return
        moving = [k for k in operation.reads if self.moving[k]]
        shifted = operation.name in ("add", "subtract", "negate") and len(moving) == 1 and self.mixed.get(moving[0])
        if self.mixed.get(i) and not (shifted and reads.count(moving[0]) > 1):  # what is shifted twice is made once
            self.products.append(i)
            return
        for k in operation.reads:
            self._visit(k, reads)
        self.inside.append(i)

    def _check(self) -> None:
        """Raise where f is no function of each unit."""
        p = self.program
        operations = [p.operations[i] for i in self.inside]
        sizes = p.sizes([*self.products, *self.inside])
        n = min(sizes)
        known = {*OPERATIONS, "take", "join"} | ({"state"} if self.cut == p.output else set())
        kept = all(k % n == place % n for operation in operations for place, k in enumerate(operation.index))
        apart = all(operation.name in known for operation in operations) and not any(size % n for size in sizes)
        if not (self.products and kept and apart and (n > 1 or p.size == 1)):
            raise NoProgram("its step is not one product and a function of each unit")
        self.groups = p.size // n

    def constants(self) -> list[Tensor]:
        """Return the stored numbers of the parameters as they are, with their history."""
        return self.made.preamble.run(self.made.moved())

    def driving(self, constants: list[Tensor], inputs: Tensor) -> list[Tensor]:
        """Return d, shape (time, sample, pre), and the asides, under inputs of shape (time, sample, input)."""
        times = torch.arange(len(inputs), device=inputs.device).unsqueeze(-1)
        state, input = inputs.new_zeros(self.program.size), inputs.new_zeros(self.program.input_size)
        before = self._before(constants)
        if self.affine_in_input:  # one product, however many operations it was
            pre = linear(inputs, torch.func.jacrev(before, 1)(state, input), before(state, input))
        else:
            pre = before(state, inputs, times)
        return [pre, *self.beside.values(state, inputs, times, constants, self.beside.fold(constants))]

    def shared(self, constants: list[Tensor]) -> list[Any]:
        """Return what f reads that is the same at each step: tensors, and numbers."""
        return [*self.unit.fold(constants), *(constants[slot] for slot in self.held)]

    def function(self, shared: Sequence[Any]) -> Callable[[Tensor, Tensor, Sequence[Tensor]], Tensor]:
        """Return f of the state, of M u + d and of the asides, shape (..., state)."""
        split = len(shared) - len(self.held)
        held, folded = dict(zip(self.held, shared[split:], strict=True)), shared[:split]
        sizes, values = self.program.sizes(self.products), self.unit.values

        def function(state: Tensor, pre: Tensor, asides: Sequence[Tensor]) -> Tensor:
            parts = pre.split(sizes, dim=-1) if len(sizes) > 1 else (pre,)
            return values(state, None, None, held, folded, [*parts, *asides])[0]

        return function

    def matrices(self, constants: list[Tensor], like: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return M, shape (pre, state), and C, shape (state, state), where the steps are those of u with h = C u."""
        origin, input = like.new_zeros(self.program.size), like.new_zeros(self.program.input_size)
        matrix, ends = torch.func.jacrev(self._before(constants))(origin, input), self.after.fold(constants)

        def output(cut: Tensor) -> Tensor:
            return self.after.values(None, None, 0, constants, ends, [cut])[0]

        if self.cut == self.program.output:
            return matrix, None
        out = torch.func.jacrev(output)(origin)
        return matrix @ out, out

    def _before(self, constants: list[Tensor]) -> Callable[..., Tensor]:
        """Return M u + d of the state, the input and the step's number."""
        folded, sizes = self.before.fold(constants), self.program.sizes(self.products)

        def before(state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
            batch, parts = input.shape[:-1], self.before.values(state, input, t, constants, folded)
            parts = [part.expand(*batch, size) for part, size in zip(parts, sizes, strict=True)]
            return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]

        return before
