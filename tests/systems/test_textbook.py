"""Textbook systems against what the textbooks say, and the coRNN without what is inside tanh, an oscillator."""

import math

import numpy as np
import pytest
import torch
from cells import make

import problems
from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.systems.textbook import Linear, LinearMap
from dynlab.trajectories.simulation import orbit, simulate

NOTHING = torch.zeros(0, dtype=torch.float64)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("matrix, eigenvalues", problems.LINEAR.values(), ids=problems.LINEAR.keys())
@pytest.mark.parametrize("system", [Linear, LinearMap])
def test_eigenvalues_of_linear_systems(system, matrix, eigenvalues):
    found = np.linalg.eigvals(jacobian(system(matrix), torch.ones(len(matrix)).double(), NOTHING).dense().numpy())
    # a defective pair is known to the square root of rounding
    assert problems.eigenvalue_distance(found, eigenvalues) < 1e-7


def test_logistic_map_at_four_is_the_squared_sine():
    # x_t = sin²(2^t θ), while rounding doubles with every step: 1e-16 · 2^20
    theta = 0.7
    system = frozen(create("logistic", r=4.0))
    states = orbit(system, torch.zeros(20, 0).double(), tensor([math.sin(theta) ** 2]))[:, 0]
    expected = np.sin(2.0 ** np.arange(21) * theta) ** 2
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-9)


def test_henon_has_its_determinant_and_its_fixed_points():
    system = frozen(create("henon"))
    states = torch.randn(50, 2, generator=torch.Generator().manual_seed(20)).double()
    determinants = torch.linalg.det(jacobian(system, states, NOTHING).dense())
    np.testing.assert_allclose(determinants, -0.3, rtol=0, atol=1e-15)
    points = problems.henon_fixed_points()
    np.testing.assert_allclose(system.step(torch.from_numpy(points), NOTHING), points, rtol=0, atol=1e-15)


def test_lorenz_has_its_divergence_and_its_equilibria():
    system = frozen(create("lorenz"))
    states = 10 * torch.randn(50, 3, generator=torch.Generator().manual_seed(21)).double()
    traces = jacobian(system, states, NOTHING).dense().diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    np.testing.assert_allclose(traces, problems.lorenz_exponent_sum(), rtol=1e-14)
    points = torch.from_numpy(problems.lorenz_equilibria())
    np.testing.assert_allclose(system.velocity(points, NOTHING), 0, rtol=0, atol=1e-13)


def test_all_eigenvalues_on_the_left_at_every_time_and_growth_all_the_same():
    seconds = np.linspace(0, 20, 41)
    system = frozen(create("markus-yamabe"))
    found = simulate(system, initial_state=[-1.0, 0.0, 1.0, 0.0], times=seconds).trajectory.values[0]
    exact = np.exp(seconds / 2)[:, None] * np.stack([-np.cos(seconds), np.sin(seconds)], axis=-1)
    np.testing.assert_allclose(found[:, :2], exact, rtol=0, atol=1e-10 * np.exp(seconds[-1] / 2))
    matrices = system.matrix(torch.from_numpy(found[:, 2:])).numpy()
    pair = complex(problems.MARKUS_YAMABE["real"], problems.MARKUS_YAMABE["imaginary"])
    distances = [problems.eigenvalue_distance(each, [pair, pair.conjugate()]) for each in np.linalg.eigvals(matrices)]
    assert max(distances) < 1e-11


@pytest.mark.parametrize("gamma, epsilon", [(4.0, 0.4), (0.2, 6.4)], ids=["underdamped", "overdamped"])
def test_the_cornn_converges_to_the_damped_oscillator_with_order_one(gamma, epsilon):
    """x(t) of x'' = −γ x − ε x' from (1, 0) in closed form, at t = 2."""
    errors = []
    fast, slow = np.roots([1, epsilon, gamma])
    exact = ((fast * np.exp(slow * 2) - slow * np.exp(fast * 2)) / (fast - slow)).real
    for steps in (400, 800):
        network = make("cornn", hidden_size=1, step_size=2 / steps, gamma=gamma, epsilon=epsilon)
        for parameter in network.parameters():
            parameter.zero_()
        final = orbit(network, torch.zeros(steps, 3).double(), torch.tensor([1.0, 0.0]).double())[-1]
        errors.append(abs(float(network.output(final)) - exact))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.02)
