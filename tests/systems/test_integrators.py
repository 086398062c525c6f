"""Integrators against exact solutions, stability functions and slopes of convergence."""

import numpy as np
import pytest
import torch

import problems
from dynlab.matrices import planar_matrix
from dynlab.program.differentiation import jacobian
from dynlab.systems import ImplicitMidpoint, create, frozen
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import Linear
from dynlab.trajectories.simulation import simulate

# Order of convergence and stability function R(z), of the textbooks.
ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4, "implicit-midpoint": 2, "exponential-euler": 1}
STABILITY = {
    "euler": lambda z: 1 + z,
    "midpoint": lambda z: 1 + z + z**2 / 2,
    "rk4": lambda z: 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24,
    "implicit-midpoint": lambda z: (1 + z / 2) / (1 - z / 2),
    "exponential-euler": np.exp,
}
NOTHING = torch.zeros(0, dtype=torch.float64)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_order_of_convergence(name):
    flow, start = planar_system(planar_matrix("diff"), "flow"), problems.STARTS[2]
    exact = simulate(flow, initial_state=start, times=[0.0, 1.0]).trajectory.values[0, -1]
    errors = []
    for count in (20, 40, 80):
        found = simulate(INTEGRATORS[name](flow, 1 / count), steps=count, initial_state=start).trajectory.values[0, -1]
        errors.append(np.linalg.norm(found - exact))
    slope = -np.polyfit(np.log([20, 40, 80]), np.log(errors), 1)[0]
    assert abs(slope - ORDERS[name]) < 0.1


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("rate", [-0.15 + 2j, 2j])
def test_a_step_of_a_linear_flow_multiplies_by_the_stability_function(name, rate):
    flow = Linear([[rate.real, -rate.imag], [rate.imag, rate.real]])
    system = frozen(INTEGRATORS[name](flow, 0.3))
    state = torch.tensor([[1.0, 0.0], [0.3, -2.0]], dtype=torch.float64)
    multiplier = STABILITY[name](0.3 * rate)
    expected = torch.view_as_real(torch.view_as_complex(state) * multiplier)
    torch.testing.assert_close(system.step(state, NOTHING), expected, rtol=0, atol=1e-14)
    matrix = jacobian(system, state, NOTHING).dense()
    found = np.linalg.eigvals(matrix.expand(2, 2, 2).numpy())
    assert problems.eigenvalue_distance(found[0], [multiplier, multiplier.conjugate()]) < 1e-14


def test_the_implicit_midpoint_step_keeps_its_equation_far_from_rest():
    torch.manual_seed(3)
    flow = create("antisymmetric-gated", input_size=3, state_size=5, sigma_w=2.0).flow
    system = frozen(ImplicitMidpoint(flow, 2.0))
    states, inputs = (3 * torch.randn(40, size).double() for size in (5, 3))
    following = system.step(states, inputs)
    gap = following - states - 2.0 * system.flow.velocity((states + following) / 2, inputs)
    assert gap.norm(dim=-1).max() < 1e-12


def test_where_no_midpoint_exists_the_next_state_is_not_known():
    # h' = h: the midpoint (1 − ε/2)⁻¹ h does not exist at ε = 2
    system = frozen(ImplicitMidpoint(Linear([[1.0]]), 2.0))
    states = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    assert torch.isnan(system.step(states, NOTHING)[:, 0]).tolist() == [True, False]
