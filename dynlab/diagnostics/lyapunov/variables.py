"""The Dataset of Lyapunov exponents: one table of its variables, and why some of their values are missing."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.lyapunov.estimates import DENSE, DRIFTS
from dynlab.diagnostics.lyapunov.exponents import LONGEST, TOLERANCE
from dynlab.diagnostics.lyapunov.orbits import Flags, why_cut
from dynlab.diagnostics.lyapunov.verdict import verdict
from dynlab.numerics.arrays import Real
from dynlab.numerics.frame import SAFETY
from dynlab.numerics.statistics import BLOCKS, FEW_NATS, SHORTEST_BLOCK
from dynlab.systems import Flow, System
from dynlab.trajectories.cycles import Attractor
from dynlab.trajectories.lengths import LENGTH, of_lengths, reasons_with

METHOD = (
    f"The Jacobians carry a random frame forward. QR makes it orthonormal every {LONGEST} steps, or before a growth "
    f"factor's error exceeds {TOLERANCE:g}, and after every step of a flow. Rounding is bounded at first order "
    f"by {SAFETY:g} ‖E‖₂ ‖R⁻¹ e_i‖₂. {{errors}} An orbit that ends at a cycle or an equilibrium has the "
    "exponents of its multipliers, with the first-order error of each."
)
OF_BLOCKS = (
    f"Standard errors come from means over at most {BLOCKS} blocks of at least {SHORTEST_BLOCK} steps; where these "
    "follow a trend, they reach the last quarter's mean. Growth by fewer than "
    f"{FEW_NATS:g} nats has no sign. Of more than {DENSE} states an error is at least {DRIFTS:g} times the "
    "drift between halves."
)
BETWEEN = (
    "The standard error of one sample is the standard deviation between samples. The alignment error is the largest "
    "change by other random frames."
)
DRAWN = 3  # dimensions of an orbit whose last states are kept for its picture
MODES, EACH = (schema.SAMPLE, schema.MODE), (schema.SAMPLE,)
# name: dimensions, long name of a map's, whether its unit is that of a rate
VARIABLES: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "exponent": (MODES, "{word} Λ_i", True),
    "standard_error": (MODES, "standard error of Λ_i", True),
    "exponent_error": (MODES, "error of Λ_i", True),
    "mean_exponent": ((schema.MODE,), "mean of the {word} Λ_i", True),
    "mean_exponent_error": ((schema.MODE,), "error of the mean of Λ_i", True),
    "rounding_bound": (MODES, "bound of what rounding adds to Λ_i", True),
    "alignment_error": (MODES, "what other first frames change Λ_i by", True),
    "running_exponent": ((schema.SAMPLE, schema.TIME, schema.MODE), "running estimate of Λ_i", True),
    "mean_log_det": (EACH, "{det}", True),
    "kaplan_yorke_dimension": (EACH, "Kaplan–Yorke dimension", False),
    "kaplan_yorke_dimension_error": (EACH, "error of the Kaplan–Yorke dimension", False),
    "positive_exponent_sum": (EACH, "sum of the positive Λ_i, upper bound of the entropy rate", True),
    "positive_exponent_sum_error": (EACH, "error of that sum", True),
    "echo_state": (EACH, "what becomes of two starts under the same input", False),
    "shrinkage": (EACH, "ln of the last over the first distance of two starts under the same input", False),
}
SINGULAR = "-inf where a Jacobian is exactly singular: a unit's slope is 0"
SHARED = "NaN where rounding drowns the mode, or a unit is at its kink"
SPREAD = "where the exponent is not finite, there are too few blocks, or one sample has no spread between samples"
FLAGS = {
    "standard_error": f"NaN {SPREAD}",
    "exponent_error": f"NaN or inf {SPREAD}",
    "mean_exponent_error": f"NaN or inf {SPREAD}",
    "rounding_bound": "inf where the exponent is an upper bound: a Jacobian is as small as its own error",
    "alignment_error": "NaN where the exponent is not finite",
    "mean_log_det": f"{SINGULAR}; NaN where the orbit was cut, or the determinant needs a matrix that is not made",
    "kaplan_yorke_dimension": "NaN where fewer exponents are known than it needs, or the largest has no sign",
    "kaplan_yorke_dimension_error": f"NaN where the dimension is, or {SPREAD}",
    "positive_exponent_sum": "NaN where the largest exponent has no sign, or the smallest known is positive",
    "positive_exponent_sum_error": f"NaN where the sum is, or {SPREAD}",
    "shrinkage": "-inf where two starts became one; NaN where the orbit was cut",
}


def dataset(
    values: dict[str, Any],
    times: Any,
    system: System,
    settings: dict[str, Any],
    *,
    finite_time: bool,
    ends: list[Attractor | None] | None,
    cut: tuple[Real, Flags],
    averaged: str,
    before: str,
    after: str,
    visited: Real | None,
) -> xr.Dataset:
    """Return the Dataset of `dynlab.lyapunov` from the variables' values.

    Parameters
    ----------
    finite_time : bool
        True where exponents are those of short driven sequences.
    ends : list, optional
        The attractor that each orbit has come to; None of driven ones.
    cut : tuple of ndarray, shape (sample,)
        When orbits left their bound, inf where they did not, and whether they could not be followed there.
    averaged, before, after : str
        Over what exponents are taken, a sentence before all others, and one more reason why values are NaN.
    visited : ndarray, shape (iteration, state), optional
        States that the first orbit ends in.
    """
    flow = isinstance(system, Flow)
    name = "finite_time_exponent" if finite_time else "exponent"
    words = {
        "word": "finite-time exponent" if finite_time else "Lyapunov exponent",
        "det": "mean divergence" if flow else "mean of ln |det J|",
    }
    rate = schema.NAT_PER_SECOND if flow else schema.NAT_PER_STEP
    rows: dict[str, tuple[Any, ...]] = {
        (name if each == "exponent" else each): (
            dims,
            values[each],
            long_name.format(**words),
            rate if is_rate else "1",
        )
        for each, (dims, long_name, is_rate) in VARIABLES.items()
        if each in values
    }
    if "length" in values:
        rows["length"] = (LENGTH[0], values["length"], *LENGTH[1:])
    if visited is not None and visited.shape[1] <= DRAWN:
        rows["visited"] = ((schema.ITERATION, schema.STATE), visited, "states that the first sample's orbit ends in")
    why = why_cut(*cut, settings["largest_state"], flow)
    gone = any(np.isneginf(values[each]).any() for each in ("running_exponent", "mean_log_det", "exponent"))
    shared = "; ".join([f"NaN where an orbit {why}, and is cut there"] * bool(why) + [SINGULAR] * gone + [SHARED])
    return schema.result(
        system,
        rows,
        settings=settings,
        method=METHOD.format(errors=BETWEEN if finite_time else OF_BLOCKS),
        coords={schema.TIME: schema.time_coordinate(times, schema.SECOND if flow else schema.STEP)},
        reasons=reasons_with(
            {each: FLAGS.get(each, shared) for each, row in rows.items() if row[1].dtype.kind == "f"}, after
        ),
        verdict=lambda ds: before + verdict(ds, name, averaged, why, ends) + of_lengths(ds),
    )
