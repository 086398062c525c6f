"""The end-to-end Jacobian ∂h_t/∂h_0: what a whole sequence does to a small change of its initial state."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.gradient.survival import SURVIVES, sized, surviving
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.graded_moduli import log_determinant, log_moduli
from dynlab.numerics.graded_product import KNOWN, GradedProduct, accumulate, number_from, of_matrix, resolved
from dynlab.numerics.plain_product import ENOUGH, FAILING, plain_products, plain_singular_values
from dynlab.numerics.singular_values import log_singular_values
from dynlab.numerics.threads import in_threads, one_torch_thread
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import Driven, chosen_steps, drive
from dynlab.words import over, ranged

NEGLIGIBLE = 1e-6  # of ln(effective rank): what modes that are not resolved may contribute to it
LONG_NAMES = {  # of the variables, in the order in which they are computed
    "log_singular_value": "ln σ, singular values of ∂h_t/∂h_0",
    "error_bound": "bound of the error of ln σ",
    "resolved": "resolved modes of ∂h_t/∂h_0",
    "surviving": f"directions that survive, σ ≥ {SURVIVES}",
    "effective_rank": "effective rank of ∂h_t/∂h_0",
    "log_mean_modulus": "ln of the mean modulus of the eigenvalues of ∂h_t/∂h_0",
    "log_std_modulus": "ln of the standard deviation of these moduli",
    "mean_log_modulus": "mean logarithm of the modulus of the eigenvalues of ∂h_t/∂h_0",
    "mean_log_modulus_error": "bound on the error of that mean logarithm",
}
OF_MODES, SURVIVING = 2, 3  # of the variables, the first, which have a value for each mode
METHOD = (
    "The product is one matrix where that resolves all modes of a sample. The bound of its error comes from random "
    f"vectors that are carried along, and holds but for a probability of {FAILING:g}. In other samples it is kept as Q "
    "e^d T (QR with the columns sorted at every step), and its singular values come from one-sided Jacobi in log "
    f"scale. A mode is resolved where the bound of its error is at most {KNOWN:g}, or this share of ln σ. Of Q "
    "e^d T that bound sums |Q'ᵀ| E |Q| |R⁻¹| at first order, with its running maximum over the sorted modes. Of both "
    "the smaller is taken. The eigenvalues are those of e^(d/2) "
    "T Q e^(d/2)"
)
NOT_RESOLVED = "NaN where the mode is not resolved: the bound of its error is too large"
EXACTLY_ZERO = "-inf where the Jacobian is exactly singular: the singular value is 0"
DIVERGED = "NaN from the first Jacobian that is not finite: the trajectory has diverged"


@checked
def end_to_end(
    system: Map,
    inputs: Any = None,
    *,
    initial_state: Any = None,
    times: int = 32,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Singular values and eigenvalue moduli of ∂h_t/∂h_0 along what drives a map, in log scale.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Those recorded with the system where there are none (`dynlab.from_module` with a batch).
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    times : int
        At how many steps t the product is analysed: evenly spaced in 1 … T, T always among them. It is accumulated over
        all steps whatever `times` is.
    inputs_description : str
        What the inputs are, for the verdict: "16 test sequences of har2".
    dtype, device : str
        Of the trajectory and its Jacobians; they are multiplied in float64, and the product is analysed on the CPU.
    seed : int
        Draws the change that tells how well the eigenvalues are determined.

    Returns
    -------
    xarray.Dataset
        ``log_singular_value(sample, time, mode)``, decreasing, NaN for modes that are not resolved, with the
        ``error_bound`` of each. ``resolved(sample, time)``, how many are resolved (exact zeros, −inf, among them).
        ``surviving``, how many resolved singular values are at least 0.1. ``effective_rank`` = exp(−Σ p ln p) with p =
        σ/Σσ. ``log_mean_modulus`` and ``log_std_modulus``, ln of the mean and of the standard deviation of the
        eigenvalues' moduli. ``mean_log_modulus`` = Σ ln abs(det J_s) / n, the mean of their logarithms, with
        ``mean_log_modulus_error``.

    Raises
    ------
    UserError
        For a flow, for inputs of the wrong width, empty or not finite, and for `times` below 1.

    References
    ----------
    Chang, Chen, Haber and Chi, "AntisymmetricRNN", ICLR 2019, Figure 2 (mean and standard deviation of the moduli).

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> shrink = from_function(lambda h, x: h * h.new_tensor([0.5, 1e-3]), state_size=2)
    >>> ds = end_to_end(shrink, np.zeros((100, 0)), times=1)
    >>> (ds["log_singular_value"].values / 100).round(3).tolist()
    [[[-0.693, -6.908]]]
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
    found = _along(driven, steps, seed)
    ds = schema.dataset(
        _variables(found),
        system=system.name,
        source=system.source,
        settings=driven.settings | {"times": times},
        method=METHOD,
        coords={schema.TIME: schema.time_coordinate(steps)},
        flags=_flags(found),
    )
    ds.attrs["verdict"] = _verdict(ds, driven.steps, inputs_description)
    return ds


def _along(driven: Driven, steps: Index, seed: int) -> dict[str, NDArray[Any]]:
    """Return the variables' values, (sample, time, ...): by plain products, with graded ones where these fail."""
    samples = len(driven.states)
    failing = FAILING / (samples * len(steps))

    def several(some: slice) -> tuple[NDArray[Any], ...]:
        return _by_plain_products(driven.of(some), steps, failing, seed)

    known, *plain = in_threads(several, samples)
    rest = np.flatnonzero(~known)
    found = dict(zip(LONG_NAMES, plain, strict=True))
    if rest.size:
        bounds = tuple(each[rest] for each in plain[:OF_MODES]), plain[SURVIVING][rest]
        with one_torch_thread():
            graded = _by_graded_products(driven.of(rest), steps, seed, *bounds)
        for name, each in zip(LONG_NAMES, graded, strict=True):
            found[name][rest] = each
    found["resolved"] = found["resolved"].astype(np.int64)
    return found


