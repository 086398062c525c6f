"""Stated errors of Lyapunov exponents against exact exponents: `benchmarks/exponent_coverage.py` with few orbits."""

import math

import numpy as np
import pytest

ORBITS = 8
# One of each kind that an error must see: closed forms, 0 with a power of time, chaos, noise in the growth, drift.
CHOSEN = (
    "orthogonal matrix, 5 × 5",
    "shear",
    "Jordan block at 1, 3 × 3",
    "tanh network of gain 0.9",
    "tanh of a rotation, at the edge",
    "logistic, r = 4, chaos",
    "logistic, r = 3, doubling",
    "skew product over it, 0.05",
    "standard map, K = 0.3",
    "Neimark–Sacker point",
    "random factors, mean ln -0.1",
)


@pytest.fixture(scope="module")
def benchmark(benchmark_of):
    return benchmark_of("exponent_coverage")


@pytest.fixture(scope="module")
def cases(benchmark):
    generator = np.random.default_rng(3)
    found = (*benchmark.linear_cases(ORBITS, generator), *benchmark.map_cases(ORBITS, generator))
    return {case.name: case for case in found}


@pytest.mark.parametrize("name", CHOSEN)
def test_no_sign_is_wrong_and_the_truth_lies_within_the_error(benchmark, cases, name):
    row = benchmark.row(cases[name])
    assert row.wrong == 0
    assert row.covered >= 0.95
    assert math.isnan(row.given) or row.given >= 0.85  # of eight orbits of one exponent, seven
