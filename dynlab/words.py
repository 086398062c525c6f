"""Write the numbers and the small grammar of verdicts, all alike.

A minus sign is a true one, a count has its thousands parted and its noun in the right number, a share says all or none
only where it is, and an error decides how many digits of its number are shown.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

LARGE = 10.0  # nats: below, the second decimal of a power of e is worth its place
READABLE = 7.0  # nats: a growth up to this is told as a number too, about a thousand times
NEAR_ONE = 1e-4  # what is nearer to 1 is told by its difference
ROUNDED_TO_ONE = 4e-16  # from 1: two units in the last place
SMALLEST_SHARE = 0.001  # a share below, or as near to all, is said to be so
WHOLE = 1e6  # below, a number of many digits before its point is written out: "1,540" and not "1.54e+03"
SMALL = -5  # the decimal place beyond which a number with its error is written as a power of ten
FEW_UNITS = 3  # a state of so many dimensions at most is written out
EXACT = 17  # digits that write every number of double precision without loss
MOST_DIGITS = 7  # of a number whose error would allow more
IRREGULAR = {"equilibrium": "equilibria", "continuum": "continua", "torus": "tori", "axis": "axes"}
NO_INPUT = "no input"  # how a trajectory is described that nothing drives


def number(value: float, digits: int = 4) -> str:
    """Write a number to so many digits: "−0.15", "1.5e−05"; with 0 digits the nearest whole one: "1,536".

    Examples
    --------
    >>> number(-0.0), number(-1.5e-5), number(1535.7, 0), number(999.7, 3), number(float("nan"))
    ('0', '−1.5e−05', '1,536', '1,000', 'not known')
    """
    if math.isnan(value):
        return "not known"
    if digits and 10**digits <= abs(rounded := float(f"{value:.{digits}g}")) < WHOLE:
        value, digits = rounded, 0
    return f"{value + 0.0:{f'.{digits}g' if digits else ',.0f'}}".replace("-", "−")


def digits_against(value: float, other: float, fewest: int = 4) -> int:
    """Return the number of digits with which a number is as truly above, at or below another as it is itself.

    Examples
    --------
    >>> digits_against(0.92263, 0.9226), digits_against(0.9226, 0.9226), digits_against(0.92264, 0.92263)
    (5, 4, 5)
    """
    side = np.sign(value - other)
    enough = (n for n in range(fewest, EXACT) if np.sign(float(f"{value:.{n}g}") - other) == side)
    return next(enough, EXACT)


def with_error(value: float, error: float, unit: str = "") -> str:
    """Write a number to the digits that its error allows, the error to one, and the unit.

    Examples
    --------
    >>> with_error(0.86874, 0.0021, "nat/step"), with_error(0.5, math.inf), with_error(-0.036, 0.042)
    ('0.869 ± 0.002 nat/step', '0.5 (error not known)', '−0.04 ± 0.04')
    >>> with_error(2.0, 0.0), with_error(0.37, 1.2)
    ('2', '0.4 ± 1')
    """
    after = f" {unit}" if unit else ""
    if not math.isfinite(error) or not math.isfinite(value):
        return f"{number(value)}{after}" + (" (error not known)" if math.isfinite(value) else "")
    hidden = error > 0 and round(value, -Decimal(f"{error:.0e}").adjusted()) == 0  # such a number is told, too
    written = to_error(value, error / 10 if hidden else error)
    return f"{written}{after}" if error == 0 else f"{written} ± {number(error, 1)}{after}"


def to_error(value: float, error: float, most: int = MOST_DIGITS) -> str:
    """Write a number alone, to the digits that its error allows, and to `most` at most.

    Examples
    --------
    >>> to_error(-6.66666656e-13, 9e-16), to_error(2.2e-6, 1e-5), to_error(1.00000000123, 1e-16, 10)
    ('−6.667e−13', '0.00000', '1.000000001')
    """
    if error == 0:
        return number(value, most)
    last = Decimal(f"{error:.0e}").adjusted()
    rounded = round(value, -last) + 0.0
    digits = Decimal(abs(rounded)).adjusted() - last + 1 if rounded else 1
    if digits > most or last < SMALL:
        return number(rounded, min(max(digits, 1), most))
    return f"{rounded:,.{max(0, -last)}f}".replace("-", "−")


def place(point: Any, norm: str = "‖h‖") -> str:
    """Write a state behind "at": "0", "(0.8586, 0)", of many dimensions "‖h‖ = 3.21"."""
    if not np.any(point):
        return "0"
    if len(point) <= FEW_UNITS:
        return f"({', '.join(number(value) for value in point)})"
    return f"{norm} = {number(float(np.linalg.norm(point)), 3)}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun: "1 branch", "1,536 states", "4 continua of fixed points"."""
    return f"{count:,} {noun if count == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the plural of a noun, of "noun of others" that of the noun."""
    plain, bracket, inside = noun.partition(" (")
    if bracket:
        return plural_of(plain) + bracket + inside
    head, of, rest = noun.partition(" of ")
    *before, last = head.split(" ")
    regular = last + ("es" if last.endswith(("s", "x", "ch", "sh")) else "s")
    return " ".join([*before, IRREGULAR.get(last, regular)]) + of + rest


