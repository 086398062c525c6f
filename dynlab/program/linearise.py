"""The derivative of a program by its state or its input, as sums of row-scaled matrices.

Forward differentiation keeps the structure: the derivative of an operation is a sum of terms diag(d) M K, where d is an
operation's value (a vector for each state), M a stored matrix that all states share, and K the derivative of an earlier
operation, a `Knot`. Terms of one M and K are added up: a GRU's Jacobian is three scaled matrices and a diagonal,
and a stack's, an LSTM's or an inner iteration's is a short chain of knots. The d are themselves operations: one table
evaluates them, bounds their rounding, encloses them and writes them as source text.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from dynlab.program.operations import OPERATIONS
from dynlab.program.program import Index, Program

ONE = -1  # the number that stands for no scaling, or no matrix


class Place(NamedTuple):
    """The factors of a term: a stored matrix (or `ONE`), some of its rows, and entries `columns` of a knot."""

    matrix: int
    rows: Index | None
    knot: int
    entries: Index | None


Terms = dict[Place, int]  # to the operation that scales the rows, or ONE


Knot = list[tuple[int, Terms]]  # blocks of so many rows, each the sum of its terms; without terms zeros


@dataclass
class Linearisation:
    """Knots in order: knot 0 is the identity, the last one the derivative.

    Attributes
    ----------
    program : Program
        Extended by the operations that scale.
    knots : list of Knot
    """

    program: Program
    knots: list[Knot]

    @property
    def rows(self) -> list[int]:
        """The number of rows of each knot; that of knot 0 is the derivative's number of columns."""
        return [sum(size for size, _ in knot) for knot in self.knots]

    def terms(self) -> list[tuple[Place, int]]:
        """All terms of all knots."""
        return [term for knot in self.knots for _, terms in knot for term in terms.items()]

    def scales(self) -> list[int]:
        """Numbers of the operations that scale rows."""
        return sorted({d for _, d in self.terms() if d != ONE})


def linearise(program: Program, by: str = "state") -> Linearisation:
    """Differentiate a program, which is extended by the operations of its slopes.

    Parameters
    ----------
    program : Program
    by : {"state", "input"}
    """
    if by not in program.made:
        program.made[by] = _Differentiation(program, by).run()
    return program.made[by]


class _Differentiation:
    """The state of one forward pass: what each operation's derivative is."""

    def __init__(self, program: Program, by: str) -> None:
        self.program, self.by = program, by
        self.knots: list[Knot] = [[(program.size if by == "state" else program.input_size, {})]]
        self.needed = program.needed(program.output)
        self.uses = Counter(k for i in self.needed for k in program.operations[i].reads)
        self.derivatives: dict[int, Terms] = {}
        self.slope_of: dict[tuple[int, int], int] = {}

    def run(self) -> Linearisation:
        for i in self.needed:
            self.derivatives[i] = self._derivative(i)
            if len(self.derivatives[i]) > 1 and self.uses[i] > 1:
                self.derivatives[i] = self._tied(self.derivatives[i], self.program.operations[i].size)
        last = self.derivatives[self.program.output]
        if len(self.knots) == 1 or last != {Place(ONE, None, len(self.knots) - 1, None): ONE}:
            self._tied(last, self.program.operations[self.program.output].size)
        return Linearisation(self.program, self.knots)

    def _derivative(self, i: int) -> Terms:
        p, operation = self.program, self.program.operations[i]
        parts = [self.derivatives[k] for k in operation.reads]
        if operation.name == self.by:
            return {Place(ONE, None, 0, None): ONE}
        if not any(parts):
            return {}
        match operation.name:
            case "linear":
                knot, entries = self._source(parts[0], p.operations[operation.reads[0]].size)
                return {Place(operation.slot, None, knot, entries): ONE}
            case "take":
                return self._taken(parts[0], operation.index)
            case "join":
                self.knots.append(list(zip(p.sizes(operation.reads), parts, strict=True)))
                return {Place(ONE, None, len(self.knots) - 1, None): ONE}
            case "sum":
                return self._summed(parts[0], operation.size, int(operation.number))
        total: Terms = {}
        for read, part, slope in zip(operation.reads, parts, OPERATIONS[operation.name].slopes(p, i), strict=True):
            if part:
                wide = part if p.operations[read].size == operation.size else self._taken(part, (0,) * operation.size)
                self._add(total, {place: self._times(slope, d) for place, d in wide.items()})
        return total

    def _times(self, slope: int, d: int) -> int:
        p = self.program
        if d == ONE:
            return ONE if p.is_number(slope, 1.0) else slope
        if p.is_number(slope, -1.0):
            return p.negate(d)
        if p.is_number(d, -1.0):
            return p.negate(slope)
        return p.multiply(slope, d)

    def _add(self, total: Terms, more: Terms) -> None:
        for place, d in more.items():
            if place in total:
                a, b = (self.program.constant(1.0) if each == ONE else each for each in (total[place], d))
                total[place] = self._sum_of_scales(a, b)
            else:
                total[place] = d

    def _sum_of_scales(self, a: int, b: int) -> int:
        p = self.program
        for one, other in ((a, b), (b, a)):
            if p.operations[other].name == "negate":
                return p.subtract(one, p.operations[other].reads[0])  # 1 − σ(p) becomes σ(−p)
        return p.add(a, b)

    def _taken(self, terms: Terms, index: Index) -> Terms:
        found: Terms = {}
        for place, d in terms.items():
            if place.matrix == ONE:
                moved = place._replace(
                    entries=index if place.entries is None else tuple(place.entries[i] for i in index)
                )
            else:
                moved = place._replace(rows=index if place.rows is None else tuple(place.rows[i] for i in index))
            scale = d if d == ONE or self.program.operations[d].size == 1 else self.program.take(d, index)
            self._add(found, {moved: scale})
        return found

    def _summed(self, terms: Terms, size: int, length: int) -> Terms:
        """Groups of rows added up: one term for each place in a group."""
        found: Terms = {}
        for k in range(length):
            self._add(found, self._taken(terms, tuple(range(k, size * length, length))))
        return found

    def _tied(self, terms: Terms, size: int) -> Terms:
        """The terms as a knot, to which others refer."""
        self.knots.append([(size, terms)])
        return {Place(ONE, None, len(self.knots) - 1, None): ONE}

    def _source(self, terms: Terms, size: int) -> tuple[int, Index | None]:
        """The knot, and which of its entries, that a matrix multiplies."""
        if len(terms) == 1:
            (place, d), *_ = terms.items()
            if place.matrix == ONE and d == ONE:
                return place.knot, place.entries
        return next(iter(self._tied(terms, size))).knot, None
