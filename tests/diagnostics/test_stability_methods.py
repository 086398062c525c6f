"""Stability functions and the largest stable steps against the textbooks' numbers and by following rays."""

import numpy as np
import pytest

from dynlab.diagnostics.stability.methods import METHODS

NONE = np.zeros(1)
# Where the region ends on the negative real axis (Hairer and Wanner II, section IV.2).
REAL_END = {"euler": 2.0, "midpoint": 2.0, "rk4": 2.785293563405282, "implicit-midpoint": np.inf}
REAL_END["exponential-euler"] = np.inf


@pytest.mark.parametrize("name, end", REAL_END.items())
def test_the_end_on_the_negative_real_axis(name, end):
    step, flag = METHODS[name].largest_step(np.array([-4.0 + 0j]), NONE)
    assert step == pytest.approx(end / 4, rel=1e-13)
    assert flag == ""


@pytest.mark.parametrize("name", ["euler", "midpoint", "rk4"])
@pytest.mark.parametrize("angle", [0.51, 0.7, 1.0] * np.ones(3) * np.pi)
def test_the_modulus_leaves_one_at_the_largest_step_and_not_before(name, angle):
    method, value = METHODS[name], 3.0 * np.exp(1j * angle)
    step, _ = method.largest_step(np.array([value]), NONE)
    before = np.abs(method.factor(step * value * np.linspace(1e-6, 1 - 1e-6, 2000)))
    assert (before <= 1).all()
    assert abs(method.factor(step * value)) == pytest.approx(1, rel=1e-12)
    assert abs(method.factor(1.001 * step * value)) > 1


@pytest.mark.parametrize("name", METHODS)
def test_the_error_of_a_modulus_holds_what_an_error_of_z_does(name):
    generator = np.random.default_rng(0)
    z = generator.uniform(-2, 1, 400) + 1j * generator.uniform(-2, 2, 400)
    moved = z + 1e-4 * np.exp(2j * np.pi * generator.random(400))
    value, error = METHODS[name].modulus(z, np.full(400, 1e-4))
    change = np.abs(np.abs(METHODS[name].factor(moved)) - value)
    assert (change <= error).all()
    assert np.median(change / error) > 0.05
