"""Flows and maps typed as equations: ``y, -x + mu*y*(1 - x**2)``.

The text is parsed by Python's `ast` and only arithmetic, the functions of `FUNCTIONS` and names are read; nothing of it
is ever run as code.
"""

import ast
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
Expression = Callable[[Mapping[str, Any]], Any]  # of the values of names
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
        self.text, self.expressions = text, [_function(tree) for tree in expressions]
        numbered = tuple(f"x{number}" for number in range(1, self.state_size + 1))
        self.variables = VARIABLES[: self.state_size] if self.state_size <= len(VARIABLES) else numbered
        names = [_names(tree) for tree in expressions]
        self.constant = [place for place, read in enumerate(names) if read.isdisjoint(self.variables)]
        used = set().union(*names) - {*self.variables, *CONSTANTS}
        for name in sorted(used | set(numbers)):
            if name not in numbers:
                raise UserError(f"{name} in {text!r} has no value: give it one by --set {name}=1 ({name}=1).")
            if name in CONSTANTS:
                raise UserError(f"{name} is the number {CONSTANTS[name]:.6g} in equations: choose another name.")
            if name not in used or hasattr(self, name):
                raise UserError(
                    f"{name}={numbers[name]} sets nothing in {text!r}: leave it out, or choose another name."
                )
            setattr(self, name, float(numbers[name]))
        self.config = dict(numbers)
        self.name = " ".join(text.split())[:LONGEST_NAME]

    @property
    def state_names(self) -> tuple[str, ...]:
        return self.variables

    @property
    def json_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.config}

    def value(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the expressions at a state, shape (..., state)."""
        known: dict[str, Any] = dict(zip(self.variables, state.unbind(-1), strict=True))
        known |= self.json_config
        values = [expression(known) for expression in self.expressions]
        for place in self.constant:
            values[place] = torch.zeros_like(state[..., 0]) + values[place]
        # one coordinate after the other in memory, so that the next step reads each in one piece
        return torch.stack(values).movedim(0, -1)


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


def _function(tree: ast.AST) -> Expression:
    """Return an expression as a function of the values of its names, or say what of it is not read."""
    match tree:
        case ast.BinOp(left, operation, right) if type(operation) in OPERATORS:
            apply, a, b = OPERATORS[type(operation)], _function(left), _function(right)
            return lambda known: apply(a(known), b(known))
        case ast.UnaryOp(operation, operand) if type(operation) in OPERATORS:
            apply, a = OPERATORS[type(operation)], _function(operand)
            return lambda known: apply(a(known))
        case ast.Call(ast.Name(name), [argument], []) if name in FUNCTIONS:
            f, a = FUNCTIONS[name], _function(argument)
            return lambda known: f(p if isinstance(p := a(known), Tensor) else torch.tensor(float(p)).double())
        case ast.Name(name) if name in CONSTANTS:
            return lambda known: CONSTANTS[name]
        case ast.Name(name):
            return operator.itemgetter(name)
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            return lambda known: number
    raise UserError(
        f"{ast.unparse(tree)!r} is not an expression of numbers, states, + - * / powers (** or ^) and the functions of "
        f"one argument {', '.join(FUNCTIONS)}."
    )


def _parsed(text: str) -> list[ast.expr]:
    try:
        body = ast.parse(text.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UserError(f"{text!r} is not a list of expressions such as 'y, -x + 2*mu*y' (products with *).") from error
    return body.elts if isinstance(body, ast.Tuple) else [body]


def _names(tree: ast.AST) -> set[str]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
