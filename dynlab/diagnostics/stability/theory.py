"""Bounds that theory gives, beside what is measured: one row for each bound.

The bounds are on the flow of a cell, where it has one, on the factors of that flow's Jacobian, and on ERNN's inner
flow.

References
----------
Kag, Zhang and Saligrama, arXiv 1908.08574: Lemma 1 (∇F is regular and ∂h_k/∂h_{k−1} = −I), Lemma 2 (all its
eigenvalues are negative), Theorem 2 (‖F + η∇F·F‖ < ‖F‖) and Corollary 1 (‖I + η∇F‖ < 1) along the inner iteration.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import judged
from dynlab.diagnostics.ernn.inner_flow import InnerFlow, corollary_1, iterates, theorem_2
from dynlab.diagnostics.ernn.spectrum import jacobians_at
from dynlab.numerics.singular_values import rounding_of, singular_values
from dynlab.program.jacobian import Operator
from dynlab.systems import Euler, Map, frozen
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.antisymmetric import GatedFlow
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.ernn import ERNN, IdentityPlusLowRank
from dynlab.systems.fastgrnn import FastRNN
from dynlab.trajectories.driven import Driven

SMALLEST_FACTOR = -0.25  # the infimum of σ'(p) tanh(q) + σ(p) (1 − tanh²(q)); its supremum is 1
ROUNDINGS = 4.0  # of a diagonal factor, each of half a unit

# The variables of a row beside its ``name``. An interval is infinite where it has no end.
COLUMNS = {
    "quantity": "what is bounded",
    "unit": "its units",
    "theory_low": "least value that theory allows",
    "theory_high": "largest value that theory allows",
    "measured_low": "least value measured",
    "measured_high": "largest value measured",
    "margin": "margin inside the bound of the number that decides",
    "outcome": "outcome",
    "where_sample": "sample of the number that decides",
    "where_step": "step t of the number that decides",
    "violations": "numbers outside the bound",
    "compared": "numbers held against the bound",
}
BoundRow = dict[str, Any]


def row(
    name: str,
    quantity: str,
    values: NDArray[np.float64],
    errors: ArrayLike,
    interval: tuple[ArrayLike, ArrayLike],
    times: NDArray[np.int64],
    units: str = schema.ONE,
    *,
    strict: bool = False,
) -> BoundRow:
    """Hold numbers (sample, time, …) against intervals of the same shape, NaN at states that the bound is not about.

    A number that is NaN makes the row undecided. The ends of a `strict` interval do not belong to it: a number within
    its error of one is undecided, and a number exactly there violates it.
    """
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), values.shape) for end in interval)
    found, index = judged(values, errors, low, high, strict=strict)
    about = ~np.isnan(low)
    known = np.where(about & np.isfinite(values), values, np.nan)
    return found | {
        "name": name,
        "quantity": quantity,
        "unit": units,
        "theory_low": float(low[about].min()),
        "theory_high": float(high[about].max()),
        "measured_low": float(np.fmin.reduce(known, axis=None)),
        "measured_high": float(np.fmax.reduce(known, axis=None)),
        "where_sample": index[0],
        "where_step": int(times[index[1]]),
    }


def rows_of_flow(
    flow: Any,
    diagonals: NDArray[np.float64],
    matrix: Tensor,
    values: NDArray[np.complex128],
    errors: NDArray[np.float64],
    times: NDArray[np.int64],
) -> list[BoundRow]:
    """Return the rows on Re λ of diag(c) (A − γ I), and on the factors c of a gated flow.

    Re λ lies in [−γ max c, −γ min c] for antisymmetric A and c ≥ 0; else nothing bounds it. `diagonals` are c, (sample,
    time, state), and `matrix` is A − γ I.
    """
    gamma, antisymmetric = diffusion_of(matrix)
    gated, rows = (diagonals < 0).any(axis=-1), []
    if antisymmetric and not gated.all():
        ends = -gamma * np.array([diagonals.max(axis=-1), diagonals.min(axis=-1)])
        low, high = np.where(gated, np.nan, np.sort(ends, axis=0))[..., None]
        words = "Re λ where no factor c is negative" if gated.any() else "Re λ of the flow"
        rows.append(row("real_part", words, values.real, errors, (low, high), times, schema.PER_SECOND))
    if isinstance(flow, GatedFlow):
        rounding = ROUNDINGS * np.finfo(np.float64).eps
        words = "diagonal factor c of the gate"
        rows.append(row("factor", words, diagonals, rounding, (SMALLEST_FACTOR, 1.0), times))
    return rows


def rows_of_norm(system: Map, driven: Driven, times: NDArray[np.int64]) -> list[BoundRow]:
    """Return the row of ‖∂h_t/∂h_{t−1}‖₂ ≤ cond(D_f) of an asRNN, ≤ σ(β) + σ(α) ‖U‖₂ of a FastRNN; none of others."""
    cell = driven.system.flow.cell if isinstance(driven.system, Euler) and isinstance(system, FastRNN) else system
    if isinstance(cell, ASRNN):
        diagonal = cell.saturation().detach().double()
        limit, words = float(diagonal.max() / diagonal.min()), "‖∂h_t/∂h_{t−1}‖₂ ≤ cond(D_f)"
    elif isinstance(cell, FastRNN):
        norm = float(torch.linalg.matrix_norm(cell.U.detach().double(), 2))
        alpha, beta = (torch.sigmoid(each.detach().double()) for each in (cell.alpha, cell.beta))
        limit, words = float(beta + alpha * norm), "‖∂h_t/∂h_{t−1}‖₂ ≤ σ(β) + σ(α)‖U‖₂"
    else:
        return []
    norms, errors = norms_of(driven, times)
    return [row("jacobian_norm", words, norms, errors, (0.0, limit), times)]


def norms_of(driven: Driven, times: NDArray[np.int64], shift: float = 0.0) -> tuple[NDArray[np.float64], ...]:
    """Return ‖∂h_t/∂h_{t−1} + shift I‖₂, shape (sample, time), and a bound on the error of each."""
    n = driven.states.shape[-1]
    blocks = (block.double().cpu().numpy() + shift * np.eye(n) for block in driven.blocks(driven.system, times))
    norms = np.concatenate([singular_values(stack)[..., 0] for stack in blocks], axis=1)
    return norms, n * torch.finfo(driven.states.dtype).eps * (norms + abs(shift))


def diffusion_of(matrix: Tensor) -> tuple[float, bool]:
    """Return γ = −tr M/n, and whether M + γ I is antisymmetric up to rounding."""
    M = matrix.double().cpu().numpy()
    n = len(M)
    gamma = -float(np.trace(M)) / n
    symmetric = (M + M.T) / 2 + gamma * np.eye(n)
    # M was stored in the precision of its dtype, in which its parts were subtracted
    unit = torch.finfo(matrix.dtype).eps
    return gamma, bool(np.abs(symmetric).max() <= n * unit * max(np.abs(M).max(), abs(gamma)))


RELATIVE_ERROR = 1e-10  # of the quotient and the norm of Theorem 2 and Corollary 1: of 10⁶ sums and products


def rows_of_ernn(
    system: ERNN,
    driven: Driven,
    rates: tuple[NDArray[np.complex128], NDArray[np.float64]],
    etas: NDArray[np.float64],
    times: NDArray[np.int64],
) -> list[BoundRow]:
    """Return the rows of Lemmas 1 and 2, Theorem 2, Corollary 1, and the rank that ∇F = diag(φ′)PU − I allows.

    `rates` are the eigenvalues of ∇F at h_t and their errors, (sample, time, mode), and `etas` is (K, time).
    """
    jacobian, old, inputs = jacobians_at(system, driven, times)
    singular = singular_values(jacobian.dense().numpy())
    smallest, error = singular[..., -1], rounding_of(singular)
    ranks = np.where(np.isnan(smallest), np.nan, (singular > error[..., None]).sum(axis=-1))
    most = _structural_rank(system, jacobian)
    if most is not None:  # a ∇F whose structure keeps its rank below n is exactly singular
        smallest, error = (np.where(most < system.state_size, 0.0, each) for each in (smallest, error))
    gap, one_factor = norms_of(driven, times, float(system.sign))
    gap_words = f"Lemma 1: ‖∂h_k/∂h_{{k−1}} + {'I' if system.sign == 1 else '(−I)'}‖₂ = 0"
    below_0 = (-np.inf, 0.0)
    rows = [
        row("lemma_1", "Lemma 1: σ_min(∇F) > 0", smallest, error, (0.0, np.inf), times, strict=True),
        row("lemma_1_jacobian", gap_words, gap, (1 + system.inner_steps) * one_factor, (0.0, 0.0), times),
        row(
            "lemma_2", "Lemma 2: Re λ(∇F) < 0", rates[0].real, rates[1], below_0, times, schema.PER_SECOND, strict=True
        ),
        *_along_iteration(frozen(system), old, inputs, etas, times),
    ]
    if most is not None:
        limit = np.minimum(most, system.state_size)
        rows.append(row("rank", "rank ∇F ≤ inactive units + d₁", ranks, 0.0, (0.0, limit), times))
    return rows


def _along_iteration(
    system: ERNN, old: Tensor, inputs: Tensor, etas: NDArray[np.float64], times: NDArray[np.int64]
) -> list[BoundRow]:
    """Return the rows of Theorem 2 and Corollary 1 at every inner iterate g⁽⁰⁾ … g⁽ᴷ⁻¹⁾, from which a step is taken."""
    states, given, steps = old.flatten(0, 1), inputs.flatten(0, 1), torch.as_tensor(etas).repeat(1, len(old))
    flow, found = InnerFlow(system, states, given), []
    reached = iterates(flow, system.inner_start(states), steps, len(steps))[:-1]
    for name, words, part in (
        ("theorem_2", "Theorem 2: ‖F + η∇F·F‖/‖F‖ < 1", theorem_2(flow, reached, steps)),
        ("corollary_1", "Corollary 1: ‖I + η∇F‖₂ < 1", corollary_1(flow, reached, steps)),
    ):
        each = part.T.reshape(*old.shape[:2], -1)
        # at an equilibrium F is rounding, and its quotient says nothing
        arrived = np.isnan(each) & torch.isfinite(old).all(dim=-1, keepdim=True).numpy()
        if not arrived.all():
            interval = (np.where(arrived, np.nan, -np.inf), 1.0)
            found.append(row(name, words, each, RELATIVE_ERROR * np.abs(each), interval, times, strict=True))
    return found


def _structural_rank(system: ERNN, jacobian: Operator) -> NDArray[np.float64] | None:
    """Return inactive units + d₁, an upper bound on the rank with ReLU and P U = I + a matrix of rank d₁; else None."""
    if system.activation != ACTIVATIONS["relu"] or not isinstance(system.U, IdentityPlusLowRank):
        return None
    transition = jacobian.dense() + torch.eye(system.state_size).to(system.W)
    inactive = (transition == 0).all(dim=-1).sum(dim=-1).cpu().numpy()
    return np.asarray(inactive + system.U.V.shape[1], dtype=float)