def _by_plain_products(driven: Driven, steps: Index, failing: float, seed: int) -> tuple[NDArray[Any], ...]:
    """Return whether all modes of a sample are resolved, (sample,), and the variables' values where they are.

    Of other samples the first two are the logarithms and their bounds, the third (sample, time, mode) upper bounds.
    """
    samples, _, n = driven.states.shape
    generator, known, t = np.random.default_rng(seed), np.ones(samples, dtype=bool), 0
    columns = [np.zeros((samples, len(steps), *([n] if i < OF_MODES else []))) for i in range(len(LONG_NAMES))]
    factors = ((block.mT, rounding) for block, rounding in driven.factors(range(1, driven.steps + 1)))
    for products in plain_products(factors, samples, n, failing, seed):
        times = np.arange(t + 1, t + 1 + len(products.matrix))
        t = int(times[-1])
        for index in np.flatnonzero(np.isin(times, steps)):
            value, error, upper = (part[0] for part in plain_singular_values(products[index : index + 1]))
            sharp = np.isfinite(value) & np.isfinite(error) & resolved(value, error, ENOUGH)
            known &= sharp.all(axis=-1)
            place = np.searchsorted(steps, times[index])
            matrix = torch.where(torch.from_numpy(known)[:, None, None], products.matrix[index].mT, torch.eye(n))
            determinants = np.stack([value.sum(axis=-1), error.sum(axis=-1)])
            product = of_matrix(matrix, products.log_scale[index])
            found = _analysed(product, value, error, upper, determinants, generator)
            for column, each in zip(columns, found, strict=True):
                column[:, place] = each
            columns[0][~known, place], columns[1][~known, place] = value[~known], error[~known]
    return known, *columns


def _by_graded_products(
    driven: Driven, steps: Index, seed: int, plain: tuple[Real, Real], surviving: Real
) -> tuple[NDArray[Any], ...]:
    """Return the variables' values, the first two dimensions being sample and time.

    `plain` are the logarithms of plain products and their bounds, (sample, time, mode), taken where they are sharper.
    """
    generator = np.random.default_rng(seed)
    total = torch.zeros(2, len(driven.states), dtype=torch.float64)  # Σ ln abs(det J_s), and the bound of its error
    found: list[list[NDArray[Any]]] = []

    def factors() -> Any:
        nonlocal total
        for jacobian, error in driven.jacobians_with_errors(range(1, driven.steps + 1)):
            total = total + torch.stack(log_determinant(jacobian, error)).cpu()
            total[1] += torch.finfo(torch.float64).eps * total[0].abs().nan_to_num(0, 0)
            yield jacobian, error

    for t, product in enumerate(accumulate(factors()), start=1):
        if t in steps:
            value = log_singular_values(product.log_scale.cpu().numpy(), product.rows.cpu().numpy())
            error = product.error().cpu().numpy()
            place = len(found)
            sharper = ~np.isnan(plain[0][:, place]) & (plain[1][:, place] < error)
            value, error = (
                np.where(sharper, each[:, place], own) for each, own in zip(plain, (value, error), strict=True)
            )
            with np.errstate(invalid="ignore"):  # −∞ + ∞ of what is not known
                above = value + error
            upper = np.minimum.accumulate(np.where(np.isnan(above), np.inf, above), axis=-1)
            found.append(list(_analysed(product, value, error, upper, total.numpy(), generator)))
            told = found[-1][SURVIVING]
            found[-1][SURVIVING] = np.where(np.isnan(told), surviving[:, place], told)
    return tuple(np.stack(column, axis=1) for column in zip(*found, strict=True))


