"""A flow's solution with its tangent vectors: the loops of loops.py, compiled for small states, else in Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from dynlab.numerics.arrays import Real
from dynlab.program.compiled import compiled
from dynlab.program.derived import derived
from dynlab.program.differentiation import jacobian
from dynlab.program.program import NoProgram
from dynlab.systems import Flow
from dynlab.trajectories.simulation import MOST_EVALUATIONS, check_evaluations

LOOPS = Path(__file__).parent / "loops.py"
TOLERANCE = 1e-9  # relative, of a step: of the state's largest size so far, and of the tangent vectors' norm
FIRST_STEP = 0.1  # in units of 1/‖J‖ at the start
SHORTEST_STEP = 10 * np.finfo(float).eps  # of the whole time: no shorter one moves the time
MOST_VISITED = 8_000  # states that are kept for a picture
STAGES, FASTER = 12, 40  # evaluations of a step; how many times as many take as long where they are compiled


class Loops(NamedTuple):
    """`advance` of loops.py for a flow, and the numbers and workspace of its compiled step; None where it is none."""

    flow: Flow
    advance: Callable[..., tuple[float, float, float, int, int, int]]
    numbers: tuple[Real, Real] | None


class Solution:
    """The solution of a flow, as `loops_of` it, from a state (n,), with tangent vectors (n, k).

    Attributes
    ----------
    t : float
    log_growth, bound : ndarray, shape (k,)
        Σ ln R_ii of the vectors, made orthonormal after every step, and a bound of its error.
    cut : float
        When the solution left its bound or could not be followed, inf where it did not.
    lost : bool
        True where it was cut within the bound, as no step could be taken.
    scale : float
        The largest abs(h_i) so far.
    count : int
        Number of steps.
    """

    @np.errstate(all="ignore")
    def __init__(self, loops: Loops, state: Real, vectors: Real, end: float, largest_state: float) -> None:
        from scipy.integrate import DOP853  # here, since a third of a second is long for a command that solves no flow

        self.shape, self.end, self._loops, self._largest = vectors.shape, end, loops, largest_state
        self.y = np.concatenate([state, vectors.ravel(), [0.0]])
        self.t, self.cut, self.lost, self.count, self._tried = 0.0, np.inf, False, 0, 0
        self.log_growth, self.bound = np.zeros((2, vectors.shape[1]))
        self._trail, self.scale = np.tile(state, (MOST_VISITED, 1)), float(np.abs(state).max())
        self._tableau = np.vstack([DOP853.A, DOP853.B]), np.vstack([DOP853.E5, DOP853.E3])
        size = float(np.linalg.norm(matrix_of(loops.flow, state)))
        self._length = min(end, FIRST_STEP / size) if 0 < size < np.inf else FIRST_STEP * end

    @property
    def state(self) -> Real:
        return self.y[: self.shape[0]]

    @property
    def vectors(self) -> Real:
        return self.y[self.shape[0] : -1].reshape(self.shape)

    def totals(self) -> Real:
        """Return the growth (k,), its bounds (k,), and ∫ tr J, which is ln of the volume's growth."""
        return np.array([*self.log_growth, *self.bound, self.y[-1]])

    def visited(self) -> Real:
        """Return the states after the last steps, shape (time, state)."""
        return np.roll(self._trail, -self.count - 1, axis=0)[-min(self.count + 1, MOST_VISITED) :]

    @np.errstate(all="ignore")
    def to(self, mark: float, orthonormal: bool = True) -> Real:
        """Follow the solution up to a time, where it is not cut before; return its `totals`."""
        if np.isfinite(self.cut):
            return self.totals()
        most = MOST_EVALUATIONS // STAGES * (FASTER if self._loops.numbers else 1)
        limits = SHORTEST_STEP * self.end, self._largest, most, TOLERANCE
        of_time = self.t, self._length, self.scale, mark, limits, orthonormal
        of_code = *self._tableau, *(self._loops.numbers or (None, None))
        kept = self.log_growth, self.bound, self._trail, self.count, self._tried
        found = self._loops.advance(self.y, *self.shape, *of_time, *of_code, *kept)
        self.t, self._length, self.scale, self.count, self._tried, why = found
        if why == 3:
            check_evaluations(self._loops.flow, max(MOST_EVALUATIONS + 1, STAGES * self._tried), self.t, self.end)
        self.cut, self.lost = self.t if why else np.inf, why == 2
        return self.totals()


def matrix_of(flow: Flow, state: Real) -> Real:
    """Return ∂f/∂h at a state (n,)."""
    found = jacobian(flow, torch.from_numpy(state), torch.zeros(flow.input_size, dtype=torch.float64)).dense()
    return np.asarray(found.detach().expand(len(state), len(state)))


def loops_of(flow: Flow) -> Loops:
    """Return the loops of loops.py, compiled; of states too large for that in Python, sums over entries by NumPy."""
    try:
        found = compiled(derived(flow).program.held(torch.zeros(flow.input_size, dtype=torch.float64)), LOOPS)
    except NoProgram:
        found = None
    if found is None:
        return Loops(flow, _interpreted(flow), None)
    return Loops(flow, found.module.advance, (found.numbers, np.empty(found.workspace)))


def _interpreted(flow: Flow) -> Callable[..., tuple[float, float, float, int, int, int]]:
    zero = torch.zeros(flow.input_size, dtype=torch.float64)

    def stages(y: Real, n: int, k: int, dt: float, A: Real, c: None, w: None, J: Real, rates: Real, new: Real) -> None:
        for i in range(len(A)):
            new[:] = y + dt * (A[i, :i] @ rates[:i])
            matrix = matrix_of(flow, new[:n])
            rates[i, :n] = flow.velocity(torch.from_numpy(new[:n]), zero).detach()
            rates[i, n:-1] = (matrix @ new[n:-1].reshape(n, k)).ravel()
            rates[i, -1] = np.trace(matrix)

    def estimate(rates: Real, errors: Real, first: int, last: int, length: float) -> float:
        fifth, third = ((errors @ rates[:, first:last] / length) ** 2).sum(axis=1)
        return float(fifth / np.sqrt(fifth + 0.01 * third + 1e-300))

    def orthonormalise(y: Real, n: int, k: int, logs: Real, bounds: Real) -> None:
        Q, R = np.linalg.qr(y[n:-1].reshape(n, k))
        diagonal = np.abs(np.diagonal(R))
        logs += np.log(diagonal)
        bounds += np.linalg.norm(R) / diagonal
        y[n:-1] = Q.ravel()

    names: dict[str, Any] = {"np": np, "sqrt": np.sqrt, "njit": lambda **_: lambda function: function}
    exec(compile(LOOPS.read_text("utf-8"), str(LOOPS), "exec"), names)
    names |= {"stages": stages, "estimate": estimate, "orthonormalise": orthonormalise}
    return names["advance"]
