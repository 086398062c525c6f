"""A program of a small state as scalar code: loops over one workspace, compiled by numba where that is installed.

The text depends on the structure alone: stored numbers, held inputs and literals come as one array, so that one
compilation, which is kept on disk, serves all their values.
"""

import hashlib
import importlib.util
import itertools
import os
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.files import make_folder, write_text
from dynlab.program.linearise import ONE, Index, Linearisation, Place, linearise
from dynlab.program.operations import OPERATIONS
from dynlab.program.program import Program

LARGEST = 16  # states; beyond it products of matrices are faster in torch
UNROLLED = 3  # entries that are written out: a loop takes longer to compile
HEADER = """import numpy as np
from math import atan, cos, exp, expm1, log, log1p, pow, sin, sqrt, tanh
from numba import njit

"""


class Compiled(NamedTuple):
    """A step and its Jacobian as compiled functions, and what they are called with.

    Attributes
    ----------
    numbers : ndarray
        `c`: stored numbers, one after the other.
    workspace : int
        Length of `w`.
    module : module
        The generated text: ``step(h, c, w, out)`` writes the next state of `h` into `out`, ``jacobian(h, c, w, out)``
        ∂step/∂h, shape (n, n); and the loops that were asked for.
    """

    numbers: NDArray[np.float64]
    workspace: int
    module: ModuleType


def compiled(program: Program, loops: Path | None = None) -> Compiled | None:
    """Compile a held program (`Program.held`) of a step or velocity; None of a large or not scalar one, without numba.

    Parameters
    ----------
    program : Program
    loops : Path, optional
        A file of functions under ``@njit`` that call the generated ``step`` and ``jacobian`` by name; ``N`` is the
        number of states. Its text follows
        theirs in one module, so that numba keeps what it compiles on disk.
    """
    if program.size > LARGEST or importlib.util.find_spec("numba") is None:
        return None
    linear = linearise(program)
    names = {program.operations[i].name for i in program.needed(program.output, *linear.scales())}
    if any(name in OPERATIONS and not OPERATIONS[name].scalar for name in names):
        return None
    text = _Text(program, linear)
    module = _module(
        HEADER
        + f"N = {program.size}\n\n\n"
        + text.step()
        + text.jacobian()
        + (loops.read_text("utf-8") if loops else "")
    )
    return Compiled(np.concatenate(text.values), text.length, module)


def rational_matrix(program: Program) -> list[list[Fraction]] | None:
    """Return A of a program A h + c of up to three states: its text in fractions, each number as it is written.

    It is None where a stored number is rounded, and where A has more than sums, products and quotients.

    Examples
    --------
    >>> from dynlab.program.derived import derived
    >>> from dynlab.systems.equations import EquationFlow
    >>> rational_matrix(derived(EquationFlow("x/3 + 0.1*y, -x")).program)
    [[Fraction(1, 3), Fraction(1, 10)], [Fraction(-1, 1), Fraction(0, 1)]]
    """
    text, names, n = _Text(program, linearise(program)), dict[str, Any](), program.size
    exec(text.step().partition("\n")[2], names)
    columns: list[list[Fraction]] = []
    try:
        c = [Fraction(repr(each)) for each in np.concatenate(text.values).tolist()]
        for unit in range(-1, n):
            columns.append([Fraction()] * n)
            names["step"]([Fraction(i == unit) for i in range(n)], c, [Fraction()] * text.length, columns[-1])
    except (NameError, ArithmeticError, ValueError):  # a function; a division by 0; inf and NaN
        return None
    return [[column[i] - columns[0][i] for column in columns[1:]] for i in range(n)] if program.is_exact else None


