"""A claim of a source, how it is measured, and what is found of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Numbers = Mapping[str, float]

HOLDS = "holds"
CONDITION = "holds under a condition that is stated"
FAILS = "does not hold"
UNDECIDED = "cannot be decided"
NOT_RUN = "not run"
VERDICTS = (HOLDS, CONDITION, FAILS, UNDECIDED, NOT_RUN)


def nothing() -> dict[str, float]:
    """What a claim is measured by that only needs what is kept already."""
    return {}


@dataclass(frozen=True)
class Claim:
    """One row of the audit.

    Attributes
    ----------
    name : str
        Of its numbers among those that are kept.
    source : str
        The paper and the place.
    words : str
        What it says, as nearly in its words as one sentence can be.
    judge : callable
        Takes the numbers, and gives one of `VERDICTS` and a sentence with them.
    command : str
        What repeats the measurement.
    measure : callable
        Computes the numbers that are kept; a claim about records or tables has none of its own.
    """

    name: str
    source: str
    words: str
    judge: Callable[[Numbers], tuple[str, str]]
    command: str
    measure: Callable[[], Numbers] = nothing
