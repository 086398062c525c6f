"""Where two branches meet: the kind of the branch point, and the direction in which the other branch leaves.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977) (the algebraic branching equation).
"""

from typing import NamedTuple

import numpy as np
import torch

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.extended import Refined

PITCHFORK, TRANSCRITICAL, DEGENERATE = "pitchfork", "transcritical", "degenerate"
FLAT = 1e-6  # times the larger: a branching equation with a smaller eigenvalue does not say where branches leave
UPRIGHT = 1e-5  # of a unit tangent: a branch with a smaller parameter component leaves to one side of the parameter
SAME = 0.9  # the cosine between the tangent of the branch that is known and the root that must be it


class Meeting(NamedTuple):
    """A branch point: its kind, and the unit tangent (n + 1,) of the other branch, None where it is not known."""

    kind: str
    other: Vector | None


def meeting(curve: SolutionCurve, refined: Refined, tangent: Vector) -> Meeting:
    """Return what meets at a branch point of a branch that has this tangent nearby.

    Notes
    -----
    With φ_1, φ_2 spanning the null space of G_z and w its left null vector, the tangents α_1 φ_1 + α_2 φ_2 solve
    Σ a_ij α_i α_j = 0, a_ij = wᵀ G_zz φ_i φ_j. Where one of them has no parameter component the quadratic coefficient
    of the normal form is 0, and the point is a pitchfork; else it is transcritical. Where a has an eigenvalue that is
    as good as 0, branches touch or more than two of them meet: it is degenerate. What an imperfection below rounding
    does is not seen.
    """
    basis = np.linalg.svd(curve.derivative(refined.z))[2][-2:]
    w, origin, directions = (torch.from_numpy(each.copy()) for each in (refined.left.real, refined.z, basis))

    def along(alpha: torch.Tensor) -> torch.Tensor:
        z = origin + alpha @ directions
        state, p = z[:-1] * torch.from_numpy(curve.scale), curve.start + curve.width * z[-1]
        return w @ curve.equation.residual(state, p)

    a = torch.autograd.functional.hessian(along, torch.zeros(2, dtype=torch.float64)).numpy()
    discriminant, curved = a[0, 1] ** 2 - a[0, 0] * a[1, 1], np.abs(np.linalg.eigvalsh(a))
    if discriminant <= 0 or curved.min() <= FLAT * curved.max():
        return Meeting(DEGENERATE, None)
    q = -(a[0, 1] + np.copysign(np.sqrt(discriminant), a[0, 1]))
    roots = [np.array([q, a[0, 0]]), np.array([a[1, 1], q])]
    tangents = [root @ basis / np.linalg.norm(root) for root in roots]
    other, known = sorted(tangents, key=lambda one: abs(float(one @ tangent)))
    kind = PITCHFORK if min(abs(other[-1]), abs(known[-1])) <= UPRIGHT else TRANSCRITICAL
    return Meeting(kind, other if abs(float(known @ tangent)) > SAME else None)
