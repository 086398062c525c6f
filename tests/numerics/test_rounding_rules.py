"""The bound of every rule on numbers that are themselves wrong, compared with multi-precision arithmetic."""

import mpmath
import numpy as np
import pytest
import torch

from dynlab.numerics.running_error import Rounded, RunningErrors, bounded

OFF = (-1.0, -0.6, 0.0, 0.3, 1.0)  # of the argument's own error, where the real function is evaluated
WIDEST = 40.0  # times the argument's error or what it makes of the value, and a rounding
DIGITS = 60

ENTRYWISE = {
    "square": (lambda h: h**2, lambda p: p**2),
    "fifth power": (lambda h: h**5, lambda p: p**5),
    "reciprocal power": (lambda h: h**-2, lambda p: p**-2),
    "root": (lambda h: abs(h) ** 0.5, lambda p: mpmath.sqrt(abs(p))),
    "power of 3": (lambda h: 3.0**h, lambda p: mpmath.mpf(3) ** p),
    "expm1": (torch.expm1, mpmath.expm1),
    "log": (lambda h: torch.log(abs(h)), lambda p: mpmath.log(abs(p))),
    "log1p": (lambda h: torch.log1p(h * h), lambda p: mpmath.log1p(p * p)),
    "sinh": (torch.sinh, mpmath.sinh),
    "cosh": (torch.cosh, mpmath.cosh),
    "arctan": (torch.arctan, mpmath.atan),
    "clamp": (lambda h: h.clamp(-0.5, 0.7), lambda p: min(max(p, mpmath.mpf(-0.5)), mpmath.mpf(0.7))),
    "smaller": (lambda h: torch.minimum(h, 0.5 * h), lambda p: min(p, p / 2)),
}
OF_ROWS = {
    "mean": (lambda h: h.mean(-1), lambda row: [mpmath.fsum(row) / len(row)]),
    "norm": (lambda h: h.norm(dim=-1), lambda row: [mpmath.norm(row)]),
    "norm of linalg": (
        lambda h: torch.linalg.norm(h, dim=-1, keepdim=True),
        lambda row: [mpmath.norm(row)],
    ),
    "softmax": (
        lambda h: torch.softmax(h, -1),
        lambda row: [mpmath.exp(p) / mpmath.fsum(map(mpmath.exp, row)) for p in row],
    ),
}


def drawn(shape):
    """Numbers of many sizes with errors that are a small share of them, or none."""
    generator = np.random.default_rng(3)
    values = generator.normal(size=shape) * 10 ** generator.uniform(-12, 1, shape)
    errors = abs(values) * 10 ** generator.uniform(-16, -4, shape) * (generator.uniform(size=shape) < 0.7)
    return values, errors


@pytest.mark.parametrize("name", ENTRYWISE)
def test_what_a_function_of_one_number_computes_lies_within_its_bound(name):
    computed, real = ENTRYWISE[name]
    values, errors = drawn(200)
    with RunningErrors():
        made = computed(Rounded(torch.from_numpy(values), torch.from_numpy(errors)))
    found, bound = bounded(made)
    with mpmath.workdps(DIGITS):
        for p, dp, y, dy in zip(values, errors, found.tolist(), bound.tolist(), strict=True):
            wrong = [abs(real(mpmath.mpf(p) + off * mpmath.mpf(dp)) - y) for off in OFF]
            assert max(wrong) <= dy <= WIDEST * (max(*wrong, dp) + np.finfo(float).eps * abs(y)), (p, dp)


@pytest.mark.parametrize("name", OF_ROWS)
def test_what_a_function_of_a_row_computes_lies_within_its_bound(name):
    computed, real = OF_ROWS[name]
    values, errors = drawn((40, 5))
    with RunningErrors():
        made = computed(Rounded(torch.from_numpy(values), torch.from_numpy(errors)))
    found, bound = bounded(made)
    signs = np.random.default_rng(0).choice(OFF, (8, 5))
    with mpmath.workdps(DIGITS):
        for row, off, y, dy in zip(values, errors, found.reshape(40, -1), bound.reshape(40, -1), strict=True):
            for sign in signs:
                exact = real([mpmath.mpf(p) + s * mpmath.mpf(d) for p, s, d in zip(row, sign, off, strict=True)])
                assert all(abs(e - a) <= b for e, a, b in zip(exact, y.tolist(), dy.tolist(), strict=True))
        assert (dy <= WIDEST * (off.sum() + np.finfo(float).eps * y.abs())).all()


@pytest.mark.parametrize("function", [lambda h: h.norm(1), lambda h: h**h, lambda h: (-2.0) ** h])
def test_where_no_rule_fits_nothing_is_said_to_be_known(function):
    h = torch.tensor([1.0, 2.0], dtype=torch.float64)
    with RunningErrors():
        made = function(Rounded(h, torch.full_like(h, 1e-10)))
    assert bounded(made)[1].isinf().all()


@pytest.mark.parametrize("size", [1e-150, 1e-158, 1e-162, 1e-300])
def test_a_norm_whose_squares_underflow_is_known_to_be_wrong(size):
    h = torch.tensor([3 * size, 4 * size], dtype=torch.float64)
    with RunningErrors():
        made = torch.linalg.norm(h)
    value, error = bounded(made)
    assert abs(float(value) - 5 * size) <= float(error) <= 1e-15 * size + 1e-153


def test_a_number_that_is_made_a_tensor_once_more_keeps_its_error():
    h = torch.tensor([0.3], dtype=torch.float64)
    with RunningErrors():
        once = torch.exp(h) - 1
        again = torch.as_tensor(once, dtype=torch.float64) * torch.as_tensor(2)
        coarse = torch.as_tensor(once, dtype=torch.float32)
    assert float(bounded(again)[1]) >= 2 * float(bounded(once)[1]) > 0
    assert float(bounded(coarse)[1]) >= 2.0**-26
