"""What is known of one fixed point: its residual, fsolve's second opinion, its eigenvalues and kind."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.kinks import AT_KINK, at_kink
from dynlab.diagnostics.fixed_points.search import (
    CONTINUUM,
    CONVERGED,
    SLOW,
    UNDECIDED,
    Candidates,
    position_errors,
)
from dynlab.jacobians import displacement_matrices, held_matrices
from dynlab.numerics import fsolve_check, merging
from dynlab.numerics.eigenvalues import CIRCLE, eigenvalues_and_errors, rounding_left
from dynlab.numerics.kinds import Kind, kind_of_map
from dynlab.numerics.levenberg_marquardt import tolerance
from dynlab.systems.held import Held

if TYPE_CHECKING:
    from dynlab.proofs.certify import Certificate

NEIGHBOURING, UNVERIFIED = "neighbouring root", "unverified"
STATUSES = (CONVERGED, CONTINUUM, UNDECIDED, NEIGHBOURING, UNVERIFIED, SLOW)

Vector = NDArray[np.float64]


class Record(NamedTuple):
    """One row of the Dataset; its fields are the Dataset's variables, the certificate's where there is one."""

    state: Vector
    residual: float
    fsolve_residual: float
    fsolve_distance: float
    eigenvalues: NDArray[np.complex128]
    errors: Vector
    kind: Kind
    status: str
    certificate: "Certificate | None" = None


def records(exact: Held, found: Candidates, direction: Vector) -> list[Record]:
    """Verify and classify each candidate.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    found : Candidates
    direction : ndarray, shape (n,)
        The unit vector along which fsolve starts off the root.
    """
    states = torch.as_tensor(found.states)
    residuals = exact.displacement(states).norm(dim=-1).numpy()
    uncertain = position_errors(residuals, found.smallest, found.states)
    return [
        _record(exact, state, float(residual), kept, float(smallest), error * toward, direction)
        for state, residual, kept, smallest, error, toward in zip(
            found.states, residuals, found.kept, found.smallest, uncertain, found.directions, strict=True
        )
    ]


def order(rows: list[Record]) -> NDArray[np.int64]:
    """By status, then by the number of growing directions, then by coordinates."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    place = np.empty(len(rows), dtype=np.int64)
    place[merging.ordered(np.array([row.state for row in rows]))] = np.arange(len(rows))
    keys = [(STATUSES.index(row.status), row.kind.unstable, place[i]) for i, row in enumerate(rows)]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__))


def _record(
    exact: Held, state: Vector, residual: float, kept: str, smallest: float, uncertain: Vector, direction: Vector
) -> Record:
    is_slow = kept == SLOW
    matrix_error = 0.0 if is_slow else _matrix_error(exact, state, uncertain, direction)
    matrix = held_matrices(exact, torch.as_tensor(state)[None])[0].numpy()
    rounding = _rounding(exact, matrix, state + direction)
    eigenvalues, errors = eigenvalues_and_errors(matrix, matrix_error, border=CIRCLE, rounding=rounding)
    if is_slow:
        checked = fsolve_check.Check(state, np.nan, np.nan)
        status = kept
    else:
        checked = fsolve_check.check(*_functions(exact), state, direction)
        status = _status(kept, residual, smallest, checked)
    kind = kind_of_map(eigenvalues, errors)
    if at_kink(exact, state, matrix):
        errors, kind = np.full_like(errors, np.inf), AT_KINK._replace(undecided=len(state))
    return Record(state, residual, checked.residual, checked.distance, eigenvalues, errors, kind, status)


def _status(kept: str, residual: float, smallest: float, checked: fsolve_check.Check) -> str:
    at_root = checked.residual <= float(tolerance(torch.as_tensor(checked.state)))
    # where fsolve ended is known no better than its own residual says
    largest = max(residual, checked.residual) if at_root else residual
    if kept != CONVERGED or checked.distance <= fsolve_check.allowed_distance(largest, smallest):
        return kept
    return NEIGHBOURING if at_root else UNVERIFIED


def _functions(exact: Held) -> tuple[fsolve_check.Function, fsolve_check.Function]:
    def f(h: Vector) -> Vector:
        return exact.displacement(torch.as_tensor(h)[None])[0].numpy()

    def jacobian(h: Vector) -> Vector:
        return displacement_matrices(exact, torch.as_tensor(h)[None])[0].numpy()

    return f, jacobian


def _matrix_error(exact: Held, state: Vector, uncertain: Vector, direction: Vector) -> float:
    """By how much J changes where the root may really be: ± that far, the least certain way and an arbitrary one."""
    reach = max(float(np.linalg.norm(uncertain)), np.finfo(np.float64).eps * float(merging.scale(state)))
    shifts = np.stack([uncertain, -uncertain, reach * direction, -reach * direction])
    matrices = held_matrices(exact, torch.as_tensor(np.concatenate([state[None], state + shifts])))
    return float(torch.linalg.matrix_norm(matrices[1:] - matrices[0], 2).max())


def _rounding(exact: Held, matrix: Vector, elsewhere: Vector) -> float:
    held = [each.detach().numpy() for each in (*exact.system.parameters(), *exact.system.buffers())]
    return rounding_left(matrix, held_matrices(exact, torch.as_tensor(elsewhere)[None])[0].numpy(), held)
