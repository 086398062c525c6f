"""Planar systems without input: their matrices, exact, and the eight panels of the AntisymmetricRNN paper's Figure 1.

Matrices are rows of fractions, since the kind of an equilibrium is decided exactly; a system is made of them as floats.

References
----------
Chang, Chen, Haber and Chi, "AntisymmetricRNN: a dynamical system view on recurrent neural networks", ICLR 2019,
arXiv 1902.09689, section 5 and Figure 1.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from dynlab.errors import UserError, unknown
from dynlab.systems.base import Euler, System
from dynlab.systems.textbook import LinearMap
from dynlab.systems.vanilla import FeedbackFlow, Vanilla
from dynlab.wording import counted

Matrix = list[list[Fraction]]

# The paper's Figure 1: Euler's step, the number of steps, and the three starts, drawn as stars.
STEP_SIZE = 0.1
STEPS = 50
STARTS = ((0.0, 0.5), (-0.5, -0.5), (0.5, -0.75))

# W₊, W₋, W₀ and W_diff = W₀ − 0.15 I of the paper's section 5.
MATRICES = {
    "plus": "2,-2;0,2",
    "minus": "-2,2;0,-2",
    "zero": "0,-2;2,0",
    "diff": "-0.15,-2;2,-0.15",
    "identity": "1,0;0,1",
}
SEEDED = ("orthogonal", "random")
KINDS = ("feedback", "vanilla", "linear", "flow")

# A decimal or a fraction; three digits of exponent are more than a float holds, and keep the fraction's integers small.
NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?)", re.IGNORECASE)


@dataclass(frozen=True)
class Panel:
    """One panel of Figure 1: its letter, a title, and what `planar_matrix` and `planar_system` make it of."""

    letter: str
    title: str
    matrix: str
    kind: str
    seed: int = 0


# The paper does not say which generator its seeds are of: (a), (c) and (d) are of its families, not its pixels. The
# seed of (a) is one whose orbits end at two fixed points near the border of the square, as the paper's do.
PANELS = (
    Panel("a", "vanilla, random (seed 12)", "random", "vanilla", 12),
    Panel("b", "vanilla, identity", "identity", "vanilla"),
    Panel("c", "vanilla, orthogonal (seed 0)", "orthogonal", "vanilla", 0),
    Panel("d", "vanilla, orthogonal (seed 1)", "orthogonal", "vanilla", 1),
    Panel("e", "feedback, W₊", "plus", "feedback"),
    Panel("f", "feedback, W₋", "minus", "feedback"),
    Panel("g", "feedback, W₀", "zero", "feedback"),
    Panel("h", "feedback, W₀ − 0.15 I", "diff", "feedback"),
)


def parse_matrix(text: str) -> Matrix:
    """The square matrix written as ``"a,b;c,d"``, exactly.

    Parameters
    ----------
    text : str
        Rows divided by semicolons, entries by commas: decimals such as ``-0.15`` or ``1e-3``, or fractions ``1/3``.

    Raises
    ------
    UserError
        For a matrix that is not square, and for an entry that is not a number.

    Examples
    --------
    >>> parse_matrix("-0.15,-2;2,-1/3")
    [[Fraction(-3, 20), Fraction(-2, 1)], [Fraction(2, 1), Fraction(-1, 3)]]
    """
    rows = [[_number(entry.strip(), text) for entry in row.split(",")] for row in text.split(";")]
    if any(len(row) != len(rows) for row in rows):
        shape = " and ".join(str(len(row)) for row in rows)
        raise UserError(
            f"The matrix {text!r} is not square: {counted(len(rows), 'row')} of {shape} entries; write it as 'a,b;c,d'."
        )
    return rows


def named_matrix(name: str, seed: int = 0) -> Matrix:
    """The 2 × 2 matrix of that name, or one of any size written as ``"a,b;c,d"``.

    Parameters
    ----------
    name : str
        A key of `MATRICES`; ``orthogonal``, uniform over rotations and reflections; ``random``, with independent
        standard normal entries; or the entries themselves.
    seed : int
        Of the last two.

    Raises
    ------
    UserError
        For an unknown name, and for entries that are not a square matrix.
    """
    if name in SEEDED:
        gaussian = np.random.default_rng(seed).standard_normal((2, 2))
        entries = gaussian if name == "random" else _orthogonal(gaussian)
        return [[Fraction(float(entry)) for entry in row] for row in entries]
    if name not in MATRICES and not re.search("[,;0-9]", name):
        raise unknown("matrix", name, [*MATRICES, *SEEDED, "entries as a,b;c,d"])
    return parse_matrix(MATRICES.get(name, name))


def planar_matrix(name: str, seed: int = 0) -> Matrix:
    """The matrix of `named_matrix`, or the error that it is not 2 × 2."""
    rows = named_matrix(name, seed)
    if len(rows) != 2:
        raise UserError(f"A planar system needs a 2 × 2 matrix, got {len(rows)} × {len(rows)}: write it as 'a,b;c,d'.")
    return rows


def planar_system(matrix: Matrix, kind: str = "feedback", step_size: float = STEP_SIZE) -> System:
    """The system of a matrix W, planar or of any size, without input or bias, in float64.

    Parameters
    ----------
    matrix : list of list of Fraction
        W.
    kind : {"feedback", "vanilla", "linear", "flow"}
        h ← h + ε tanh(W h), h ← tanh(W h), h ← W h, or the flow h' = tanh(W h) whose Euler step the first is.
    step_size : float
        ε of feedback.

    Raises
    ------
    UserError
        For an unknown kind, and a step size that is not positive.
    """
    if kind not in KINDS:
        raise unknown("kind of planar system", kind, KINDS)
    entries = [[float(entry) for entry in row] for row in matrix]
    if kind == "linear":
        return LinearMap(entries)
    cell = (Vanilla if kind == "vanilla" else FeedbackFlow)(0, len(entries), bias=False).double()
    with torch.no_grad():
        cell.W.copy_(torch.tensor(entries, dtype=torch.float64))
    cell.name = "vanilla" if kind == "vanilla" else "feedback"
    return Euler(cell, step_size) if isinstance(cell, FeedbackFlow) and kind == "feedback" else cell


def _number(entry: str, text: str) -> Fraction:
    if not NUMBER.fullmatch(entry):
        raise UserError(
            f"The matrix {text!r} has the entry {entry!r}, which is not a number: write decimals or fractions, as in "
            f"'-0.15,-2;2,-1/3'."
        )
    try:
        number = Fraction(entry)
        float(number)
    except (ZeroDivisionError, OverflowError) as error:
        raise UserError(f"The matrix {text!r} has the entry {entry!r}, which is not finite.") from error
    return number


def _orthogonal(gaussian: np.ndarray) -> np.ndarray:
    """The factor Q of Q R with a positive diagonal of R, which is uniform over the orthogonal group (Mezzadri 2007)."""
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diag(r))