def article(noun: str) -> str:
    """Return a noun with "a" or "an", as it is said aloud: "an Euler step".

    Examples
    --------
    >>> article("LSTM of 9 units"), article("GRU"), article("bidirectional LSTM")
    ('an LSTM of 9 units', 'a GRU', 'a bidirectional LSTM')
    """
    vowels = "AEFHILMNORSX" if noun.partition(" ")[0].isupper() else "AEIOUaeiou"  # capitals are said one by one
    return f"{'an' if noun.startswith(tuple(vowels)) else 'a'} {noun}"


def agree(count: int, one: str = "is", several: str = "are") -> str:
    """Return the form of a verb that goes with a count."""
    return one if count == 1 else several


def of_map(kind: str) -> str:
    """Return a kind as a sentence on a map has it: equilibria of a flow are fixed points of a map.

    Examples
    --------
    >>> of_map("line of equilibria"), of_map("flip saddle")
    ('line of fixed points', 'flip saddle')
    """
    return kind.replace("equilibria", "fixed points")


def capital(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def subscript(index: int) -> str:
    """Write a whole number below the line: "₁₂"."""
    return f"{index}".translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def unit_after(unit: str) -> str:
    """Write a unit behind a number: " per second" of "1/s", " nat/step", and nothing of the pure number's "1"."""
    return "" if unit == "1" else " per second" if unit == "1/s" else f" {unit}"


def first_that_holds(cases: Mapping[str, object]) -> str:
    """Return the first text whose condition holds, nothing where none does.

    Examples
    --------
    >>> first_that_holds({"grows": False, "decays": True, "is undecided": True})
    'decays'
    """
    return next((text for text, holds in cases.items() if holds), "")


def joined(parts: Sequence[str]) -> str:
    """Write a list in words: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def share(part: float) -> str:
    """Write a part of 1 in per cent: "99.2 %", "none", "all", "less than 0.1 %".

    Examples
    --------
    >>> [share(part) for part in (0, 0.05, 0.992, 1e-5, 1 - 1e-9, 1.0)]
    ['none', '5 %', '99.2 %', 'less than 0.1 %', 'more than 99.9 %', 'all']
    """
    if part in (0, 1):
        return "all" if part else "none"
    if part < SMALLEST_SHARE:
        return f"less than {100 * SMALLEST_SHARE:g} %"
    if part > 1 - SMALLEST_SHARE:
        return f"more than {100 * (1 - SMALLEST_SHARE):g} %"
    return f"{round(100 * part, 1):g} %"


def percent(part: float, places: int = 0) -> str:
    """Write a part of 1 in per cent, to so many places: "42 %", "219 %"."""
    return f"{100 * part:.{places}f} %".replace("-", "−")


def interval(values: Any, digits: int = 3) -> str:
    """Write the least and the largest: "0.95 to 1.02", one number where they are written alike."""
    low, high = number(np.nanmin(values), digits), number(np.nanmax(values), digits)
    return low if low == high else f"{low} to {high}"


def ranging(values: Any, digits: int = 3) -> str:
    """Say where values are: "is 0.98", of different ones "ranges from 0.95 to 1.02"."""
    text = interval(values, digits)
    return f"ranges from {text}" if " to " in text else f"is {text}"


def ranged(values: Any, digits: int = 3, write: Callable[[float, int], str] = number) -> str:
    """Write the median, and where there are different values the range: "0.98 (range 0.95 to 1.02)".

    Examples
    --------
    >>> ranged([2.06e-5, 9.39e-5, 1.17e-4]), ranged([1, 2], 0)
    ('9.39e−05 (range 2.06e−05 to 0.000117)', '1.5 (range 1 to 2)')
    """
    finite = np.asarray(values)[np.isfinite(values)]
    if finite.size == 0:
        return "not known"
    middle, low, high = (write(float(value), digits) for value in (np.median(finite), finite.min(), finite.max()))
    if digits == 0 and (half := float(np.median(finite))) % 1:  # between two counts
        middle = f"{half:,.1f}"
    return middle if low == high else f"{middle} (range {low} to {high})"


def near_one(value: float, digits: int = 4) -> str:
    """Write a number with as many digits as tell it from 1: "1.005", "1 − 3.2e−07"; rounding is no difference."""
    off, written = value - 1, number(value, digits)
    if abs(off) <= ROUNDED_TO_ONE:
        return "1"
    if abs(off) >= NEAR_ONE and written != "1":
        return written
    return f"1 {'+' if off > 0 else '−'} {number(abs(off), 2)}"


def at_most(value: float, digits: int = 4) -> str:
    """Write a bound rounded up, as a proved one must be: "1.545" for 1.5441."""
    return _rounded(Decimal(value), digits, ROUND_CEILING)


def at_least(value: float, digits: int = 4) -> str:
    """Write a limit rounded down, below which all is well, but for what rounding left in it: "0.07458" for 0.074589."""
    return _rounded(Decimal(f"{value:.12g}"), digits, ROUND_FLOOR)


def _rounded(exact: Decimal, digits: int, to: str) -> str:
    return number(float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), to)), digits)


def power(exponent: float) -> str:
    """Write a power of e: "e^−2.95", "e^−73.5"."""
    digits = 2 if abs(exponent) < LARGE else 1
    return f"e^{round(exponent, digits) + 0.0:.{digits}f}".replace("-", "−")


def some_of(looked_at: int, steps: int, described: str) -> str:
    """Say which steps are looked at, and of what: all of them, as `over` has it, or those that `chosen_steps` chooses.

    Examples
    --------
    >>> some_of(64, 128, "16 test sequences of har2"), some_of(1, 128, ""), some_of(128, 128, NO_INPUT)
    ('64 of 128 steps, evenly spaced, of 16 test sequences of har2', 'the last of 128 steps', '128 steps without input')
    """
    whole = over(steps, described)
    if looked_at >= steps:
        return whole
    if looked_at == 1:
        return f"the last of {whole}"
    steps_alone = counted(steps, "step")
    return f"{looked_at:,} of {steps_alone}, evenly spaced{',' * bool(described)}{whole.removeprefix(steps_alone)}"


def over(steps: int, described: str, of: int = 0) -> str:
    """Say how long, and of what; where the first of `of` steps are discarded, the last.

    Examples
    --------
    >>> over(128, "16 test sequences of har2"), over(1800, NO_INPUT, of=2000)
    ('128 steps of 16 test sequences of har2', 'the last 1,800 of 2,000 steps without input')
    """
    text = f"the last {steps:,} of {counted(of, 'step')}" if of > steps else counted(steps, "step")
    if described == NO_INPUT:
        return f"{text} without input"
    return text + (f" of {described}" if described else "")
