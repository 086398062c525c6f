"""Theory's bounds on the ERNN paper's inner flow, at the states that the network reaches.

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
from dynlab.diagnostics.ernn import iteration
from dynlab.diagnostics.ernn.equilibria import InnerFlow
from dynlab.diagnostics.stability.theory import BoundRow, factors, norms_of, row
from dynlab.driven import NUMBERS_AT_ONCE, Driven, in_float64
from dynlab.numerics.singular_values import rounding_of, singular_values
from dynlab.operators import Operator, Sum
from dynlab.systems import frozen
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.ernn import ERNN, IdentityPlusLowRank

RELATIVE_ERROR = 1e-10  # of the quotient and the norm of Theorem 2 and Corollary 1: of 10⁶ sums and products


def rows_of_ernn(
    system: ERNN,
    driven: Driven,
    rates: tuple[NDArray[np.complex128], NDArray[np.float64]],
    etas: NDArray[np.float64],
    times: NDArray[np.int64],
) -> list[BoundRow]:
    """Lemmas 1 and 2, Theorem 2, Corollary 1, and the rank that the structure of ∇F = diag(φ′)PU − I allows.

    Parameters
    ----------
    system : ERNN
    driven : Driven
    rates : tuple of ndarray, shape (sample, time, mode)
        The eigenvalues of ∇F at h_t and their errors.
    etas : ndarray, shape (K, time)
    times : ndarray of int, shape (time,)
    """
    exact, before = frozen(system), torch.as_tensor(times - 1)
    states, given = in_float64(driven.states).cpu(), in_float64(driven.inputs).cpu()
    old, new, inputs = states[:, before], states[:, before + 1], given[:, before]
    jacobian = exact.inner_jacobian(new, old, inputs)
    singular = singular_values(jacobian.dense().numpy())
    smallest, error = singular[..., -1], rounding_of(singular)
    ranks = np.where(np.isnan(smallest), np.nan, (singular > error[..., None]).sum(axis=-1))
    most = _structural_rank(system, jacobian)
    if most is not None:  # a ∇F whose structure keeps its rank below n is exactly singular
        smallest, error = (np.where(most < system.state_size, 0.0, each) for each in (smallest, error))
    gap, one_factor = norms_of(driven, times, float(system.sign))
    gap_error = (1 + system.inner_steps) * one_factor  # a product of K factors
    gap_words = f"Lemma 1: ‖∂h_k/∂h_{{k−1}} + {'I' if system.sign == 1 else '(−I)'}‖₂ = 0"
    below_0 = (-np.inf, 0.0)
    rows = [
        row("lemma_1", "Lemma 1: σ_min(∇F) > 0", smallest, error, (0.0, np.inf), times, strict=True),
        row("lemma_1_jacobian", gap_words, gap, gap_error, (0.0, 0.0), times),
        row(
            "lemma_2", "Lemma 2: Re λ(∇F) < 0", rates[0].real, rates[1], below_0, times, schema.PER_SECOND, strict=True
        ),
        *_along_iteration(exact, old, inputs, etas, times),
    ]
    if most is not None:
        limit = np.minimum(most, system.state_size)
        rows.append(row("rank", "rank ∇F ≤ inactive units + d₁", ranks, 0.0, (0.0, limit), times))
    return rows


def _along_iteration(
    system: ERNN, old: Tensor, inputs: Tensor, etas: NDArray[np.float64], times: NDArray[np.int64]
) -> list[BoundRow]:
    """Theorem 2 and Corollary 1 at every inner iterate g⁽⁰⁾ … g⁽ᴷ⁻¹⁾, from which a step is taken."""
    states, given, steps = old.flatten(0, 1), inputs.flatten(0, 1), torch.as_tensor(etas).repeat(1, len(old))
    parts: list[list[NDArray[np.float64]]] = [[], []]
    for block in torch.arange(len(states)).split(max(1, NUMBERS_AT_ONCE // system.state_size**2)):
        flow = InnerFlow(system, states[block], given[block])
        reached = iteration.iterates(flow, system.inner_start(flow.state), steps[:, block], len(steps))[:-1]
        parts[0].append(iteration.theorem_2(flow, reached, steps[:, block]))
        parts[1].append(iteration.corollary_1(flow, reached, steps[:, block]))
    found = []
    for name, words, part in (
        ("theorem_2", "Theorem 2: ‖F + η∇F·F‖/‖F‖ < 1", parts[0]),
        ("corollary_1", "Corollary 1: ‖I + η∇F‖₂ < 1", parts[1]),
    ):
        each = np.concatenate(part, axis=1).T.reshape(*old.shape[:2], -1)
        # at an equilibrium F is rounding, and its quotient says nothing
        arrived = np.isnan(each) & torch.isfinite(old).all(dim=-1, keepdim=True).numpy()
        if not arrived.all():
            interval = (np.where(arrived, np.nan, -np.inf), 1.0)
            found.append(row(name, words, each, RELATIVE_ERROR * np.abs(each), interval, times, strict=True))
    return found


def _structural_rank(system: ERNN, jacobian: Operator) -> NDArray[np.float64] | None:
    """Inactive units + d₁, an upper bound on the rank with ReLU and P U = I + a matrix of rank d₁; else None."""
    found = factors(jacobian.first) if isinstance(jacobian, Sum) else None
    if found is None or system.activation != ACTIVATIONS["relu"] or not isinstance(system.U, IdentityPlusLowRank):
        return None
    inactive = (found.diagonal == 0).sum(dim=-1).cpu().numpy()
    return np.asarray(inactive + system.U.V.shape[1], dtype=float)
