"""The end-to-end Jacobian ∂h_t/∂h_0: what a whole sequence does to a small change of its initial state."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch.linalg import vector_norm

from dynlab import schema
from dynlab.diagnostics.gradient.norms import SURVIVES, sized, surviving
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.graded_moduli import log_determinant, log_moduli
from dynlab.numerics.graded_product import KNOWN, GradedProduct, identity, multiply, number_from, resolved
from dynlab.numerics.plain_product import ENOUGH, FAILING, plain_products, plain_singular_values
from dynlab.numerics.singular_values import log_singular_values
from dynlab.numerics.threads import in_threads, one_torch_thread
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import Driven, Found, chosen_steps, drive, in_float64
from dynlab.trajectories.lengths import LENGTH, of_lengths, reasons_with
from dynlab.words import over, ranged

NEGLIGIBLE = 1e-6  # of ln(effective rank): what modes that are not resolved may contribute to it
SINGULAR = "-inf where a Jacobian is exactly singular"
OF_TIME = (schema.SAMPLE, schema.TIME)
OF_MODE = (*OF_TIME, schema.MODE)
# In the order in which they are computed: dimensions, long name, why a value is not finite.
VARIABLES: dict[str, tuple[Any, ...]] = {
    "log_singular_value": (
        OF_MODE,
        "ln σ, singular values of ∂h_t/∂h_0",
        f"{SINGULAR}: σ is 0; NaN where the mode is not resolved: the bound of its error is too large",
    ),
    "error_bound": (OF_MODE, "bound of the error of ln σ", "inf or NaN where there is no bound"),
    "resolved": (OF_TIME, "resolved modes of ∂h_t/∂h_0", ""),
    "surviving": (
        OF_TIME,
        f"directions that survive, σ ≥ {SURVIVES}",
        "NaN where modes that are not resolved may be that large",
    ),
    "effective_rank": (
        OF_TIME,
        "effective rank of ∂h_t/∂h_0",
        "NaN where all singular values are 0, or where modes that are not resolved would count",
    ),
    "log_mean_modulus": (
        OF_TIME,
        "ln of the mean modulus of the eigenvalues of ∂h_t/∂h_0",
        "NaN where the eigenvalues are not determined, or all are 0",
    ),
    "log_std_modulus": (
        OF_TIME,
        "ln of the standard deviation of these moduli",
        "NaN where all moduli are equal to rounding (the logarithm of 0), or not determined",
    ),
    "mean_log_modulus": (
        OF_TIME,
        "mean logarithm of the modulus of the eigenvalues of ∂h_t/∂h_0",
        f"{SINGULAR}; NaN where the bound of the error is too large",
    ),
    "mean_log_modulus_error": (
        OF_TIME,
        "bound on the error of that mean logarithm",
        "inf where there is no bound",
    ),
    "length": (*LENGTH, ""),
}
METHOD = (
    "The product is one matrix where that resolves all modes of a sample. The bound of its error comes from random "
    f"vectors that are carried along, and holds but for a probability of {FAILING:g}. In other samples it is kept as Q "
    "e^d T (QR with the columns sorted at every step), and its singular values come from one-sided Jacobi in log "
    f"scale. A mode is resolved where the bound of its error is at most {KNOWN:g}, or this share of ln σ. Of Q "
    "e^d T that bound sums |Q'ᵀ| E |Q| |R⁻¹| at first order, with its running maximum over the sorted modes. The "
    "eigenvalues are those of e^(d/2) T Q e^(d/2). Of both bounds the smaller is taken"
)
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
    """Compute singular values and eigenvalue moduli of ∂h_t/∂h_0 along what drives a map, in log scale.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system (`dynlab.from_module` with a batch). Sequences of different lengths: a
        list of arrays (time, input), a PackedSequence, or NaN after their ends; each has its own T.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default zero.
    times : int
        Number of steps t at which the product is analysed: evenly spaced in 1 … T, T always among them. It is
        accumulated over all steps whatever `times` is.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of the trajectory and its Jacobians; the product is made in float64, and analysed on the CPU.
    seed : int
        Seed of the change that tells how well the eigenvalues are determined.

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
        uneven=True,
    )
    steps, found = driven.joined(lambda part: _along(part, times, seed))
    diverged = DIVERGED * bool((~driven.last.isfinite()).any())
    return schema.result(
        system,
        {name: (dims, found[name], *words) for name, (dims, *words, _) in VARIABLES.items() if name in found},
        settings=driven.settings | {"times": times},
        method=METHOD,
        coords={schema.TIME: schema.time_coordinate(steps)},
        reasons=reasons_with({name: row[-1] for name, row in VARIABLES.items()}, diverged, driven.after),
        verdict=lambda ds: _verdict(ds, driven.steps, inputs_description) + of_lengths(ds),
    )


def _along(driven: Driven, times: int, seed: int) -> tuple[Index, Found, Found]:
    """Return the steps, and the variables' values (sample, time, ...) as `Driven.joined` takes them.

    They come from plain products, of samples where these fail to resolve all modes from graded ones.
    """
    samples, steps = len(driven.states), chosen_steps(driven.steps, times)
    failing = FAILING / (samples * len(steps))
    known, value, error, *found = in_threads(
        lambda some: _by_plain_products(driven.of(some), steps, failing, seed), samples
    )
    rest = np.flatnonzero(~known)
    if rest.size:
        with one_torch_thread():
            graded = _by_graded_products(driven.of(rest), steps, seed, value[rest], error[rest])
        for plain, each in zip(found, graded, strict=True):
            plain[rest] = each
    return steps, dict(zip(VARIABLES, found, strict=False)), {}


