"""The spectra of the Jacobians ∂h_t/∂h_{t−1} along driven trajectories."""

import functools
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.driven import Driven, chosen_steps, drive
from dynlab.numerics.lapack import geev, in_threads
from dynlab.systems import Euler, Map
from dynlab.wording import interval, over, ranged, share

METHOD = (
    "LAPACK's geev with left and right eigenvectors, in float64; condition 1/abs(yᴴx) of unit left and right "
    "eigenvectors: an error δ of the Jacobian moves an eigenvalue by at most condition·δ to first order; the error of "
    "an eigenvalue is 2·condition·δ with δ = n u ‖J‖_F, u the rounding unit in which J was computed, and never more "
    "than Elsner's bound (2‖J‖_F + δ)^(1−1/n) δ^(1/n), which holds for defective matrices as well"
)
METHOD_FLOW = METHOD + "; all of the flow's Jacobian A, whose eigenvalues μ give the map's 1 + ε μ"
NOT_COMPUTED = "NaN where the Jacobian is not finite (the trajectory has diverged) or the QR iteration did not converge"

BEYOND_FIRST_ORDER = 2.0  # what the first-order bound of an eigenvalue's error is multiplied by, for what is beyond
DEFECTIVE = "inf where left and right eigenvectors are orthogonal: a defective eigenvalue"


def spectrum(
    system: Map,
    inputs: Any,
    *,
    initial_state: Any = None,
    times: int = 64,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Eigenvalues of the one-step Jacobians of a map along what drives it.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input)
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    times : int
        How many steps of a sequence are linearised: evenly spaced, the first and the last among them.
    inputs_description : str
        What the inputs are, for the verdict: "16 test sequences of har2".
    dtype, device : str
        Of the trajectory and its Jacobians; eigenvalues are computed in float64 on the CPU.
    seed : int
        The one that drew `inputs`, recorded in the settings; nothing here is random.

    Returns
    -------
    xarray.Dataset
        ``eigenvalue(sample, time, mode)`` by decreasing modulus, pairs adjacent with the positive imaginary part first;
        the ``condition`` and the ``eigenvalue_error`` of each; ``spectral_radius(sample, time)``;
        ``departure_from_normality(sample, time)`` = ‖JJᵀ − JᵀJ‖_F / ‖J‖²_F. Of an `Euler` step also
        ``flow_eigenvalue``, in the same order: those of the flow's Jacobian in 1/s, with eigenvalue = 1 + ε
        flow_eigenvalue; ``flow_eigenvalue_error``; and ``spectral_abscissa(sample, time)``, the largest real part of
        them.

    Raises
    ------
    UserError
        For a flow, for inputs of the wrong width, empty or not finite, and for `times` below 1.

    References
    ----------
    Golub and Van Loan, Matrix Computations, sections 7.2.2 and 7.2.3; Elsner, Linear Algebra Appl. 71 (1985).

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = spectrum(from_function(lambda h, x: 0.5 * h, state_size=2), np.zeros((10, 0)), times=3)
    >>> ds["time"].values.tolist(), ds["spectral_radius"].values.tolist()
    ([1, 6, 10], [[0.5, 0.5, 0.5]])
    """
    driven = drive(
        system,
        inputs,
        initial_state,
        dtype=dtype,
        device=device,
        seed=seed,
        inputs_description=inputs_description,
    )
    steps = chosen_steps(driven.steps, times)
    found = _along(driven, steps)
    ds = schema.dataset(
        _variables(found),
        system=system.name,
        source=system.source,
        settings=driven.settings
        | {"times": times, "step_size": system.step_size if isinstance(system, Euler) else None},
        method=METHOD_FLOW if "flow_eigenvalue" in found else METHOD,
        coords={schema.TIME: schema.time_coordinate(steps)},
        flags=_flags(found),
    )
    ds.attrs["verdict"] = _verdict(ds, driven.steps, inputs_description)
    return ds


def _along(driven: Driven, steps: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The variables' values, the first two dimensions being sample and time."""
    flow = driven.system.flow if isinstance(driven.system, Euler) else None
    step_size = driven.system.step_size if isinstance(driven.system, Euler) else 1.0
    parts = []
    for block in driven.blocks(flow or driven.system, steps):
        stack = block.cpu().numpy().astype(np.float64)
        compute = functools.partial(_spectra, step_size, flow is not None, torch.finfo(block.dtype).eps)
        spectra = in_threads(compute, stack.reshape(-1, *stack.shape[2:]))
        parts.append([part.reshape(*stack.shape[:2], *part.shape[1:]) for part in spectra])
    joined = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    names = ("eigenvalue", "eigenvalue_error", "condition", "flow_eigenvalue", "flow_eigenvalue_error")
    found = dict(zip((*names, "departure_from_normality"), joined, strict=True))
    return found if flow is not None else {name: part for name, part in found.items() if "flow" not in name}


