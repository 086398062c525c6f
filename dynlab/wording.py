"""Numbers in the sentences of a verdict."""

from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

UNCHANGED = 0.05  # what is written e^0.0 neither shrinks nor grows


def over(steps: int, described: str) -> str:
    """How long, and of what: "128 steps of 16 test sequences of har2"."""
    return f"{steps} step{'s' if steps != 1 else ''}" + (f" of {described}" if described else "")


def ranged(values: Any, spec: str = ".3g") -> str:
    """The median, and where there are different values the range: "0.98 (0.95 to 1.02)"."""
    finite = np.asarray(values)[np.isfinite(values)]
    if finite.size == 0:
        return "not known"
    low, middle, high = (format(float(value), spec) for value in np.quantile(finite, [0, 0.5, 1]))
    return middle if low == high else f"{middle} ({low} to {high})"


def sized(log_size: Any, samples: int) -> str:
    """What a factor e^x does, said of the median over samples: "shrinks by e^−7.9 (e^−9.1 to e^−6.2)"."""
    finite = np.asarray(log_size)[np.isfinite(log_size)]
    if finite.size == 0:
        return "vanishes exactly" if np.isneginf(log_size).any() else "is not known"
    middle = float(np.median(finite))
    verb = "shrinks by" if middle <= -UNCHANGED else "grows by" if middle >= UNCHANGED else "stays at"
    text = f"{verb} {power(middle)}"
    if samples > 1:
        text += f" (median of {samples} samples, {power(finite.min())} to {power(finite.max())})"
    return text


def at_most(value: float, digits: int = 4) -> str:
    """A bound rounded up, as a proved one must be: "1.545" for 1.5441."""
    exact = Decimal(value)
    above = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_CEILING)
    return f"{float(above):.{digits}g}".replace("-", "−")


def power(exponent: float) -> str:
    """A power of e, with a true minus sign."""
    return f"e^{exponent:.1f}".replace("e^-0.0", "e^0.0").replace("-", "−")