def _by_plain_products(driven: Driven, steps: Index, failing: float, seed: int) -> tuple[NDArray[Any], ...]:
    """Return whether all modes of a sample are resolved, ln σ with its error, and the variables' values."""
    samples, _, n = driven.states.shape
    generator, known = np.random.default_rng(seed), np.ones(samples, dtype=bool)
    found: list[tuple[NDArray[Any], ...]] = []
    factors = ((block.mT, rounding) for block, rounding in driven.factors(range(1, driven.steps + 1)))
    for products in plain_products(factors, samples, n, failing, seed):
        for index in np.flatnonzero(np.isin(products.count, steps)):
            product = products[int(index)]
            value, error, upper = plain_singular_values(product)
            known &= (np.isfinite(value) & np.isfinite(error) & resolved(value, error, ENOUGH)).all(axis=-1)
            matrix = torch.where(torch.from_numpy(known)[:, None, None], product.matrix.mT, torch.eye(n))
            size = vector_norm(matrix, dim=-1)
            scale = size.log() + product.log_scale.unsqueeze(-1)
            whole = replace(identity(samples, n, matrix), rows=matrix / size.unsqueeze(-1), log_scale=scale)
            determinants = np.stack([value.sum(axis=-1), error.sum(axis=-1)])
            found.append((value, error, *_analysed(whole, value, error, upper, determinants, generator)))
    return known, *(np.stack(column, axis=1) for column in zip(*found, strict=True))


def _by_graded_products(driven: Driven, steps: Index, seed: int, values: Real, errors: Real) -> Iterator[NDArray[Any]]:
    """Return the variables' values, the first two dimensions being sample and time.

    `values` and `errors` (sample, time, mode) are ln σ of plain products, taken where they are sharper.
    """
    generator = np.random.default_rng(seed)
    total = torch.zeros(2, len(driven.states), dtype=torch.float64)  # Σ ln abs(det J_s), and the bound of its error
    found: list[tuple[NDArray[Any], ...]] = []
    product = identity(len(driven.states), driven.states.shape[-1], in_float64(driven.states))
    for t, (jacobian, error) in enumerate(driven.jacobians_with_errors(range(1, driven.steps + 1)), start=1):
        product = multiply(jacobian, product, error)
        total = total + torch.stack(log_determinant(jacobian, error)).cpu()
        total[1] += torch.finfo(torch.float64).eps * total[0].abs().nan_to_num(0, 0)
        if t in steps:
            value = log_singular_values(product.scales().cpu().numpy(), product.rows.cpu().numpy())
            wrong = product.error().cpu().numpy()
            of_plain = values[:, len(found)], errors[:, len(found)]
            value, wrong = np.where(~np.isnan(of_plain[0]) & (of_plain[1] < wrong), of_plain, (value, wrong))
            with np.errstate(invalid="ignore"):  # −∞ + ∞ of what is not known
                above = value + wrong
            upper = np.minimum.accumulate(np.where(np.isnan(above), np.inf, above), axis=-1)
            found.append(_analysed(product, value, wrong, upper, total.numpy(), generator))
    return (np.stack(column, axis=1) for column in zip(*found, strict=True))


def _analysed(
    product: GradedProduct, raw: Real, error: Real, upper: Real, log_determinants: Real, generator: np.random.Generator
) -> tuple[NDArray[Any], ...]:
    """Return the variables' values at one time, of ln σ as computed with error and upper bounds (sample, mode)."""
    d, T, Q, valid, zero = (
        part.cpu().numpy()
        for part in (product.scales(), product.rows, product.orthogonal, product.valid, product.certain_zeros())
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
        _effective_rank(raw, error),
        log_mean,
        log_deviation,
        mean_log,
        np.where(np.isneginf(mean_log), 0, mean_error),
    )
    return (
        values,
        np.where(valid[:, None], error, np.nan),
        known.sum(axis=-1),
        *(np.where(valid, each, np.nan) for each in of_valid),
    )


@np.errstate(divide="ignore", invalid="ignore")
def _effective_rank(log_values: Real, error: Real) -> Real:
    """Return exp(−Σ p ln p); NaN where all σ are zero, or where modes that are not resolved would count."""
    p = np.exp(log_values - log_values.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    terms = np.where(p > 0, -p * np.log(p), 0)
    doubtful = np.where(~(error <= KNOWN), np.minimum(error, 1) * (terms + p), 0).sum(axis=-1)
    return np.where(np.isnan(p).any(axis=-1) | (doubtful > NEGLIGIBLE), np.nan, np.exp(terms.sum(axis=-1)))


def _verdict(ds: xr.Dataset, steps: int, described: str) -> str:
    last = ds.sel({schema.TIME: ds["length"]}) if "length" in ds else ds.isel({schema.TIME: -1})
    n = last.sizes[schema.MODE]
    if np.isnan(last["error_bound"].values).all():
        return f"Over {over(steps, described)} every trajectory diverges: ∂h_T/∂h_0 is not known at T = {steps:,}."
    known = last["resolved"].values
    limit = "" if (known == n).all() else f" Rounding leaves {ranged(known, 0)} of {n:,} known."
    return (
        f"Over {over(steps, described)} the largest singular value of ∂h_T/∂h_0 is "
        f"{sized(last['log_singular_value'].values[:, 0])}. {surviving(last['surviving'].values, n)}.{limit}"
    )
