"""Verdicts judged by what they say: the numbers in a sentence, in their order."""

import re

NUMBER = re.compile(r"(?<![\w.])[−-]?\d[\d,]*(?:\.\d+)?(?:e[−+-]?\d+)?")


def numbers_in(text):
    """Every number of a sentence but those of names such as h_0; a power of e is its exponent.

    >>> numbers_in("Over 1,536 steps ∂h_T/∂h_0 shrinks to e^−3.0 ≈ 5 % of its size, known to 1e−15.")
    [1536.0, -3.0, 5.0, 1e-15]
    """
    return [float(found.replace("−", "-").replace(",", "")) for found in NUMBER.findall(text.replace("e^", " "))]
