"""What the ERNN paper's lemmas want of the inner flow, at the states that the network reaches.

References
----------
Kag, Zhang and Saligrama, arXiv 1908.08574: Lemma 1 (∇F is regular and ∂h_k/∂h_{k−1} = −I), Lemma 2 (all its
eigenvalues are negative), Theorem 2 (‖F + η∇F·F‖ < ‖F‖) and Corollary 1 (‖I + η∇F‖ < 1) along the inner iteration.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.driven import Driven
from dynlab.diagnostics.inner import iteration
from dynlab.diagnostics.inner.equilibria import InnerFlow
from dynlab.diagnostics.lapack import in_threads
from dynlab.diagnostics.step_size.flow_of import factors
from dynlab.diagnostics.step_size.rates import Rates
from dynlab.diagnostics.step_size.theory import Row, norms_of, row
from dynlab.operators import Operator, Sum
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.ernn import ERNN, IdentityPlusLowRank

RELATIVE_ERROR = 1e-10  # of the quotient and the norm of Theorem 2 and Corollary 1: of 10⁶ sums and products


def rows_of_ernn(system: ERNN, driven: Driven, rates: Rates) -> list[Row]:
    """Lemmas 1 and 2, Theorem 2, Corollary 1, and the rank that the structure of ∇F = diag(φ′)PU − I allows.

    Parameters
    ----------
    system : ERNN
        The frozen one of `driven`.
    driven : Driven
    rates : Rates
        Of ∇F at h_t.
    """
    n, times = system.state_size, rates.times
    before = torch.as_tensor(times - 1)
    old, new, inputs = driven.states[:, before], driven.states[:, before + 1], driven.inputs[:, before]
    jacobian = system.inner_jacobian(new, old, inputs)
    ranks, smallest, error = _ranks(jacobian.dense())
    most = _structural_rank(system, jacobian)
    if most is not None:  # a rank that its structure keeps below n is no matter of rounding
        smallest, error = np.where(most < n, 0.0, smallest), np.where(most < n, 0.0, error)
    gap, gap_error = norms_of(driven, times, float(system.sign))
    sign = "I" if system.sign == 1 else "(−I)"
    rows = [
        row("lemma_1", "Lemma 1: σ_min(∇F) > 0", smallest, error, 0.0, np.inf, times, strict=True),
        row("lemma_1_jacobian", f"Lemma 1: ‖∂h_k/∂h_{{k−1}} + {sign}‖₂ = 0", gap, gap_error, 0.0, 0.0, times),
        row(
            "lemma_2",
            "Lemma 2: Re λ(∇F) < 0",
            rates.value.real,
            rates.error,
            -np.inf,
            0.0,
            times,
            schema.PER_SECOND,
            True,
        ),
    ]
    rows += _along_iteration(system, old, inputs, rates)
    if most is not None:
        rows.append(row("rank", "rank ∇F ≤ inactive units + d₁", ranks, 0.0, 0.0, np.minimum(most, n), times))
    return rows


def _along_iteration(system: ERNN, old: Tensor, inputs: Tensor, rates: Rates) -> list[Row]:
    """Theorem 2 and Corollary 1 at every inner iterate g⁽⁰⁾ … g⁽ᴷ⁻¹⁾, from which a step is taken."""
    samples, times = old.shape[:2]
    flow = InnerFlow(system, old.flatten(0, 1).double().cpu(), inputs.flatten(0, 1).double().cpu())
    etas = torch.as_tensor(rates.step).repeat(1, samples)
    reached = iteration.iterates(flow, system.inner_start(flow.state), etas, len(etas))[:-1]
    nowhere = np.full(flow.state.shape, np.nan)
    found = []
    for name, words, values in (
        ("theorem_2", "Theorem 2: ‖F + η∇F·F‖/‖F‖ < 1", iteration.theorem_2(flow, reached, etas)),
        ("corollary_1", "Corollary 1: ‖I + η∇F‖₂ < 1", iteration.corollary_1(flow, reached, etas, nowhere)),
    ):
        each = values.T.reshape(samples, times, -1)
        found.append(row(name, words, each, RELATIVE_ERROR * np.abs(each), -np.inf, 1.0, rates.times, strict=True))
    return found


def _ranks(matrices: Tensor) -> tuple[NDArray[np.float64], ...]:
    """How many singular values are above n ε σ_max, the smallest one, and the error of that; shape (sample, time)."""
    stack = matrices.double().cpu().numpy()
    n = stack.shape[-1]

    def of(chunk: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        singular = np.full(chunk.shape[:2], np.nan)
        finite = np.isfinite(chunk).all(axis=(1, 2))
        singular[finite] = np.linalg.svd(chunk[finite], compute_uv=False)
        allowed = n * np.finfo(float).eps * singular[:, 0]
        return (singular > allowed[:, None]).sum(axis=1).astype(float), singular[:, -1], allowed

    found = in_threads(of, stack.reshape(-1, n, n))
    ranks, smallest, allowed = (part.reshape(stack.shape[:2]) for part in found)
    return np.where(np.isnan(smallest), np.nan, ranks), smallest, allowed


def _structural_rank(system: ERNN, jacobian: Operator) -> NDArray[np.float64] | None:
    """Inactive units + d₁, an upper bound on the rank with ReLU and P U = I + a matrix of rank d₁; else None."""
    found = factors(jacobian.first) if isinstance(jacobian, Sum) else None
    if found is None or system.activation != ACTIVATIONS["relu"] or not isinstance(system.U, IdentityPlusLowRank):
        return None
    inactive = (found.diagonal == 0).sum(dim=-1).cpu().numpy()
    return np.asarray(inactive + system.U.V.shape[1], dtype=float)
