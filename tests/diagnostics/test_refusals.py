"""What diagnostics refuse, each in one sentence that says what to give instead."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.diagnostics.geometry.tangent_map import tangent_map
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import LinearMap
from dynlab.systems.vanilla import FeedbackFlow
from problems import made, vanilla

ERNN = made("ernn", input_size=2, state_size=4, length=5)
DIFF, CELL = planar_system(planar_matrix("diff")), vanilla(np.eye(2), V=np.ones((2, 2)))
LSTM = made("lstm", input_size=1, hidden_size=2)
HALF = dl.from_function(lambda h, x: h / 2, state_size=1)
NOISE = np.random.default_rng(0).standard_normal((8, 40, 3))
PLANE = {"parameters": ("a", "b"), "lowest": (0.0, 0.1), "highest": (1.0, 0.3), "grid": 3}
RANGE = {"parameter": "r", "lowest": 2.0, "highest": 4.0, "values": 0}
REFUSED = [
    (dl.fixed_points, ERNN, {"at": "mean"}, "needs inputs"),
    (dl.fixed_points, ERNN, {"at_step": 7}, "the steps 0 to 4"),
    (dl.fixed_points, "lorenz", {"inputs": np.zeros((1, 3, 0))}, "give at="),
    (dl.geometry, CELL, {"inputs": np.zeros((2, 5, 2)), "transient": 5}, "at least 0 and below 5, got 5"),
    (tangent_map, "henon", {"point": [0.0, np.nan]}, "a point of 2 finite numbers"),
    (dl.lyapunov, "henon", {"steps": 10, "transient": 10}, "from 0 to below that, got 10"),
    (dl.lyapunov, "lorenz", {"inputs": np.zeros((5, 0))}, "A flow is solved without input"),
    (dl.bifurcation, "logistic", RANGE | {"lowest": 5.0}, "must go from a number to a larger one.*got 5.0 to 4.0"),
    (dl.bifurcation, "lorenz", RANGE | {"parameter": "rh"}, "Unknown parameter 'rh'.*did you mean 'rho'"),
    (dl.bifurcation, CELL, RANGE | {"parameter": "W[3,0]"}, "has 2 × 2 entries, counted from 0"),
    (dl.parameter_plane, "henon", PLANE | {"parameters": ("a", "a")}, "two different parameters"),
    (dl.parameter_plane, "henon", PLANE | {"grid": 10**6}, "needs at least .* MiB, more than the 1024 MiB allowed"),
    (dl.pseudospectrum, "henon", {"seconds": 1.0}, "seconds is a flow's"),
    (dl.pseudospectrum, LinearMap(np.eye(512).tolist()), {"max_memory": 40 * 2**20}, "512 units needs about 54 MiB"),
    (dl.phase_plane, DIFF, {"starts": [[1.0, 2.0, 3.0]]}, r"shape \(sample, 2\)"),
    (dl.phase_plane, DIFF, {"matrix": planar_matrix("identity")}, "not the system's Jacobian"),
    (dl.basins, "henon", {"grid": 100_000}, "is too fine: take a --grid of at most 4,096"),
    (dl.basins, "henon", {"box": [[0, 0], [1, 0]]}, "each coordinate with a range"),
    (dl.stability, LSTM, {}, "no Euler step of a flow"),
    (dl.energy, LSTM, {}, "'lstm' has no energy"),
    (dl.energy, DIFF, {"step_size": 50}, "25000 s are .* times the flow's own time scale"),
    (dl.box_bounds, vanilla([[1.0]], activation="relu"), {}, "need a box"),
    (dl.box_bounds, FeedbackFlow(0, 2), {"box": 1.0}, "take the step dynlab.Euler"),
    (dl.eigenvalue_bounds, HALF, {"inputs": np.zeros((9, 0))}, "set at least one of max_modulus, max_real"),
    (dl.eigenvalue_bounds, HALF, {"inputs": np.zeros((9, 0)), "max_real": 0.0}, "is no Euler step"),
    (dl.ernn_convergence, ERNN, {"inputs": np.zeros((21, 2))}, "T = 5"),
    (dl.compare, CELL, {"other": CELL, "inputs": NOISE[:5, :, :2]}, "give at least 6 sequences .--samples., got 5"),
    (dl.compare, CELL, {"other": CELL, "inputs": NOISE[:, :5, :2], "delays": 4}, "too few for 4 delays"),
]


@pytest.mark.parametrize("ask, system, arguments, sentence", REFUSED)
def test_what_is_refused(ask, system, arguments, sentence):
    system = dl.create(system) if isinstance(system, str) else system
    with pytest.raises(UserError, match=rf"(?s)^(?=[^\n]*$).*{sentence}"):
        ask(system, **arguments)


@pytest.mark.parametrize("other, sentence", [({}, "two steps, got 1"), ({1: dl.create("henon")}, "of one run")])
def test_networks_of_a_run_that_cannot_be_joined(other, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.over_training("spectrum", {0: HALF} | other, np.zeros((4, 0)))
