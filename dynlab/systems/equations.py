"""Flows and maps typed as equations: ``y, -x + mu*y*(1 - x**2)``.

The text is parsed by Python's `ast` and only arithmetic, the functions of `FUNCTIONS` and names are read; nothing of it
is ever run as code.
"""

import ast
import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.systems.base import Flow, Map, System

LONGEST_NAME = 60  # letters, in titles
VARIABLES = ("x", "y", "z", "w")  # of up to four states; of more x1, x2, …
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": lambda p: torch.sin(p) / torch.cos(p),
    "atan": torch.atan,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "abs": torch.abs,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "softplus": torch.nn.functional.softplus,
}
CONSTANTS = {"pi": math.pi, "e": math.e}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class Equations(System):
    """One expression for each state.

    Parameters
    ----------
    text : str
        Expressions of the states x, y, z, w (of more than four x1, x2, …), separated by commas; ``^`` is a power.
    **numbers : float
        The values of all other names. They can be varied, as in ``dynlab.bifurcation(system, parameter="mu", …)``.

    Raises
    ------
    UserError
        For text that is no such list, and where a name has no value.
    """

    def __init__(self, text: str, **numbers: float) -> None:
        expressions = _parsed(text)
        super().__init__(len(expressions), 0)
        self.text, self.expressions = text, expressions
        self.variables = (
            VARIABLES[: self.state_size] if self.state_size <= len(VARIABLES) else _numbered(self.state_size)
        )
        used = {name for tree in self.expressions for name in _names(tree)} - {*self.variables, *CONSTANTS}
        for name in sorted(used | set(numbers)):
            if name not in numbers:
                raise UserError(f"{name} in {text!r} has no value: give it one by --set {name}=1 ({name}=1).")
            if name not in used or hasattr(self, name):
                raise UserError(
                    f"{name}={numbers[name]} sets nothing in {text!r}: leave it out, or choose another name."
                )
            setattr(self, name, float(numbers[name]))
        self.numbers = tuple(sorted(used))
        self.name = " ".join(text.split())[:LONGEST_NAME]
        self.value(torch.zeros(self.state_size), torch.zeros(0))  # says what of the text is not read

    def value(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the expressions at a state, shape (..., state)."""
        known: dict[str, Any] = dict(zip(self.variables, state.unbind(-1), strict=True))
        known |= CONSTANTS | {name: getattr(self, name) for name in self.numbers}
        zero = torch.zeros_like(state[..., 0])  # an expression may be a constant
        return torch.stack([zero + _evaluated(tree, known) for tree in self.expressions], dim=-1)


class EquationFlow(Equations, Flow):
    """The flow x' = the first expression, y' = the second and so on.

    Examples
    --------
    >>> flow = EquationFlow("y, -x + mu*y*(1 - x^2)", mu=1)
    >>> flow.velocity(torch.tensor([2.0, 1.0]).double(), torch.zeros(0)).tolist()
    [1.0, -5.0]
    """

    velocity = Equations.value


class EquationMap(Equations, Map):
    """The map x ← the first expression, y ← the second and so on.

    Examples
    --------
    >>> EquationMap("r*x*(1 - x)", r=4).step(torch.tensor([0.25]).double(), torch.zeros(0)).tolist()
    [0.75]
    """

    step = Equations.value


@functools.singledispatch
def _evaluated(tree: ast.AST, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or say what of it is not read."""
    raise UserError(f"{ast.unparse(tree)!r} is not an expression of numbers, states and {', '.join(FUNCTIONS)}.")


@_evaluated.register
def _(tree: ast.BinOp, known: Mapping[str, Any]) -> Any:
    return _operator(tree.op)(_evaluated(tree.left, known), _evaluated(tree.right, known))


@_evaluated.register
def _(tree: ast.UnaryOp, known: Mapping[str, Any]) -> Any:
    return _operator(tree.op)(_evaluated(tree.operand, known))


@_evaluated.register
def _(tree: ast.Call, known: Mapping[str, Any]) -> Any:
    name = tree.func.id if isinstance(tree.func, ast.Name) else ""
    if name not in FUNCTIONS or len(tree.args) != 1 or tree.keywords:
        raise UserError(f"{ast.unparse(tree)!r} is not one of {', '.join(FUNCTIONS)} of one argument.")
    argument = _evaluated(tree.args[0], known)
    return FUNCTIONS[name](argument if isinstance(argument, Tensor) else torch.tensor(float(argument)).double())


@_evaluated.register
def _(tree: ast.Name, known: Mapping[str, Any]) -> Any:
    return known[tree.id]


@_evaluated.register
def _(tree: ast.Constant, known: Mapping[str, Any]) -> Any:
    if isinstance(tree.value, int | float) and not isinstance(tree.value, bool):
        return float(tree.value) if isinstance(tree.value, float) else tree.value
    raise UserError(f"{tree.value!r} is not a number.")


def _operator(operation: ast.AST) -> Callable[..., Any]:
    if type(operation) not in OPERATORS:
        raise UserError("Expressions are made of + - * / and powers (** or ^).")
    return OPERATORS[type(operation)]


def _parsed(text: str) -> list[ast.expr]:
    try:
        body = ast.parse(text.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UserError(f"{text!r} is not a list of expressions such as 'y, -x + mu*y*(1 - x**2)': {error}.") from error
    return body.elts if isinstance(body, ast.Tuple) else [body]


def _names(tree: ast.AST) -> set[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def _numbered(size: int) -> tuple[str, ...]:
    return tuple(f"x{number}" for number in range(1, size + 1))
