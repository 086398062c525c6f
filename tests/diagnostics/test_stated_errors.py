"""Numbers lie within their stated errors: slices of benchmarks/stated_errors.py and benchmarks/exponent_coverage.py."""

import importlib.util
import math
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from saturated_networks import FAMILIES

from dynlab.diagnostics.gradient import gradient
from problems import vanilla

WEIGHT, STEPS = 2.0, 3
# Of the benchmark's networks: bounds are at most so many times as large as the true error, or one rounding.
WIDTH = {"spectra": {0.5: 100, 0.95: 1e7}, "products": {0.5: 1000, 0.95: 2e5}}


@cache
def benchmark(name):
    """A module of the folder benchmarks."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def within(rows):
    """That no number lies outside its error, and no −inf is one that is not."""
    found = benchmark("stated_errors").summary(rows)
    assert (found["outside"], found["false zeros"]) == (0, 0)
    return found


@cache
def small_networks():
    return [benchmark("stated_errors").judged(k, largest_time=8, largest_size=5) for k in range(len(FAMILIES))]


@pytest.mark.parametrize("kind", WIDTH)
def test_every_family(kind):
    found = within([row for each in small_networks() for row in each[kind]])
    assert found["answered"] > 0.9
    for share, width in WIDTH[kind].items():
        assert found[f"width {share}"] <= width


# Of the benchmark: states of 1e46 whose slopes are 0 (ERNN), a mode that is exactly zero and was told from zero,
# errors that a row hands on to the one above it, slopes below 1e-162; and two with lost modes.
@pytest.mark.parametrize("number, answered", [(0, 0), (281, 0), (503, 0), (848, 0), (260, 0.9), (364, 0.6), (773, 0.2)])
def test_single_networks(number, answered):
    rows = benchmark("stated_errors").judged(number)
    within(rows["spectra"])
    assert answered == 0 or within(rows["products"])["answered"] >= answered


def test_a_slope_that_underflows_is_not_known():
    ds = gradient(vanilla([[WEIGHT]], [400.0]), np.zeros((STEPS, 1)), loss=lambda states, _: states[:, -1, 0])
    for name in ("log_norm", "log_loss_gradient"):
        assert np.isnan(ds[name].values[0, :-1]).all()
    assert math.isinf(ds["log_norm_error"].values[0, 0])


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


@cache
def exponents():
    of, generator = benchmark("exponent_coverage"), np.random.default_rng(3)
    return {case.name: case for case in (*of.linear_cases(ORBITS, generator), *of.map_cases(ORBITS, generator))}


@pytest.mark.parametrize("name", CHOSEN)
def test_no_sign_of_an_exponent_is_wrong_and_the_truth_lies_within_the_error(name):
    row = benchmark("exponent_coverage").row(exponents()[name])
    assert row.wrong == 0
    assert row.covered >= 0.95
    assert math.isnan(row.given) or row.given >= 0.85  # of eight orbits of one exponent, seven
