"""Modes against closed forms, and a line attractor with its selection vector."""

import numpy as np
import pytest
from torch import nn

from dynlab.diagnostics.modes import lasting, modes
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes
from problems import Field, driven_linear

generator = np.random.default_rng


def test_an_oscillator_that_grows():
    """x'' − 0.3 x' + 4 x = 0 has λ = 0.15 ± i √(4 − 0.15²)."""
    ds = modes(Field(2, lambda s, x, v: (v, -4.0 * x + 0.3 * v))).isel(fixed_point=0)
    frequency = np.sqrt(4 - 0.15**2) / (2 * np.pi) * np.array([1, -1])
    for name, truth in (("time_constant", -1 / 0.15), ("frequency", frequency), ("doubling_time", np.log(2) / 0.15)):
        np.testing.assert_allclose(ds[name], truth, rtol=1e-13)
    assert ds["frequency"].attrs["units"] == "cycle/s"


def test_a_line_attractor_integrates_along_its_selection_vector():
    """λ = 1 along the line S e₁, which the selection vector, the first row of S⁻¹, picks out of state and input."""
    S = generator(0).standard_normal((5, 5))
    J = S @ np.diag([1.0, 0.6, 0.5, -0.3, 0.1]) @ np.linalg.inv(S)
    B = generator(1).standard_normal((5, 3))
    ds = modes(driven_linear(J, B), readout=nn.Linear(5, 2).double())
    assert ds["status"].values.tolist() == ["degenerate"]
    assert ds["fate"].values[0, 0] == "undecided"
    assert np.isposinf(ds["time_constant"].values[0, 0])
    assert np.isfinite(ds["time_constant"].values[0, 1:]).all()
    selection, line = np.linalg.inv(S)[0], S[:, 0]
    found = ds["left_eigenvector"].values[0, 0].real
    expected = selection * np.linalg.norm(line)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, rtol=1e-11, atol=1e-11)
    drive = np.abs(expected @ B)
    np.testing.assert_allclose(ds["input_drive"][0, 0], drive, rtol=1e-11)
    np.testing.assert_allclose(ds["input_share"][0, 0], drive**2 / (drive @ drive), rtol=1e-11)
    np.testing.assert_allclose(ds["condition"][0, 0], np.linalg.norm(expected), rtol=1e-11)


@pytest.mark.parametrize("modulus", [0.5, 0.999999, 3.0])
def test_how_long_a_mode_lasts(modulus):
    found = lasting(np.array([modulus + 0j]), np.array([1e-9]))
    expected, *nearby = (float(-1 / np.log(np.longdouble(modulus) + side)) for side in (0, -1e-9, 1e-9))
    assert found["time_constant"][0] == pytest.approx(expected, rel=1e-9)
    assert found["fate"][0] == ("grows" if modulus > 1 else "decays")
    assert found["time_constant_error"][0] == pytest.approx(max(abs(each - expected) for each in nearby), rel=1e-6)


@pytest.mark.parametrize("matrix", [[[0.5, 0.0], [0.0, 0.5]], [[0.5, 1.0], [0.0, 0.5 + 1e-12]]])
def test_a_mode_that_is_not_told_from_another_is_not_interpreted(matrix):
    ds = modes(driven_linear(matrix, np.eye(2)))
    assert ds["separated"].values.tolist() == [[0, 0]]
    for name in ("right_eigenvector", "left_eigenvector", "input_drive", "input_share"):
        assert np.isnan(ds[name]).all()
    assert (ds["fate"] == "decays").all()
    np.testing.assert_allclose(ds["time_constant"], 1 / np.log(2), rtol=1e-6)


def test_the_bound_on_an_eigenvector_holds():
    """Matrices from normal to nearly defective, changed by a known amount: no eigenvector turns by more than said."""
    random, change, ratios = generator(4), 1e-9, []
    for _ in range(300):
        S = np.eye(5) + random.standard_normal((5, 5)) * 10.0 ** random.uniform(-2, 1)
        J = S @ np.diag(random.uniform(-1, 1, 5)) @ np.linalg.inv(S)
        J /= np.linalg.norm(J)
        found = eigenmodes(J, eigenvalues(J, change).errors)
        E = random.standard_normal((5, 5))
        off = eigenmodes(J + change * E / np.linalg.norm(E, 2), np.full(5, 1e-15))
        place = np.abs(found.values[:, None] - off.values).argmin(axis=1)
        for first, second in ((found.right, off.right), (found.left, off.left)):
            a, b = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second[place]))
            beside = b - (a.conj() * b).sum(axis=1, keepdims=True) * a
            ratios.extend((np.linalg.norm(beside, axis=1) / found.errors)[found.resolved])
    assert len(ratios) > 1000
    assert max(ratios) < 1
