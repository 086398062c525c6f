"""Spectra of ERNN's ∇F = diag(φ') P U − I along trajectories, which Lemmas 1 and 2 assume regular and stable."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.errors import UserError
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.singular_values import rounding_of, singular_values
from dynlab.program.jacobian import Operator
from dynlab.systems import Map, frozen
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.trajectories.driven import Driven, chosen_steps, drive, in_float64
from dynlab.words import interval, number, over, share

ROUNDING = 4.0  # times ε ‖∇F‖_F: what rounding leaves in the entries of ∇F
METHOD = f"{EIGENVALUES}. The entries of ∇F are known within {ROUNDING:g} ε ‖∇F‖_F. The rank counts σ above n ε σ_max"
EPS = float(np.finfo(np.float64).eps)


@checked
def ernn_spectrum(
    system: Map,
    inputs: Any = None,
    *,
    initial_state: Any = None,
    times: int = 64,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute the eigenvalues of the inner flow's Jacobian at the states that an ERNN reaches.

    Parameters
    ----------
    system : ERNN
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default zero.
    times : int
        Number of steps of a sequence that are linearised, evenly spaced.
    inputs_description : str
        Description of the inputs for the verdict.
    dtype, device : str
        Type and device of the trajectory; eigenvalues are computed in float64 on the CPU.
    seed : int
        Seed that drew `inputs`, recorded in the settings.

    Returns
    -------
    xarray.Dataset
        ``inner_eigenvalue(sample, time, mode)`` of ∇F at g = h_t in 1/s by decreasing modulus,
        ``inner_eigenvalue_error`` of each, and ``inner_rank(sample, time)`` of ∇F.

    Raises
    ------
    UserError
        For a system that is no ERNN, and for inputs that cannot drive it.

    Notes
    -----
    Let φ = ReLU and P = U = I + V H with V H of rank d₁. In diag(φ') P U − I the row of an active unit is that of P U −
    I, whose rank is at most d₁, and the row of an inactive one is −eᵀ. So the rank is at most the number of inactive
    units plus d₁.

    References
    ----------
    Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, Lemmas 1 and 2, section 6.1
    and Figure 5.
    """
    if not isinstance(system, ERNN):
        raise UserError(f"Only an ERNN has an inner flow, got {system.name!r}; for its spectrum take dl.spectrum.")
    driven = drive(
        system, inputs, initial_state, dtype=dtype, device=device, seed=seed, inputs_description=inputs_description
    )
    steps = chosen_steps(driven.steps, times)
    # in float64 whatever the trajectory's precision: the errors below are those of this one
    jacobians = jacobians_at(system, driven, steps)[0].dense().numpy()
    values, errors, _ = eigenvalues(jacobians, ROUNDING * EPS * np.linalg.norm(jacobians, axis=(2, 3)))
    singular, mode = singular_values(jacobians), (schema.SAMPLE, schema.TIME, schema.MODE)
    rows: dict[str, tuple[Any, ...]] = {
        "inner_eigenvalue": (mode, values, "eigenvalue of φ′PU − I", schema.PER_SECOND),
        "inner_eigenvalue_error": (mode, errors, "error of the eigenvalue", schema.PER_SECOND),
        "inner_rank": (mode[:2], (singular > rounding_of(singular)[..., None]).sum(axis=-1), "rank of φ′PU − I"),
    }
    return schema.result(
        system,
        rows,
        settings=driven.settings | {"times": times},
        method=METHOD,
        verdict=lambda ds: _verdict(ds, over(driven.steps, inputs_description)),
        coords={schema.TIME: schema.time_coordinate(steps)},
        reasons=dict.fromkeys(rows, "NaN where the trajectory has diverged or the QR iteration did not converge"),
    )


def jacobians_at(system: ERNN, driven: Driven, steps: NDArray[np.int64]) -> tuple[Operator, Tensor, Tensor]:
    """Return ∇F at h_t for each t of `steps`, (sample, time), and the h_{t−1} and x_t of its flow, in float64."""
    states, given = in_float64(driven.states).cpu(), in_float64(driven.inputs).cpu()
    old, new, inputs = states[:, steps - 1], states[:, steps], given[:, steps - 1]
    return frozen(system).inner_jacobian(new, old, inputs), old, inputs


def _verdict(ds: xr.Dataset, where: str) -> str:
    values, errors, ranks = (ds[f"inner_{name}"].values for name in ("eigenvalue", "eigenvalue_error", "rank"))
    n, finite = values.shape[-1], np.isfinite(errors)
    if not finite.any():
        return f"No ∇F of {where} is finite: the trajectories diverge."
    real = values.real[finite]
    return (
        f"∇F = diag(φ′)PU − I is singular at {share(np.mean(ranks < n))} of the states over {where} (rank "
        f"{interval(ranks, 0)} of {n:,}). Its largest Re λ is {number(real.max(), 3)} per second, and "
        f"{share(np.mean(real > errors[finite]))} of its eigenvalues are unstable."
    )
