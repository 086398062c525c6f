"""The origin of a planar system whose Jacobian there is known in rational numbers: its exact kind, and what follows.

References
----------
Strogatz, Nonlinear Dynamics and Chaos, section 6.3, on what a linearisation tells and what it does not.
"""

from dataclasses import dataclass

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.numerics.exact_kinds import Matrix, exact_kind
from dynlab.numerics.kinds import CENTER, LINE, PLANE, Kind

BORDER = (CENTER, "equilibria", "period-2")  # words of the kinds that a nonlinear term may change


@dataclass(frozen=True)
class Origin:
    """The exact Jacobian at the origin.

    Attributes
    ----------
    matrix : sequence of two rows of two Fractions
        A, the Jacobian there.
    is_linear : bool
        True where the system is A itself.
    is_tanh : bool
        True of the flow h' = tanh(A h).
    """

    matrix: Matrix
    is_linear: bool
    is_tanh: bool

    @property
    def array(self) -> Real:
        """A in floating-point numbers."""
        return np.array([[float(entry) for entry in row] for row in self.matrix])

    @property
    def weights(self) -> Real | None:
        """Weights c of H = Σ cᵢ log cosh (A h)ᵢ, which h' = tanh(A h) conserves where A = (0, b; −c, 0), b c > 0."""
        (a, b), (c, d) = self.matrix
        conserves = self.is_tanh and not a and not d and b * c < 0
        return np.abs([float(c), float(b)]) / max(abs(float(b)), abs(float(c))) if conserves else None

    def kind(self, matrix: Matrix, is_map: bool) -> Kind:
        """Return the kind of the system, or with ``I + ε A`` for `matrix` that of Euler's map of it.

        A nonlinear system has the kind of its linearisation but on the border of stability. There tanh(A h) is still 0
        along the null space of A, and a flow that conserves H is a center.
        """
        kind = exact_kind(matrix, is_map)
        rests = self.is_tanh and kind.name in {LINE, PLANE}
        circles = not is_map and kind.name == CENTER and self.weights is not None
        if self.is_linear or rests or circles or not any(word in kind.name for word in BORDER):
            return kind
        return Kind(f"linear {kind.name}, undecided", 0 if kind.unstable else -1, kind.unstable, 2 - kind.unstable)
