"""The Jacobian over a whole box of states, its uncertainty kept with its structure.

Ball arithmetic alone forgets that all entries of a row of diag(d) W move together with one d_i, and pays with ‖|W|‖ for
‖W‖. Here a derivative is

    M + Σ_k A_k S_k B_k,    S_k diagonal with entries in [−1, 1],

where every slope adds one term, its radius times the derivative's middle; only what is of second order goes into the
radii of M.
"""

from collections.abc import Sequence
from typing import NamedTuple

from flint import arb, arb_mat

from dynlab.program import Program
from dynlab.program.enclosure import Balls, assembled, enclosed_scales, identity, radii_of, sizes_of
from dynlab.program.linearise import linearise


class Structured(NamedTuple):
    """M, a matrix of balls, and the pairs (A_k, B_k)."""

    matrix: arb_mat
    terms: list[tuple[arb_mat, arb_mat]]


def jacobian_over_box(program: Program, box: list[arb]) -> tuple[list[arb], Structured]:
    """Return the step's values and its Jacobian over `box`; a ReLU's slope at 0 is anything from 0 to 1 (Clarke)."""
    value, scales = enclosed_scales(program, box, True)
    return value, assembled(linearise(program), scales, StructuredAlgebra())


class StructuredAlgebra:
    """What `dynlab.program.enclosure.assembled` does with `Structured`."""

    balls = Balls()

    def identity(self, n: int) -> Structured:
        """I of that size."""
        return Structured(identity(n), [])

    def zeros(self, rows: int, columns: int) -> Structured:
        """A matrix of zeros."""
        return Structured(arb_mat(rows, columns), [])

    def times(self, matrix: arb_mat, a: Structured) -> Structured:
        """The product of a matrix with a."""
        return Structured(matrix * a.matrix, [(matrix * left, right) for left, right in a.terms])

    def add(self, a: Structured, b: Structured) -> Structured:
        """The sum of a and b."""
        return Structured(a.matrix + b.matrix, a.terms + b.terms)

    def rows(self, a: Structured, index: Sequence[int]) -> Structured:
        """Some of the rows of a."""
        return Structured(
            self.balls.rows(a.matrix, index), [(self.balls.rows(left, index), right) for left, right in a.terms]
        )

    def stacked(self, parts: Sequence[Structured]) -> Structured:
        """The rows of all parts."""
        sizes = [part.matrix.nrows() for part in parts]
        terms = []
        for number, part in enumerate(parts):
            for left, right in part.terms:
                zeros = [arb_mat(size, left.ncols()) for size in sizes]
                zeros[number] = left
                terms.append((self.balls.stacked(zeros), right))
        return Structured(self.balls.stacked([part.matrix for part in parts]), terms)

    def scaled(self, diagonal: list[arb], a: Structured) -> Structured:
        """The rows of a, each times an entry of the diagonal."""
        middles, radii = [slope.mid() for slope in diagonal], [slope.rad() for slope in diagonal]
        centred = Structured(
            self.balls.scaled(middles, a.matrix), [(self.balls.scaled(middles, left), right) for left, right in a.terms]
        )
        if not any(radius > 0 for radius in radii):
            return centred
        # of second order: the slope's radius times all else that is uncertain
        rest = radii_of(a.matrix)
        for left, right in a.terms:
            rest += sizes_of(left) * sizes_of(right)
        spread = self.balls.scaled(radii, rest).entries()
        widened = [entry + arb(0, other.upper()) for entry, other in zip(centred.matrix.entries(), spread, strict=True)]
        matrix = arb_mat(len(diagonal), rest.ncols(), widened)
        own = self.balls.scaled(radii, identity(len(diagonal)))
        return Structured(matrix, [*centred.terms, (own, a.matrix.mid())])