def _spectra(step_size: float, of_flow: bool, unit: float, matrices: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """Eigenvalues λ of each map, their errors, conditions, the flow's μ and their errors, departures from normality."""
    count, n = matrices.shape[:2]
    values, rates = np.full((count, n), np.nan, complex), np.full((count, n), np.nan, complex)
    conditions, errors, departures = np.full((count, n), np.nan), np.full((count, n), np.nan), np.full(count, np.nan)
    for index, matrix in enumerate(matrices):
        if not np.isfinite(matrix).all():
            continue
        jacobian = np.eye(n) + step_size * matrix if of_flow else matrix
        departures[index] = _departure_from_normality(jacobian)
        found, overlap, converged = geev(matrix)
        if not converged:
            continue
        multipliers = 1 + step_size * found if of_flow else found
        # Stable, so that what LAPACK puts side by side, a pair with its positive imaginary part first, stays so.
        order = np.lexsort((-multipliers.real, -np.abs(multipliers)))
        values[index], rates[index] = multipliers[order], found[order]
        with np.errstate(divide="ignore"):
            conditions[index] = 1 / overlap[order]
        errors[index] = _errors(conditions[index], matrix, unit)
    # of 1 + ε μ, whose sum and product round too
    of_map = step_size * errors + 2 * np.finfo(float).eps * np.abs(values) if of_flow else errors
    return values, of_map, conditions, rates, errors, departures


def _errors(conditions: NDArray[np.float64], matrix: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """A bound on the error of each eigenvalue of a matrix whose entries are rounded."""
    n = len(conditions)
    # a norm may overflow, and 0·∞ is that of the zero matrix, whose eigenvalues are exact
    with np.errstate(over="ignore", invalid="ignore"):
        norm = float(np.linalg.norm(matrix))
        delta = n * unit * norm
        elsner = (2 * norm + delta) ** (1 - 1 / n) * delta ** (1 / n)
        return np.fmin(BEYOND_FIRST_ORDER * conditions * delta, elsner)


def _departure_from_normality(matrix: NDArray[np.float64]) -> float:
    size = np.abs(matrix).max()
    if size == 0:
        return float("nan")
    scaled = matrix / size
    commutator = scaled @ scaled.T - scaled.T @ scaled
    return float(np.linalg.norm(commutator) / np.linalg.norm(scaled) ** 2)


def _variables(found: dict[str, NDArray[Any]]) -> dict[str, xr.Variable]:
    each, mode = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE)
    radius = np.abs(found["eigenvalue"]).max(axis=-1)
    variables = {
        "eigenvalue": schema.variable(mode, found["eigenvalue"], "eigenvalue λ of ∂h_t/∂h_{t−1}"),
        "eigenvalue_error": schema.variable(mode, found["eigenvalue_error"], "bound on the error of λ"),
        "condition": schema.variable(mode, found["condition"], "condition of the eigenvalue"),
        "spectral_radius": schema.variable(each, radius, "spectral radius of ∂h_t/∂h_{t−1}"),
        "departure_from_normality": schema.variable(
            each, found["departure_from_normality"], "departure from normality of ∂h_t/∂h_{t−1}"
        ),
    }
    if "flow_eigenvalue" in found:
        rates = found["flow_eigenvalue"]
        variables |= {
            "flow_eigenvalue": schema.variable(mode, rates, "eigenvalue of the flow's Jacobian", schema.PER_SECOND),
            "flow_eigenvalue_error": schema.variable(
                mode, found["flow_eigenvalue_error"], "bound on the error of the flow's eigenvalue", schema.PER_SECOND
            ),
            "spectral_abscissa": schema.variable(
                each, rates.real.max(axis=-1), "spectral abscissa of the flow's Jacobian", schema.PER_SECOND
            ),
        }
    return variables


def _flags(found: dict[str, NDArray[Any]]) -> dict[str, str]:
    flags = {}
    if not np.isfinite(found["eigenvalue"]).all():
        names = [*(name for name in found if name != "departure_from_normality"), "spectral_radius"]
        names += ["spectral_abscissa"] if "flow_eigenvalue" in found else []
        flags = dict.fromkeys(names, NOT_COMPUTED)
    if np.isinf(found["condition"]).any():
        reasons = [DEFECTIVE, flags.get("condition", "")]
        flags["condition"] = "; ".join(reason for reason in reasons if reason)
    if not np.isfinite(found["departure_from_normality"]).all():
        flags["departure_from_normality"] = "NaN where the Jacobian is zero or not finite"
    return flags


def _verdict(ds: xr.Dataset, steps: int, described: str) -> str:
    radius = ds["spectral_radius"].values
    finite = np.isfinite(radius)
    if not finite.any():
        return f"No Jacobian of {over(steps, described)} is finite: the trajectories diverge."
    sizes, errors = np.abs(ds["eigenvalue"].values[finite]), ds["eigenvalue_error"].values[finite]
    above, below = (sizes > 1 + errors).any(axis=-1), (sizes < 1 - errors).all(axis=-1)
    open_ = float((~above & ~below).mean())
    undecided = f", undecided at {share(open_)}" if open_ else ""
    where = "" if finite.all() else f" where it is finite, {share(finite.mean())} of them"
    text = (
        f"Over {over(steps, described)} the spectral radius of ∂h_t/∂h_{{t−1}} has the median "
        f"{ranged(radius[finite], 4)} and exceeds 1 at {share(above.mean())} of the steps linearised{where}{undecided}"
        f"; the departure from normality has the median {ranged(ds['departure_from_normality'].values)}."
    )
    if "flow_eigenvalue" in ds:
        text += f" The flow's Re λ is {interval(ds['flow_eigenvalue'].values.real)} per second."
    return text