def _analysed(
    product: GradedProduct, raw: Real, error: Real, upper: Real, log_determinants: Real, generator: np.random.Generator
) -> tuple[NDArray[Any], ...]:
    """Return the variables' values at one time, of ln σ as computed with error and upper bounds (sample, mode)."""
    d, T, Q, valid, zero = (
        part.cpu().numpy()
        for part in (product.log_scale, product.rows, product.orthogonal, product.valid, product.certain_zeros())
    )
    zero = zero | (np.isneginf(raw) & (error == 0))
    known = resolved(raw, error) & ~np.isnan(raw) & (zero | ~np.isneginf(raw)) & valid[:, None]
    values = np.where(known, np.where(zero, -np.inf, raw), np.nan)
    log_mean, log_deviation = log_moduli(d, T, Q, error, generator)
    mean_log, mean_error = log_determinants / d.shape[1]
    mean_log = np.where(resolved(mean_log, mean_error), mean_log, np.nan)
    lower = np.where(np.isfinite(error), raw - error, -np.inf)
    of_valid = (
        number_from(lower, np.where(zero, -np.inf, upper), np.log(SURVIVES)),
        *(_effective_rank(raw, error), log_mean, log_deviation, mean_log),
        np.where(np.isneginf(mean_log), 0, mean_error),
    )
    return (
        values,
        np.where(valid[:, None], error, np.nan),
        known.sum(axis=-1),
        *(np.where(valid, each, np.nan) for each in of_valid),
    )


def _effective_rank(log_values: Real, error: Real) -> Real:
    """Return exp(−Σ p ln p); NaN where all σ are zero, or where modes that are not resolved would count."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.exp(log_values - log_values.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        terms = np.where(p > 0, -p * np.log(p), 0)
    doubtful = np.where(~(error <= KNOWN), np.minimum(error, 1) * (terms + p), 0).sum(axis=-1)
    return np.where(np.isnan(p).any(axis=-1) | (doubtful > NEGLIGIBLE), np.nan, np.exp(terms.sum(axis=-1)))


def _variables(found: dict[str, NDArray[Any]]) -> dict[str, xr.Variable]:
    dims = (schema.SAMPLE, schema.TIME, schema.MODE)
    return {name: schema.variable(dims[: found[name].ndim], found[name], words) for name, words in LONG_NAMES.items()}


def _flags(found: dict[str, NDArray[Any]]) -> dict[str, str]:
    """Return for each variable that is not finite throughout the reason."""
    modes = found["log_singular_value"]
    zero, unknown = np.isneginf(modes).any(), np.isnan(modes).any()
    reasons = {
        "log_singular_value": "; ".join([EXACTLY_ZERO] * int(zero) + [NOT_RESOLVED] * int(unknown)),
        "error_bound": "inf or NaN where there is no bound",
        "surviving": "NaN where modes that are not resolved may be that large",
        "effective_rank": "NaN where all singular values are 0, or where modes that are not resolved would count",
        "log_mean_modulus": "NaN where the eigenvalues are not determined, or all are 0",
        "log_std_modulus": "NaN where all moduli are equal to rounding (the logarithm of 0), or not determined",
        "mean_log_modulus": "-inf where a Jacobian is exactly singular; NaN where the bound of the error is too large",
        "mean_log_modulus_error": "inf where there is no bound",
    }
    diverged = f"; {DIVERGED}" if np.isnan(found["error_bound"]).any() else ""
    return {name: reason + diverged for name, reason in reasons.items() if not np.isfinite(found[name]).all()}


def _verdict(ds: xr.Dataset, steps: int, described: str) -> str:
    last = ds.isel({schema.TIME: -1})
    n = last.sizes[schema.MODE]
    if np.isnan(last["error_bound"].values).all():
        return f"Over {over(steps, described)} every trajectory diverges: ∂h_T/∂h_0 is not known at T = {steps:,}."
    size = sized(last["log_singular_value"].values[:, 0])
    text = f"Over {over(steps, described)} the largest singular value of ∂h_T/∂h_0 is {size}."
    text += f" {surviving(last['surviving'].values, n)}."
    return f"{text} Rounding leaves {ranged(last['resolved'].values, 0)} of {n:,} known."
