"""Bounds on a network's eigenvalues, gradients and exponents: a regression test."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.judgement import AT_THE_BOUND, HOLDS, UNDECIDED, VIOLATED, WORST_FIRST, judged
from dynlab.diagnostics.eigenvalue_bounds.measurements import BOUNDS, ERRORS, Measurement, measured, measurement, option
from dynlab.errors import refuse
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import drive
from dynlab.words import capital, digits_against, number, over, unit_after, with_error

METHOD = (
    "Each bound is held against every number measured, with that number's own error. It is violated where a number is "
    "beyond it by more than its error. It is undecided where a number or its error is not known, and at the bound "
    "where a number is within its error of it. {errors}"
)
WIDE_ERROR = 1e-3  # of a number: a larger error is told in a sentence
NOT_KNOWN = "not finite where a number is exactly zero in log scale, or is not known: see reason"
COLUMNS = {  # of the table of bounds
    "quantity": "what is bounded",
    "unit": "its units",
    "is_upper": "1: an upper bound, 0: a lower one",
    "only_above": "1: what was measured is only an upper bound",
    "limit": "bound",
    "measured": "measured",
    "error": "error of what was measured",
    "margin": "margin inside the bound, of the number that decides",
    "where_sample": "sample of what was measured, −1: all",
    "where_step": "step t of what was measured, −1: all",
    "where_mode": "mode of what was measured, −1: none",
    "outcome": "outcome",
    "reason": "why it is undecided",
    "compared": "numbers held against the bound",
    "violations": "of them beyond it",
    "unknown": "of them not known",
    "lowest": "lowest of them",
    "median": "median of them",
    "highest": "highest of them",
}
OTHER_ORBIT = (
    " The exponent is that of an orbit from a random start near 0, all else that of the orbit from where the network "
    "starts. In Python initial_state= gives all of them one orbit."
)


@checked
def eigenvalue_bounds(
    system: Map,
    inputs: Any = None,
    *,
    max_modulus: float | None = None,
    max_real: float | None = None,
    min_log_gradient: float | None = None,
    max_log_gradient: float | None = None,
    max_exponent: float | None = None,
    times: int | None = None,
    initial_state: Any = None,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Hold a network to bounds along what drives it, with the error of every number.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system.
    max_modulus : float, optional
        Bound on the moduli of the eigenvalues of the one-step Jacobians ∂h_t/∂h_{t−1}.
    max_real : float, optional
        Bound on the real parts of the eigenvalues of the flow's Jacobian, in 1/s, of an Euler step of a flow.
    min_log_gradient, max_log_gradient : float, optional
        Bounds on ln ‖∂h_T/∂h_1‖₂, for every sample.
    max_exponent : float, optional
        Bound on the largest Lyapunov exponent in nat/step, the mean over samples, or each where they differ beyond
        their errors; of the finite-time exponent on driven sequences of fewer than 1000 steps.
    times : int, optional
        Number of steps of a sequence whose eigenvalues are computed: evenly spaced, the first and the last among them.
        By default all, or as many as half a minute allows; the verdict says at how many.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at, zero for most. The exponent of a network that nothing
        drives is then that of a random start near 0, as in `lyapunov`, and the verdict says so.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of the trajectory and its Jacobians; errors are those of this precision.
    seed : int
        Seed of the frame that carries the exponent, and recorded as the one that drew `inputs`.

    Returns
    -------
    xarray.Dataset
        Over the dimension ``bound``, the names of those set: ``quantity``, ``unit``, ``limit`` and ``is_upper``.
        ``measured`` is the number that decides; where ``only_above`` is 1, the true one is at most that. Beside it
        stand its ``error`` and its ``margin``, which is negative outside the bound. ``where_sample``, ``where_step``
        and ``where_mode`` say where it is, and are −1 where it belongs to none. The ``outcome`` is ``holds``, ``at the
        bound``, ``violated`` or ``undecided``, and ``reason`` says why the last. ``compared``, ``violations`` and
        ``unknown`` say how many numbers were compared, are outside and are not known. ``lowest``, ``median`` and
        ``highest`` are of these numbers.

    Raises
    ------
    UserError
        If no bound is set, one is not finite, or a lower one is above its upper one. Where `max_real` is set of a
        map that is no Euler step. For bad inputs.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> half = from_function(lambda h, x: h / 2, state_size=2)
    >>> ds = eigenvalue_bounds(half, np.zeros((11, 0)), max_modulus=1.0, min_log_gradient=-5)
    >>> ds["measured"].values.round(4).tolist(), ds["outcome"].values.tolist()
    ([0.5, -6.9315], ['holds', 'violated'])
    """
    given = {
        "max_modulus": max_modulus,
        "max_real": max_real,
        "min_log_gradient": min_log_gradient,
        "max_log_gradient": max_log_gradient,
        "max_exponent": max_exponent,
    }
    asked = {name: float(limit) for name, limit in given.items() if limit is not None}
    _check(asked)
    options = {"initial_state": initial_state, "dtype": dtype, "device": device, "seed": seed}
    driven = drive(system, inputs, inputs_description=inputs_description, **options)
    results = measured(system, driven, inputs, asked, times, inputs_description=inputs_description, **options)
    rows = [_row(name, limit, measurement(name, results)) for name, limit in asked.items()]
    where = over(driven.steps, inputs_description)
    looked_at = results["spectrum"].sizes[schema.TIME] if "spectrum" in results else driven.steps
    start = schema.settings(results["lyapunov"])["initial_state"] if "lyapunov" in results else None
    other = "lyapunov" in results and len(results) > 1 and start != driven.settings["initial_state"]
    return schema.result(
        system,
        {name: ((schema.BOUND,), np.array([row[name] for row in rows]), words) for name, words in COLUMNS.items()},
        settings=driven.settings | given | {"times": times},
        method=METHOD.format(errors=" ".join(f"Error of {name}: {ERRORS[BOUNDS[name].diagnostic]}." for name in asked)),
        coords={schema.BOUND: np.array(list(asked))},
        reasons=dict.fromkeys(("measured", "error", "margin", "lowest", "median", "highest"), NOT_KNOWN),
        verdict=lambda ds: (
            _verdict(ds, where if looked_at == driven.steps else f"{looked_at:,} of {where}") + OTHER_ORBIT * other
        ),
    )


