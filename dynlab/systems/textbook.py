"""Systems with known answers: linear ones, the logistic and the Hénon map, Lorenz, Rössler, Markus and Yamabe.

None has an input.

References
----------
May, "Simple mathematical models with very complicated dynamics", Nature 261 (1976); Hénon, "A two-dimensional mapping
with a strange attractor", Comm. Math. Phys. 50 (1976); Lorenz, "Deterministic nonperiodic flow", J. Atmos. Sci. 20
(1963); Rössler, "An equation for continuous chaos", Phys. Lett. A 57 (1976); Markus and Yamabe, "Global stability
criteria for differential systems", Osaka Math. J. 12 (1960).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems.base import Flow, Map, System
from dynlab.systems.equations import EquationFlow, EquationMap

Matrix = Sequence[Sequence[float]]


class ByMatrix(System):
    """A h: of a flow its velocity, of a map its next state.

    Parameters
    ----------
    matrix : sequence of sequence of float
        A, row by row; kept in float64.
    """

    def __init__(self, matrix: Matrix) -> None:
        try:
            A = torch.tensor(matrix, dtype=torch.float64)  # float32 would round numbers given by hand
        except (TypeError, ValueError) as error:
            raise UserError(f"The matrix must be rows of numbers of equal length, got {matrix!r}.") from error
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not torch.isfinite(A).all():
            raise UserError(f"The matrix must be square with finite entries, got {matrix!r}.")
        super().__init__(len(A), 0)
        self.A = nn.Buffer(A)

    def value(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """A h, shape (..., state)."""
        return state @ self.A.mT


class Linear(ByMatrix, Flow):
    """h' = A h, whose equilibrium 0 has the kind of A's eigenvalues; `LinearMap` is its counterpart in discrete time.

    Parameters
    ----------
    matrix : sequence of sequence of float
        A, row by row, in 1/s; kept in float64.

    Examples
    --------
    >>> Linear([[0, 1], [-1, 0]]).velocity(torch.tensor([1.0, 0.0]).double(), torch.zeros(0)).tolist()
    [0.0, -1.0]
    """

    velocity = ByMatrix.value


class LinearMap(ByMatrix, Map):
    """h_t = A h_{t−1}, whose Lyapunov exponents are the logarithms of the moduli of A's eigenvalues.

    Parameters
    ----------
    matrix : sequence of sequence of float
        A, row by row; kept in float64.
    """

    step = ByMatrix.value


def logistic(r: float = 4.0) -> EquationMap:
    """x_t = r x (1 − x), with derivative r (1 − 2 x); at r = 4 its Lyapunov exponent is ln 2 per step."""
    return EquationMap("r*x*(1 - x)", r=r)


def henon(a: float = 1.4, b: float = 0.3) -> EquationMap:
    """(x, y) ← (1 − a x² + y, b x), whose Jacobian has the determinant −b everywhere."""
    return EquationMap("1 + y - a*x*x, b*x", a=a, b=b)


def lorenz(sigma: float = 10.0, rho: float = 28.0, beta: float = 8 / 3) -> EquationFlow:
    """The flow x' = σ (y − x), y' = x (ρ − z) − y, z' = x y − β z, with divergence −(σ + 1 + β) everywhere."""
    return EquationFlow("sigma*(y - x), x*(rho - z) - y, x*y - beta*z", sigma=sigma, rho=rho, beta=beta)


def roessler(a: float = 0.2, b: float = 0.2, c: float = 5.7) -> EquationFlow:
    """The flow x' = −y − z, y' = x + a y, z' = b + z (x − c), with divergence a − c + x.

    Its two equilibria are (a s, −s, s) with s = (c ± √(c² − 4 a b))/(2 a); they meet in a fold at c² = 4 a b.
    """
    return EquationFlow("-y - z, x + a*y, b + z*(x - c)", a=a, b=b, c=c)


class MarkusYamabe(EquationFlow):
    """y' = A(t) y, whose matrix has both eigenvalues in the left half-plane at every t, and whose solutions grow.

    A(t) = [[−1 + a c², 1 − a c s], [−1 − a c s, −1 + a s²]] with c = cos t, s = sin t has the eigenvalues
    (a − 2 ± √(a² − 4))/2 for every t; y = e^{(a−1)t} (−cos t, sin t) solves it. A clock makes it autonomous: the state
    is (y₁, y₂, c, s) with c' = −s, s' = c, and starts at c = 1, s = 0.

    Examples
    --------
    >>> import dynlab
    >>> orbit = dynlab.simulate(MarkusYamabe(), initial_state=[-1, 0, 1, 0], times=[0, 20])
    >>> round(float(torch.linalg.vector_norm(torch.tensor(orbit.trajectory.values[0, -1, :2])).log()), 6)
    10.0
    """

    def __init__(self, a: float = 1.5) -> None:
        super().__init__("(a*z*z - 1)*x + (1 - a*z*w)*y, (a*w*w - 1)*y - (1 + a*z*w)*x, -w, z", a=a)

    def initial_state(self) -> Tensor:
        """Return the clock's start beside y = 0: without it the clock would stand still."""
        return torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)

    def matrix(self, clock: Tensor) -> Tensor:
        """Return A at (cos t, sin t), shape (..., 2, 2): the derivative of y' by y."""
        states = torch.cat([torch.zeros_like(clock), clock], dim=-1)
        return jacobian(self, states, states[..., :0]).dense()[..., :2, :2]
