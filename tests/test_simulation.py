"""Orbits and solutions against closed forms, conserved quantities and orders of convergence."""

import numpy as np
import pytest
import scipy.linalg
import torch

import problems
from dynlab import schema
from dynlab.errors import UserError
from dynlab.systems import create, from_function
from dynlab.systems.textbook import Linear, LinearMap
from dynlab.trajectories import simulation
from dynlab.trajectories.simulation import simulate


def test_solution_of_a_linear_flow_is_the_matrix_exponential():
    matrix, times = problems.LINEAR["unstable focus"][0], np.linspace(0, 5, 11)
    found = simulate(Linear(matrix), initial_state=[1.0, 0.0], times=times)
    exact = [scipy.linalg.expm(np.array(matrix) * t)[:, 0] for t in times]
    np.testing.assert_allclose(found.trajectory[0], exact, rtol=0, atol=1e-10)
    assert found.time.attrs["units"] == schema.SECOND


def test_time_zero_is_the_initial_state_and_inputs_drive_from_there():
    # h_t = h_{t−1} + x_t sums the inputs.
    system = from_function(lambda h, x: h + x, 1, 1)
    inputs = np.arange(1.0, 5.0)[None, :, None].repeat(2, axis=0)
    found = simulate(system, inputs, initial_state=[[0.0], [10.0]])
    np.testing.assert_array_equal(found.trajectory[..., 0], [[0, 1, 3, 6, 10], [10, 11, 13, 16, 20]])
    np.testing.assert_array_equal(found.time, np.arange(5))


class Escape(Linear):
    def velocity(self, state, input, t=0):
        return state.square()  # h = 1/(1 − t) from 1


@pytest.mark.parametrize(
    "system, asked, values",
    [
        (LinearMap([[1e100]]), {"steps": 4}, [1, 1e100, 1e200, 1e300, np.nan]),
        (Escape([[1.0]]), {"times": [0.0, 0.5, 2.0]}, [1, 2, np.nan]),
    ],
)
def test_what_leaves_the_floats_is_nan_from_there_and_flagged(system, asked, values):
    found = simulate(system, initial_state=[1.0], **asked)
    np.testing.assert_allclose(found.trajectory[0, :, 0], values, rtol=1e-10)
    assert "trajectory" in schema.flags(found)


MAP = create("vanilla", input_size=2, state_size=3)
FLOW = Linear([[1.0]])
X = np.zeros((3, 4, 2))


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((MAP, np.zeros((1, 4, 3))), {}, r"shape \(sample, time, 2\), got \(1, 4, 3\)"),
        ((FLOW,), {}, "times="),
        ((torch.nn.Linear(1, 1),), {}, "Map or a Flow"),
        ((MAP, X), {"initial_state": [0.0]}, r"shape \(3,\)"),
        ((MAP, X), {"initial_state": np.zeros((2, 3))}, "3 input sequences for 2 initial"),
        ((MAP, X), {"times": [0.0, 1.0]}, "A map has no times="),
        ((FLOW,), {"times": [0.0, 0.0]}, "increasing order"),
    ],
)
def test_misuse_is_one_sentence(arguments, options, message):
    with pytest.raises(UserError, match=message):
        simulate(*arguments, **options)


@pytest.mark.parametrize("steps", [1, simulation.PIECE + 3])
def test_an_orbit_in_pieces_is_that_of_the_steps(steps):
    factor = torch.tensor([0.5, 0.9], dtype=torch.float64, requires_grad=True)
    system = from_function(lambda h, x: factor * h + x, state_size=2, input_size=1)
    inputs = torch.linspace(-1, 1, 3 * steps).double().reshape(3, steps, 1)
    state = start = torch.ones(3, 2, dtype=torch.float64)
    states = simulation.orbit(system, inputs, start)
    assert states.shape == (3, steps + 1, 2)
    assert states.requires_grad
    for t in range(steps):
        assert torch.equal(states[:, t], state)
        state = factor * state + inputs[:, t]
    assert torch.equal(states[:, -1], state)