class _Text:
    """Source text of a program and of its derivative.

    Every operation's result lies at a place of its own in the workspace, knots of the derivative behind them.
    """

    def __init__(self, program: Program, linear: Linearisation) -> None:
        self.program, self.linear = program, linear
        self.stored: dict[tuple[str, int], int] = {}
        self.values: list[NDArray[np.float64]] = [np.zeros(1)]  # the array `c` in parts
        self.at = list(itertools.accumulate((operation.size for operation in program.operations), initial=0))
        self.length = self.at[-1]
        self.rows = linear.rows
        self.columns = self.rows[0]
        self.knots = [0]
        for rows in self.rows[1:]:
            self.knots.append(self.length)
            self.length += rows * self.columns

    def step(self) -> str:
        """``def step(h, c, w, out)``."""
        output = self.program.output
        lines = self._evaluation(self.program.needed(output))
        lines += self._loop(self.program.size, f"out[i] = w[{self.at[output]} + i]")
        return self._function("step", lines)

    def jacobian(self) -> str:
        """``def jacobian(h, c, w, out)``."""
        lines = self._evaluation(self.program.needed(*self.linear.scales()))
        for number, knot in enumerate(self.linear.knots[1:], start=1):
            place, n = self.knots[number], self.columns
            lines += self._loop(self.rows[number] * n, f"w[{place} + i] = 0.0")
            for size, terms in knot:
                for term, d in terms.items():
                    lines += self._term(place, size, term, d)
                place += size * n
        written = f"    out[i, j] = w[{self.knots[-1]} + i * {self.columns} + j]"
        lines += self._loop(self.program.size, f"for j in range({self.columns}):", written)
        return self._function("jacobian", lines)

    def _function(self, name: str, lines: list[str]) -> str:
        body = "\n".join(f"    {line}" for line in lines)
        body = re.sub(r"\[([\d +*]+)\]", lambda place: f"[{eval(place[1])}]", body)  # sums and products of numbers
        if "for " not in body:  # numbers in registers
            body = re.sub(r"\bw\[(\d+)\]", r"w\1", body)
        return f"@njit(cache=True, error_model='numpy')\ndef {name}(h, c, w, out):\n{body}\n\n\n"

    def _loop(self, size: int, *body: str) -> list[str]:
        if size <= UNROLLED and len(body) == 1:
            return [re.sub(r"\bi\b", str(i), body[0]) for i in range(size)]
        return [f"for i in range({size}):", *(f"    {line}" for line in body)]

    def _place(self, key: tuple[str, int], values: Any) -> int:
        """Return where a stored array begins in `c`."""
        if key not in self.stored:
            self.stored[key] = sum(map(len, self.values))
            self.values.append(np.asarray(values, dtype=np.float64).ravel())
        return self.stored[key]

    def _constant(self, number: int) -> int:
        return self._place(("constant", number), self.program.constants[number].detach().cpu().double().numpy())

    def _evaluation(self, needed: list[int]) -> list[str]:
        return [line for i in needed for line in self._operation(i)]

    def _operation(self, i: int) -> list[str]:
        p, operation, at = self.program, self.program.operations[i], self.at[i]
        reads = [f"w[{self.at[k]}" + (" + i]" if p.operations[k].size > 1 else "]") for k in operation.reads]
        match operation.name:
            case "state":
                return self._loop(operation.size, f"w[{at} + i] = h[i]")
            case "number":
                return [f"w[{at}] = c[{self._place(('number', i), [operation.number])}]"]
            case "constant":
                return self._loop(operation.size, f"w[{at} + i] = c[{self._constant(operation.slot)} + i]")
            case "linear":
                size = p.operations[operation.reads[0]].size
                matrix, source = self._constant(operation.slot), self.at[operation.reads[0]]
                return self._totals(at, operation.size, size, f"c[{matrix} + i * {size} + j] * w[{source} + j]")
            case "take":
                return self._moved(at, self.at[operation.reads[0]], operation.index)
            case "join":
                lines, start = [], at
                for k in operation.reads:
                    size = p.operations[k].size
                    lines += self._loop(size, f"w[{start} + i] = w[{self.at[k]} + i]")
                    start += size
                return lines
            case "sum":
                length, source = int(operation.number), self.at[operation.reads[0]]
                return self._totals(at, operation.size, length, f"w[{source} + i * {length} + j]")
            case name:
                held = repr(operation.number)
                if operation.constant is not None:
                    held = f"c[{self._constant(operation.slot)} + i]"
                return self._loop(operation.size, f"w[{at} + i] = {OPERATIONS[name].scalar.format(*reads, c=held)}")

    def _totals(self, at: int, size: int, count: int, term: str) -> list[str]:
        """Sums of `count` terms each, which i and j number."""
        if max(size, count) <= UNROLLED:
            total = " + ".join(re.sub(r"\bj\b", str(j), term) for j in range(count))
            return self._loop(size, f"w[{at} + i] = {total or '0.0'}")
        return self._loop(
            size, "total = 0.0", f"for j in range({count}):", f"    total += {term}", f"w[{at} + i] = total"
        )

    def _moved(self, at: int, source: int, index: Index) -> list[str]:
        first = index[0] if index else 0
        if index == tuple(range(first, first + len(index))):
            return self._loop(len(index), f"w[{at} + i] = w[{source + first} + i]")
        return [f"w[{at + place}] = w[{source + k}]" for place, k in enumerate(index)]

    def _term(self, at: int, size: int, place: Place, d: int) -> list[str]:
        """Add diag(d) M K to the rows from `at` on, M spread over all entries of the knot K."""
        n, width = self.columns, self.rows[place.knot]
        scale = "1.0"
        if d != ONE:
            scale = f"w[{self.at[d]} + i]" if self.program.operations[d].size > 1 else f"w[{self.at[d]}]"
        entries = place.entries if place.entries is not None else tuple(range(width))
        if place.matrix == ONE and place.knot == 0:
            own = (scale.replace("+ i]", f"+ {row}]") for row in range(size))
            return [f"w[{at + i * n + entries[i]}] += {each}" for i, each in enumerate(own)]
        spread = np.eye(width)[list(entries)]
        if place.matrix != ONE:
            matrix = self.program.constants[place.matrix].detach().cpu().double().numpy()
            spread = (matrix if place.rows is None else matrix[list(place.rows)]) @ spread
        stored = self._place((str(place), 0), spread)
        value = f"{scale} * c[{stored} + i * {width} + j]"
        if place.knot == 0:
            return self._loop(size, f"for j in range({n}):", f"    w[{at} + i * {n} + j] += {value}")
        inner = f"        w[{at} + i * {n} + k] += value * w[{self.knots[place.knot]} + j * {n} + k]"
        return self._loop(size, f"for j in range({width}):", f"    value = {value}", f"    for k in range({n}):", inner)


def _module(text: str) -> ModuleType:
    """The text as a module in a folder of its own, where numba keeps what it compiles."""
    name = f"dynlab_step_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynlab" / "compiled"
    make_folder(home)
    path = home / f"{name}.py"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    module = sys.modules[name] = ModuleType(name)
    exec(compile(text, path, "exec"), vars(module))
    return module
