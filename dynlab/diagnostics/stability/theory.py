"""Bounds that theory gives, beside what is measured: one row a bound.

They are of the flow that a cell is a step of, where it is one, and of the factors of that flow's Jacobian.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import (
    AT_THE_BOUND,
    UNDECIDED,
    VIOLATED,
    WORST_FIRST,
    Judgement,
    judged,
)
from dynlab.driven import Driven
from dynlab.numerics.singular_values import singular_values
from dynlab.program.jacobian import Diagonal, Operator, Product, Shared
from dynlab.systems import Euler, Map
from dynlab.systems.antisymmetric import GatedFlow
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.fastrnn import FastRNN, FastRNNFlow


class JacobianFactors(NamedTuple):
    """A flow's Jacobian diag(c) M.

    Attributes
    ----------
    diagonal : Tensor, shape (..., state)
        c, the activation's slopes of an ungated cell.
    matrix : Tensor, shape (state, state)
        M.
    """

    diagonal: Tensor
    matrix: Tensor


def euler_step(system: Map) -> Euler | None:
    """The system as an Euler step of a flow, or None where it is none: FastRNN is one of size σ(α)."""
    if isinstance(system, Euler):
        return system
    if isinstance(system, FastRNN):
        step = Euler(FastRNNFlow(system), float(torch.sigmoid(system.alpha.detach().double())))
        step.config, step.source, step.recorded_inputs = system.config, system.source, system.recorded_inputs
        step.embedding, step.network_input_size = system.embedding, system.network_input_size
        return step
    return None


def factors(jacobian: Operator) -> JacobianFactors | None:
    """The diagonal c and the matrix M of a Jacobian diag(c) M, or of one matrix M; None where it is made otherwise."""
    if isinstance(jacobian, Shared):
        return JacobianFactors(torch.ones_like(jacobian.matrix[0]), jacobian.matrix)
    if isinstance(jacobian, Product) and len(jacobian.factors) == 2:
        left, right = jacobian.factors
        if isinstance(left, Diagonal) and isinstance(right, Shared):
            return JacobianFactors(left.diagonal, right.matrix)
    return None


NO_BOUND = "no bound"
SMALLEST_FACTOR = -0.25  # the infimum of σ'(p) tanh(q) + σ(p) (1 − tanh²(q)); its supremum is 1
ROUNDINGS = 4.0  # of a diagonal factor, each of half a unit


# What a row has beside its ``name``. An interval is infinite where it has no end; `margin` is that of the number that
# decides inside its own interval, negative outside, and NaN where there is no bound.
COLUMNS = {
    "quantity": "what is bounded",
    "unit": "its units",
    "theory_low": "least value that theory allows",
    "theory_high": "largest value that theory allows",
    "measured_low": "least value measured",
    "measured_high": "largest value measured",
    "margin": "margin inside the bound",
    "outcome": "outcome",
    "where_sample": "sample of the number that decides, −1: none",
    "where_step": "step t of the number that decides, −1: none",
    "violations": "numbers outside the bound",
    "compared": "numbers held against the bound",
}
BoundRow = dict[str, Any]


def row(
    name: str,
    quantity: str,
    values: NDArray[np.float64],
    errors: NDArray[np.float64] | float,
    low: NDArray[np.float64] | float,
    high: NDArray[np.float64] | float,
    times: NDArray[np.int64],
    units: str = schema.ONE,
    strict: bool = False,
) -> BoundRow:
    """Hold numbers (sample, time, …) against intervals of the same shape, NaN at states that the bound is not about.

    A number that is NaN with finite ends is not known, and makes the row undecided. Where a statement is `strict`, its
    ends do not belong to the interval: a number within its error of one is undecided, but for one exactly there.
    """
    ends = [np.broadcast_to(np.asarray(end, dtype=float), values.shape) for end in (low, high)]
    about = ~np.isnan(ends[0])
    spread = np.broadcast_to(errors, values.shape)
    known = values[about & np.isfinite(values)]
    measured = (float(known.min()), float(known.max())) if known.size else (np.nan, np.nan)
    made: BoundRow = {
        "name": name,
        "quantity": quantity,
        "unit": units,
        "theory_low": float(ends[0][about].min()),
        "theory_high": float(ends[1][about].max()),
        "measured_low": measured[0],
        "measured_high": measured[1],
        "compared": int(about.sum()),
    }
    indices = np.argwhere(about)
    found = []
    for end, is_upper in zip(ends, (False, True), strict=True):
        bounded = about & np.isfinite(end)
        if bounded.any():
            judgement = judged((values - np.where(bounded, end, 0))[about], spread[about], 0.0, is_upper)
            found.append(judgement)
    if not found:
        nothing = {"margin": np.nan, "outcome": NO_BOUND, "where_sample": -1, "where_step": -1, "violations": 0}
        return made | nothing
    if strict:
        found = [_strictly(one) for one in found]
    worst = min(found, key=lambda one: (WORST_FIRST.index(one.outcome), np.nan_to_num(one.margin, nan=np.inf)))
    at = indices[worst.index[0]]
    where = {"where_sample": int(at[0]), "where_step": int(times[at[1]])}
    violations = sum(one.violations for one in found)
    if strict:
        violations += sum(int(((values == end) & (spread == 0) & about).sum()) for end in ends)
    return made | where | {"margin": worst.margin, "outcome": worst.outcome, "violations": violations}


def _strictly(judgement: Judgement) -> Judgement:
    """With the end outside: what lies exactly on it violates, what lies within its error of it is undecided."""
    if judgement.outcome != AT_THE_BOUND:
        return judgement
    exact = judgement.margin == 0 == judgement.error
    return dataclasses.replace(judgement, outcome=VIOLATED if exact else UNDECIDED)


def rows_of_flow(
    flow: Any, factors: JacobianFactors | None, values: NDArray[np.complex128], errors: NDArray[np.float64], times: Any
) -> list[BoundRow]:
    """Re λ of diag(c) (A − γ I) lies in [−γ max c, −γ min c] for antisymmetric A and c ≥ 0; else nothing bounds it.

    Parameters
    ----------
    flow : Flow
    factors : JacobianFactors or None
        With c of shape (sample, time, state) at the states of `values` (sample, time, mode), or (state,).
    """
    real = values.real
    rows = []
    if factors is None:
        return [_unbounded("flow", "Re λ of the flow", real, errors, times)]
    c = np.broadcast_to(factors.diagonal.double().cpu().numpy(), (*values.shape[:2], values.shape[-1]))
    gamma, antisymmetric = diffusion_of(factors.matrix)
    gated = (c < 0).any(axis=-1)
    if antisymmetric and not gated.all():
        sides = -gamma * c.max(axis=-1), -gamma * c.min(axis=-1)
        low, high = (np.where(gated, np.nan, side)[..., None] for side in (np.minimum(*sides), np.maximum(*sides)))
        words = "Re λ where no factor c is negative" if gated.any() else "Re λ of the flow"
        rows.append(row("real_part", words, real, errors, low, high, times, schema.PER_SECOND))
    if antisymmetric and gated.any():
        below, above = (np.where(gated, end, np.nan)[..., None] for end in (-np.inf, np.inf))
        words = "Re λ where a factor c is negative"
        rows.append(row("real_part_gated", words, real, errors, below, above, times, schema.PER_SECOND))
    if not antisymmetric:
        rows.append(_unbounded("real_part", "Re λ of the flow (M is not A − γI)", real, errors, times))
    if isinstance(flow, GatedFlow):
        rounding = ROUNDINGS * np.finfo(np.float64).eps
        rows.append(row("factor", "diagonal factor c of the gate", c, rounding, SMALLEST_FACTOR, 1.0, times))
    return rows


def rows_of_norm(system: Map, driven: Driven, times: NDArray[np.int64]) -> list[BoundRow]:
    """‖∂h_t/∂h_{t−1}‖₂ ≤ cond(D_f) for asRNN, and ≤ σ(β) + σ(α) ‖U‖₂ for FastRNN; no row for others."""
    cell = driven.system.flow.cell if isinstance(driven.system, Euler) and isinstance(system, FastRNN) else system
    if isinstance(cell, ASRNN):
        diagonal = cell.saturation().detach().double()
        limit, words = float(diagonal.max() / diagonal.min()), "‖∂h_t/∂h_{t−1}‖₂ ≤ cond(D_f)"
    elif isinstance(cell, FastRNN):
        norm = float(torch.linalg.matrix_norm(cell.U.detach().double(), 2))
        alpha, beta = (torch.sigmoid(each.detach().double()) for each in (cell.alpha, cell.beta))
        limit = float(beta + alpha * norm)
        words = "‖∂h_t/∂h_{t−1}‖₂ ≤ σ(β) + σ(α)‖U‖₂"
    else:
        return []
    norms, errors = norms_of(driven, times)
    return [row("jacobian_norm", words, norms, errors, 0.0, limit, times)]


def norms_of(driven: Driven, times: NDArray[np.int64], shift: float = 0.0) -> tuple[NDArray[np.float64], ...]:
    """‖∂h_t/∂h_{t−1} + shift I‖₂, shape (sample, time), and a bound on the error of each."""
    parts = []
    for block in driven.blocks(driven.system, times):
        stack = block.double().cpu().numpy() + shift * np.eye(block.shape[-1])
        parts.append(singular_values(stack)[..., 0])
    norms = np.concatenate(parts, axis=1)
    unit = torch.finfo(driven.states.dtype).eps
    return norms, driven.states.shape[-1] * unit * (norms + abs(shift))


def diffusion_of(matrix: Any) -> tuple[float, bool]:
    """γ = −tr M/n, and whether M + γ I is antisymmetric up to rounding."""
    M = matrix.double().cpu().numpy()
    n = len(M)
    gamma = -float(np.trace(M)) / n
    symmetric = (M + M.T) / 2 + gamma * np.eye(n)
    # M was stored in the precision of its dtype, in which its parts were subtracted
    unit = torch.finfo(torch.float32).eps if matrix.dtype == torch.float32 else np.finfo(float).eps
    return gamma, bool(np.abs(symmetric).max() <= n * unit * max(np.abs(M).max(), abs(gamma)))


def variables(rows: Sequence[BoundRow]) -> dict[str, xr.Variable]:
    """The rows as variables over ``bound``."""
    return {name: schema.variable((schema.BOUND,), [one[name] for one in rows], text) for name, text in COLUMNS.items()}


def _unbounded(name: str, words: str, real: NDArray[np.float64], errors: Any, times: Any) -> BoundRow:
    return row(name, words, real, errors, -np.inf, np.inf, times, schema.PER_SECOND)
