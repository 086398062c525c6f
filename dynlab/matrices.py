"""Matrices by name or as text, exact: rows of fractions, since the kind of an equilibrium is decided exactly.

References
----------
Chang, Chen, Haber and Chi, "AntisymmetricRNN: a dynamical system view on recurrent neural networks", ICLR 2019,
arXiv 1902.09689, section 5.
"""

import math
import re
import unicodedata
from fractions import Fraction

import numpy as np

from dynlab.errors import UserError, unknown
from dynlab.words import counted

Matrix = list[list[Fraction]]

# W₊, W₋, W₀ and W_diff = W₀ − 0.15 I of the paper's section 5.
MATRICES = {
    "plus": "2,-2;0,2",
    "minus": "-2,2;0,-2",
    "zero": "0,-2;2,0",
    "diff": "-0.15,-2;2,-0.15",
    "identity": "1,0;0,1",
}
SIGNS = {"+": "plus", "-": "minus", "0": "zero"}  # as the paper has them, below a W
SEEDED = ("orthogonal", "random")

# A decimal or a fraction; three digits of exponent are more than a float holds, and keep the fraction's integers small.
NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?)", re.IGNORECASE)


def parse_matrix(text: str) -> Matrix:
    """Return the square matrix written as ``"a,b;c,d"``, exactly.

    Parameters
    ----------
    text : str
        Rows divided by semicolons, entries of a row by commas or by spaces alone: decimals such as ``-0.15`` or
        ``1e-3``, or fractions ``1/3``. MATLAB's ``"[a b; c d]"`` and Python's ``"[[a, b], [c, d]]"`` are read too.

    Raises
    ------
    UserError
        For a matrix that is not square, and for an entry that is not a number.

    Examples
    --------
    >>> parse_matrix("-0.15,-2;2,-1/3")
    [[Fraction(-3, 20), Fraction(-2, 1)], [Fraction(2, 1), Fraction(-1, 3)]]
    """
    entries = re.sub(r"\]\s*,\s*\[", ";", text.strip())
    entries = re.sub(r"^\[\[?(.*?)\]?\]$", r"\1", entries, flags=re.DOTALL)
    rows = [
        [_number(entry.strip(), text) for entry in (row.split(",") if "," in row else row.split() or [row])]
        for row in entries.split(";")
    ]
    if any(len(row) != len(rows) for row in rows):
        shape = " and ".join(str(len(row)) for row in rows)
        raise UserError(
            f"The matrix {text!r} is not square: {counted(len(rows), 'row')} of {shape} entries; write it as 'a,b;c,d'."
        )
    return rows


def named_matrix(name: str, seed: int = 0) -> Matrix:
    """Return the 2 × 2 matrix of that name, or one of any size written as ``"a,b;c,d"``.

    Parameters
    ----------
    name : str
        A key of `MATRICES`, or the paper's W with what it has below: ``W+``, ``W_0``, ``Wdiff``; ``orthogonal``,
        uniform over rotations and reflections; ``random``, with independent standard normal entries; or the entries
        themselves.
    seed : int
        Seed of the last two.

    Raises
    ------
    UserError
        For an unknown name, and for entries that are not a square matrix.
    """
    written = unicodedata.normalize("NFKC", name).replace("−", "-")  # subscripts as the signs that they are
    below = re.fullmatch(r"W_?\{?([-+0]|[a-z]+)\}?", written, re.IGNORECASE)
    spelled = SIGNS.get(below[1], below[1].lower()) if below else name
    name = spelled if spelled in MATRICES else name
    if name in SEEDED:
        gaussian = np.random.default_rng(seed).standard_normal((2, 2))
        entries = gaussian if name == "random" else _orthogonal(gaussian)
        return [[Fraction(float(entry)) for entry in row] for row in entries]
    if name not in MATRICES and not re.search("[,;0-9]", name):
        raise unknown("matrix", name, [*MATRICES, *SEEDED, "entries as a,b;c,d"])
    return parse_matrix(MATRICES.get(name, name))


def planar_matrix(name: str, seed: int = 0) -> Matrix:
    """Return a 2 × 2 matrix by its name, or as ``"a,b;c,d"``, exactly.

    Parameters
    ----------
    name : str
        ``plus``, ``minus``, ``zero``, ``diff`` of the AntisymmetricRNN paper (also ``W+``, ``W_0``, ``Wdiff``),
        ``identity``, ``orthogonal`` (uniform), ``random`` (standard normal entries), or the entries.
    seed : int
        Seed of the last two names.

    Returns
    -------
    list of list of Fraction

    Raises
    ------
    UserError
        For an unknown name, and for entries that are not a 2 × 2 matrix.
    """
    rows = named_matrix(name, seed)
    if len(rows) != 2:
        raise UserError(f"A planar system needs a 2 × 2 matrix, got {len(rows)} × {len(rows)}: write it as 'a,b;c,d'.")
    return rows


def _number(entry: str, text: str) -> Fraction:
    if not NUMBER.fullmatch(entry):
        raise UserError(
            f"The matrix {text!r} has the entry {entry!r}, which is not a number: write decimals or fractions, as in "
            f"'-0.15,-2;2,-1/3'."
        )
    try:
        number = Fraction(entry)
        float(number)
    except (ZeroDivisionError, OverflowError, ValueError) as error:  # ValueError: of thousands of digits
        raise UserError(f"The matrix {text!r} has the entry {entry!r}, which is no finite number.") from error
    return number


def _orthogonal(gaussian: np.ndarray) -> list[list[float]]:
    """The factor Q of Q R with a positive diagonal of R, which is uniform over the orthogonal group (Mezzadri 2007).

    Of two columns it is a rotation or a reflection. LAPACK's last bits would be another matrix on each processor.
    """
    (a, b), (c, d) = gaussian.tolist()
    length, side = math.hypot(a, c), 1.0 if a * d > b * c else -1.0
    cosine, sine = a / length, c / length
    return [[cosine, -side * sine], [sine, side * cosine]]
