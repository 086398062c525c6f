"""The table's functions of balls: the ends of a wide ball enclose a monotone function of it."""

from collections.abc import Callable

from flint import arb

WIDE = 1e-6  # radius of a ball from which on monotony encloses more tightly than Arb's own functions do


class NonSmooth(Exception):
    """An operation that may be at a place without a derivative: a ReLU at 0, a modReLU at its border, a root of 0."""


def _monotone(
    function: Callable[[arb], arb], low: Callable[[arb], arb] = arb.lower, high: Callable[[arb], arb] = arb.upper
) -> Callable[[arb, bool], arb]:
    """A function that increases, or an even one that is monotone in the modulus: a wide ball's ends enclose it."""

    def enclosed(p: arb, kinks: bool) -> arb:
        return function(p) if float(p.rad()) < WIDE else function(low(p)).union(function(high(p)))

    return enclosed


MODULI = arb.abs_lower, arb.abs_upper  # the ends of a ball for an even function


def _tanh_slope(p: arb) -> arb:
    return 1 / p.cosh() ** 2  # 1 − tanh² would cancel


def _relu(p: arb, kinks: bool) -> arb:
    if p > 0:
        return p
    return arb(0) if p < 0 else arb(0).union(p.upper().max(arb(0)))


def _step(p: arb, kinks: bool) -> arb:
    if p > 0 or p < 0:
        return arb(1 if p > 0 else 0)
    if not kinks:
        raise NonSmooth("non-smooth point: the argument of a ReLU may be 0")
    return arb(0).union(arb(1))


def _modrelu(p: arb, b: arb, kinks: bool) -> arb:
    if p.abs_upper() + b < 0:
        return arb(0)
    if (p > 0 or p < 0) and p.abs_lower() + b > 0:
        return p + b if p > 0 else p - b
    if b > 0:
        raise NonSmooth("non-smooth point: the argument of a modReLU may be where it jumps")
    return (-_beyond(-p.lower(), b)).union(_beyond(p.upper(), b))  # continuous and increasing


def _beyond(p: arb, b: arb) -> arb:
    """An upper bound on modReLU at the exact number p, for b ≤ 0."""
    return (p - b).min(arb(0)).upper() if p < 0 else (p + b).max(arb(0)).upper()


def _modrelu_slope(p: arb, b: arb, kinks: bool) -> arb:
    if p.abs_upper() + b < 0:
        return arb(0)
    if (p > 0 or p < 0) and p.abs_lower() + b > 0:
        return arb(1)
    if not kinks or b > 0:
        raise NonSmooth("non-smooth point: the argument of a modReLU may be at its border")
    return arb(0).union(arb(1))


def _divide(a: arb, b: arb, kinks: bool) -> arb:
    if not (b > 0 or b < 0):
        raise NonSmooth("non-smooth point: a quotient by 0 may be taken")
    return a / b if float(b.rad()) < WIDE else a * (1 / b.lower()).union(1 / b.upper())


def _positive(function: Callable[[arb], arb], what: str) -> Callable[[arb, bool], arb]:
    increasing = _monotone(function)

    def enclosed(p: arb, kinks: bool) -> arb:
        if not p > 0:
            raise NonSmooth(f"non-smooth point: {what} of 0 may be taken")
        return increasing(p, kinks)

    return enclosed


def _power(p: arb, k: arb, kinks: bool) -> arb:
    if k == int(float(k)):
        found, base = arb(1), p if k >= 0 else _divide(arb(1), p, kinks)
        for digit in f"{abs(int(float(k))):b}":  # Arb's own power of a ball about 0 is no number
            found = found * found * base if digit == "1" else found * found
        return found
    if not p > 0:
        raise NonSmooth("non-smooth point: a broken power of 0 may be taken")
    return p**k


BALLS: dict[str, Callable[..., arb]] = {
    "add": lambda a, b, kinks: a + b,
    "subtract": lambda a, b, kinks: a - b,
    "multiply": lambda a, b, kinks: a * b,
    "divide": _divide,
    "negate": lambda p, kinks: -p,
    "tanh": _monotone(lambda p: p.tanh()),
    "sigmoid": _monotone(lambda p: (1 + (p / 2).tanh()) / 2),
    "tanh_slope": _monotone(_tanh_slope, *MODULI),
    "sigmoid_slope": _monotone(lambda p: _tanh_slope(p / 2) / 4, *MODULI),
    "relu": _relu,
    "abs": lambda p, kinks: abs(p),
    "sign": lambda p, kinks: 2 * _step(p, kinks) - 1,
    "step": _step,
    "modrelu": _modrelu,
    "modrelu_slope": _modrelu_slope,
    "exp": _monotone(lambda p: p.exp()),
    "expm1": _monotone(lambda p: p.expm1()),
    "log": _positive(lambda p: p.log(), "the logarithm"),
    "log1p": lambda p, kinks: BALLS["log"](1 + p, kinks),
    "sqrt": _positive(lambda p: p.sqrt(), "the root"),
    "sin": lambda p, kinks: p.sin(),
    "cos": lambda p, kinks: p.cos(),
    "atan": _monotone(lambda p: p.atan()),
    "erf": _monotone(lambda p: p.erf()),
    "erf_slope": _monotone(lambda p: 2 / arb.pi().sqrt() * (-p * p).exp(), *MODULI),
    "softplus": _monotone(lambda p: p.exp().log1p() if p < 50 else p + (-p).exp().log1p()),
    "power": _power,
}
