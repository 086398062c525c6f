"""Planar systems without input: their matrices, exact, and the eight panels of the AntisymmetricRNN paper's Figure 1.

Matrices are rows of fractions, since the kind of an equilibrium is decided exactly; a system is made of them as floats.

References
----------
Chang, Chen, Haber and Chi, "AntisymmetricRNN: a dynamical system view on recurrent neural networks", ICLR 2019,
arXiv 1902.09689, section 5 and Figure 1.
"""

from dataclasses import dataclass

import torch

from dynlab.errors import unknown
from dynlab.matrices import Matrix
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.base import Euler, System
from dynlab.systems.textbook import LinearMap
from dynlab.systems.vanilla import FeedbackFlow, Vanilla

# The paper's Figure 1: Euler's step, the number of steps, and the three starts, drawn as stars.
STEP_SIZE = 0.1
STEPS = 50
STARTS = ((0.0, 0.5), (-0.5, -0.5), (0.5, -0.75))

KINDS = ("feedback", "vanilla", "linear", "flow")


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
    Panel("a", "W random (seed 12)", "random", "vanilla", 12),
    Panel("b", "W = I", "identity", "vanilla"),
    Panel("c", "W orthogonal (seed 0)", "orthogonal", "vanilla", 0),
    Panel("d", "W orthogonal (seed 1)", "orthogonal", "vanilla", 1),
    Panel("e", "W₊ = 2, −2; 0, 2", "plus", "feedback"),
    Panel("f", "W₋ = −2, 2; 0, −2", "minus", "feedback"),
    Panel("g", "W₀ = 0, −2; 2, 0", "zero", "feedback"),
    Panel("h", "W₀ − 0.15 I", "diff", "feedback"),
)


def equation(system: System) -> str:
    """Return "h′ = tanh(W h)", "h ← tanh(W h)" or "h ← W h" for a system of `planar_system`, and "" for any other."""
    cell = system.flow if isinstance(system, Euler) else system
    if isinstance(cell, LinearMap):
        return "h ← W h"
    plain = isinstance(cell, Vanilla | FeedbackFlow) and cell.input_size == 0 and not cell.b.any()
    if not plain or cell.activation != ACTIVATIONS["tanh"]:
        return ""
    return "h ← tanh(W h)" if isinstance(cell, Vanilla) else "h′ = tanh(W h)"


def planar_system(matrix: Matrix, kind: str = "feedback", step_size: float = STEP_SIZE) -> System:
    """Return the system of a matrix W, planar or of any size, without input or bias, in float64.

    Parameters
    ----------
    matrix : list of list of Fraction
        W.
    kind : {"feedback", "vanilla", "linear", "flow"}
        h ← h + ε tanh(W h), h ← tanh(W h), h ← W h, or the flow h' = tanh(W h) whose Euler step the first is.
    step_size : float
        ε of feedback.

    Returns
    -------
    System

    Raises
    ------
    UserError
        For an unknown kind, and a step size that is not positive.

    Examples
    --------
    >>> import dynlab as dl
    >>> dl.planar_system(dl.planar_matrix("diff"), "flow").state_size
    2
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