def _check(asked: Mapping[str, float]) -> None:
    low, high = "min_log_gradient", "max_log_gradient"
    refuse(
        {
            f"No bound is set, so there is nothing to check: set at least one of {', '.join(BOUNDS)}.": not asked,
            **{
                f"{option(name)} takes a finite number, got {limit}: leave it out where there is no bound.": True
                for name, limit in asked.items()
                if not np.isfinite(limit)
            },
            f"{option(low)} is above {option(high)}: no gradient keeps both.": (
                asked.get(low, -np.inf) > asked.get(high, np.inf)
            ),
        }
    )


def _row(name: str, limit: float, one: Measurement) -> dict[str, Any]:
    """Return the values of the columns for one bound."""
    bound, values = BOUNDS[name], one.values.values
    low, high = (-np.inf, limit) if bound.is_upper else (limit, np.inf)
    widest = one.widest * max(1.0, abs(limit))
    found, index = judged(values, one.errors.values, low, high, only_above=one.only_above, widest=widest)
    at = dict(zip(one.values.dims, index, strict=True))
    finite = values[np.isfinite(values)]
    lowest, median, highest = np.quantile(finite, [0, 0.5, 1]) if finite.size else [np.nan] * 3
    return found | {
        "quantity": bound.quantity,
        "unit": bound.units,
        "is_upper": np.int8(bound.is_upper),
        "only_above": np.int8(one.only_above),
        "limit": limit,
        "where_sample": at.get(schema.SAMPLE, -1),
        "where_step": int(one.values[schema.TIME][at[schema.TIME]]) if schema.TIME in at else -1,
        "where_mode": at.get(schema.MODE, -1),
        "reason": (one.reason or "no error estimate") if found["outcome"] == UNDECIDED else "",
        "lowest": lowest,
        "median": median,
        "highest": highest,
    }


def _verdict(ds: xr.Dataset, where: str) -> str:
    """Return a sentence for each bound, the worst outcome first."""
    ones = [ds.isel({schema.BOUND: row}) for row in range(ds.sizes[schema.BOUND])]
    ones.sort(key=lambda one: WORST_FIRST.index(str(one["outcome"].values)))
    first, *others = map(_sentence, ones)
    return " ".join([f"Over {where} {first}.", *(f"{capital(other)}." for other in others)])


def _sentence(one: xr.Dataset) -> str:
    """Say for one bound what was measured, and whether it keeps the bound."""
    unit, outcome = unit_after(str(one["unit"].values)), str(one["outcome"].values)
    limit, measured, error = (float(one[each]) for each in ("limit", "measured", "error"))
    name, sign = f"the {BOUNDS[str(one[schema.BOUND].values)].extreme}", "≤" if one["is_upper"] else "≥"
    bound = f"{sign} {number(limit, digits_against(limit, limit))}{unit}"
    wide = WIDE_ERROR * abs(measured) < error < np.inf
    value = with_error(measured, error) if wide else number(measured, digits_against(measured, limit))
    is_value = f" is {value}{unit} and" if np.isfinite(measured) else ""
    return {
        UNDECIDED: f"whether {name} keeps its bound, {bound}, is undecided",
        AT_THE_BOUND: f"{name}, {with_error(measured, error)}{unit}, is within its error of its bound, {bound}",
        HOLDS: f"{name}{is_value} keeps its bound, {bound}",
        VIOLATED: f"{name}{is_value} violates its bound, {bound}",
    }[outcome]
