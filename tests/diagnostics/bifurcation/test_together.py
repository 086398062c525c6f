"""Branches that meet in more than one way at once: nothing is said of them that is not known."""

import re

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation import bifurcation
from dynlab.systems import create, from_function


def followed(system, parameter, lowest, highest):
    return bifurcation(
        system, parameter=parameter, lowest=lowest, highest=highest, values=0, max_period=1, searches=2, starts=16
    )


def tanh_map(matrix):
    system = create("vanilla", input_size=1, state_size=len(matrix), bias=False).double().requires_grad_(False)
    system.W.copy_(torch.as_tensor(matrix, dtype=torch.float64))
    return system


# Of h = tanh(s W h) beyond s = 1: 3 values of each coordinate of a diagonal W, all of them stable but 0.
@pytest.mark.parametrize(
    "matrix, beyond",
    [
        (np.diag([1.0, 1.0]), "4 stable and 5 unstable"),
        (np.diag([1.0, 1 - 1e-9]), "4 stable and 5 unstable"),
    ],
)
def test_of_branches_that_are_not_told_apart_only_the_points_beside_are_counted(matrix, beyond):
    ds = followed(tanh_map(matrix), "W*", 0.95, 1.05)
    said = ds.attrs["verdict"]
    assert "branches meet that could not be told apart" in said
    assert re.search(rf"1 stable and 0 unstable at 0\.999\d*, and {beyond} at 1\.000", said)
    assert "some may be one" in said
    assert " appear " not in said
    assert "pitchfork" not in said
    assert "degenerate" in ds["bifurcation_kind"].values
    within_error(ds, 1.0, slack=1e-9)


@pytest.mark.slow
def test_a_jordan_block_of_three_changes_at_one_parameter():
    # where p is within rounding of 1 the branch whose h₃ is not 0 has h₁ = 0.4 still: nothing happens there
    ds = followed(tanh_map(np.eye(3) + np.eye(3, k=1)), "W*", 0.95, 1.05)
    assert "and 2 stable and 5 unstable at 1.0" in ds.attrs["verdict"]
    assert " appear " not in ds.attrs["verdict"]
    assert set(ds["bifurcation_kind"].values) == {"degenerate"}
    assert ds["bifurcation_parameter_error"].values.max() < 1e-2
    within_error(ds, 1.0)


def within_error(ds, truth, slack=0.0):
    assert not ds["bifurcation_converged"].values.any()
    off = np.abs(ds["bifurcation_parameter"].values - truth)
    assert (off <= ds["bifurcation_parameter_error"].values + slack).all()


class Jordan(torch.nn.Module):
    """tanh(p W h / 1000), W a Jordan block: an error of p is 1000 times one of its eigenvalues, a square root.

    For p > 1000 h₂ has 3 values; h₁ has one beside each of ±h₂ (stable) and 3 beside 0 (unstable, since h₂ = 0 is).
    """

    def __init__(self):
        super().__init__()
        self.p, self.matrix = 0.0, torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)

    def forward(self, state, input):
        return torch.tanh(1e-3 * self.p * (state @ self.matrix.T))


def test_a_jordan_block_in_another_unit_of_the_parameter():
    ds = followed(from_function(Jordan(), 2), "p", 950.0, 1050.0)
    expected = r"1 stable and 0 unstable at 999\.\d*, and 2 stable and 3 unstable at 1,?000\.\d"
    assert re.search(expected, ds.attrs["verdict"])
    within_error(ds, 1000.0)


class TwoFolds(torch.nn.Module):
    """x ↦ x + (p − x²)/10 in both coordinates, the second a gap later."""

    def __init__(self, gap):
        super().__init__()
        self.p, self.gap = 0.0, torch.tensor([0.0, gap], dtype=torch.float64)

    def forward(self, state, input):
        return state + 0.1 * (self.p - self.gap - state.square())


def test_two_folds_at_once_are_degenerate():
    ds = followed(from_function(TwoFolds(0.0), 2), "p", -0.05, 0.05)
    assert "fold" not in ds["bifurcation_kind"].values
    assert not ds["bifurcation_converged"].values.any()
    assert "0 stable and 0 unstable at" in ds.attrs["verdict"]
    assert "1 stable and 3 unstable at" in ds.attrs["verdict"]


def test_pitchforks_that_are_apart_are_named_as_before():
    ds = followed(tanh_map(np.diag([1.0, 1 / 1.02])), "W*", 0.95, 1.05)
    origin = np.abs(ds["bifurcation_state"].values).max(axis=1) < 1e-9
    np.testing.assert_allclose(np.sort(ds["bifurcation_parameter"].values[origin]), [1, 1.02], atol=1e-10)
    assert set(ds["bifurcation_kind"].values) == {"pitchfork"}
    assert ds["bifurcation_converged"].values.all()
    assert "the origin loses stability at W* = 1 in a supercritical pitchfork" in ds.attrs["verdict"]
    assert "told apart" not in ds.attrs["verdict"]
