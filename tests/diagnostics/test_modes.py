"""Modes against closed forms, a line attractor with its selection vector, and the response of the network itself."""

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.diagnostics.modes import lasting, modes
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes
from problems import Field, driven_linear, made

generator = np.random.default_rng


@pytest.mark.parametrize("damping, square", [(0.2, 1.0), (-0.3, 4.0)])
def test_an_oscillator(damping, square):
    """x'' + c x' + k x = 0 has λ = −c/2 ± i √(k − c²/4)."""
    ds = modes(Field(2, lambda s, x, v: (v, -square * x - damping * v))).isel(fixed_point=0)
    turning = np.sqrt(square - damping**2 / 4)
    np.testing.assert_allclose(ds["eigenvalue"], -damping / 2 + 1j * turning * np.array([1, -1]), rtol=1e-13)
    np.testing.assert_allclose(ds["time_constant"], 2 / damping, rtol=1e-13)
    np.testing.assert_allclose(ds["frequency"], turning / (2 * np.pi) * np.array([1, -1]), rtol=1e-13)
    np.testing.assert_allclose(ds["doubling_time"], np.nan if damping > 0 else -2 * np.log(2) / damping, rtol=1e-13)
    assert ds["frequency"].attrs["units"] == "cycle/s"


def test_a_shear():
    """[[a, c], [0, b]]: r = (1, 0), (c, b − a) and l = (1, c/(a − b)), (0, 1/(b − a)) before r has length 1."""
    a, b, shear = 0.9, 0.4, 30.0
    ds = modes(driven_linear([[a, shear], [0, b]], [[1.0, 0.0], [0.0, 2.0]])).isel(fixed_point=0)
    ratio = shear / (a - b)
    np.testing.assert_allclose(ds["condition"], np.hypot(1, ratio), rtol=1e-13)
    np.testing.assert_allclose(np.abs(ds["right_eigenvector"][0]), [1, 0], atol=1e-14)
    np.testing.assert_allclose(np.abs(ds["right_eigenvector"][1]), [ratio, 1] / np.hypot(ratio, 1), atol=1e-14)
    np.testing.assert_allclose(np.abs(ds["left_eigenvector"][0]), [1, ratio], rtol=1e-13)
    np.testing.assert_allclose(ds["input_drive"], [[1, 2 * ratio], [0, 2 * np.hypot(1, ratio)]], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ds["input_share"][0], np.array([1, 4 * ratio**2]) / (1 + 4 * ratio**2), rtol=1e-12)


def test_a_line_attractor_integrates_along_its_selection_vector():
    """λ = 1 along the line S e₁, which the selection vector, the first row of S⁻¹, picks out of state and input."""
    S = generator(0).standard_normal((5, 5))
    J = S @ np.diag([1.0, 0.6, 0.5, -0.3, 0.1]) @ np.linalg.inv(S)
    B = generator(1).standard_normal((5, 3))
    ds = modes(driven_linear(J, B), readout=nn.Linear(5, 2).double())
    assert ds["status"].values.tolist() == ["not isolated"]
    assert ds["fate"].values[0, 0] == "undecided"
    assert np.isposinf(ds["time_constant"].values[0, 0])
    assert np.isfinite(ds["time_constant"].values[0, 1:]).all()
    selection, line = np.linalg.inv(S)[0], S[:, 0]
    found = ds["left_eigenvector"].values[0, 0].real
    expected = selection * np.linalg.norm(line)
    np.testing.assert_allclose(found * np.sign(found @ expected), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ds["input_drive"][0, 0], np.abs(expected @ B), rtol=1e-11)


@pytest.mark.parametrize("modulus", [0.0, 0.5, 0.999999, 3.0])
def test_how_long_a_mode_lasts(modulus):
    found = lasting(np.array([modulus + 0j]), np.array([1e-9]))
    m = np.longdouble(modulus)
    with np.errstate(divide="ignore"):
        expected = float(-1 / np.log(m)) + 0.0
    assert found.time_constant[0] == pytest.approx(expected, rel=1e-9)
    assert found.fate[0] == ("grows" if modulus > 1 else "decays")
    nearby = [float(-1 / np.log(max(m + side, np.longdouble(1e-300)))) for side in (-1e-9, 1e-9)]
    assert found.error[0] == pytest.approx(max(abs(each - expected) for each in nearby), rel=1e-6)
    assert (found.time_constant[0] < 0) == (modulus > 1)
    assert np.isnan(found.frequency[0]) == (modulus == 0)


def test_the_response_of_the_network_is_that_of_its_modes():
    """A small input for one step, and what is left of it m steps later: ε Σ_i r_i λ_i^m l_i B."""
    network = made("vanilla", gain=3.0, input_size=3, state_size=20)
    ds = modes(network, starts=16).isel(fixed_point=0)
    state, size = torch.as_tensor(ds["fixed_point_state"].values), 1e-6
    zero = torch.zeros(3, dtype=torch.float64)
    for channel in range(3):
        ends = []
        for sign in (1, -1):
            h = network.step(state, zero + sign * size * torch.eye(3, dtype=torch.float64)[channel])
            for _ in range(6):
                h = network.step(h, zero)
            ends.append(h.detach().numpy())
        measured = (ends[0] - ends[1]) / (2 * size)
        driven = ds["left_eigenvector"].values @ ds["input_jacobian"].values[:, channel]
        predicted = (ds["right_eigenvector"].values.T * ds["eigenvalue"].values ** 6) @ driven
        np.testing.assert_allclose(measured, predicted.real, atol=1e-8 * np.abs(predicted).max() + 1e-9)
        np.testing.assert_allclose(np.abs(driven), ds["input_drive"][:, channel], rtol=1e-12)


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
