"""Equilibria and spectra that the mathematics of residual networks, of the ERNN and of a textbook flow promises."""

import math

import numpy as np
import pytest
import scipy.optimize
import torch
from cells import draw, make

import problems
from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.trajectories.simulation import orbit, simulate

EYE = torch.eye(6).double()
GATED = {"antisymmetric": False, "antisymmetric-gated": True}


def test_the_ablation_is_the_gated_network_with_any_matrix():
    gated, ablation = make("antisymmetric-gated", sigma_w=2.0), make("residual-gated", step_size=0.01)
    assert sum(p.numel() for p in ablation.parameters()) == 36 + 2 * (6 * 3 + 6)
    given = gated.flow.state_dict()
    given.pop("parametrizations.M.original")
    ablation.flow.load_state_dict(given | {"M": gated.flow.M})
    assert torch.equal(ablation.step(draw(4, 6), draw(4, 3)), gated.step(draw(4, 6), draw(4, 3)))
    assert ablation.known_equilibrium(draw(4, 3)) is None
    matrix = create("residual-gated", input_size=3, state_size=196).flow.M
    assert float(matrix.detach().var()) == pytest.approx(1 / 196, rel=0.03)  # 38,416 values: known to 0.7 %


@pytest.mark.parametrize("name", GATED)
def test_initial_variances_are_those_of_the_appendix(name):
    # W: σ_w²/n, V: 1/m; a sample variance of N values has the relative deviation √(2/N), 1.6 % and 1.4 % here.
    flow = make(name, input_size=100, state_size=128, sigma_w=4.0).flow
    variances = {key: float(value.var()) for key, value in flow.named_parameters()}
    assert variances.pop("parametrizations.M.original") == pytest.approx(16 / 128, rel=0.08)
    assert len(variances) == (4 if GATED[name] else 2)
    for key, variance in variances.items():
        assert variance == pytest.approx(0.01 if key.startswith("V") else 0, rel=0.08)


@pytest.mark.parametrize("name", [*GATED, "feedback"])
def test_the_known_equilibrium_is_the_fixed_point_of_flow_and_map(name):
    system, x = make(name, step_size=0.01, **{"gamma": 0.1} if name in GATED else {}), draw(5, 3)
    equilibrium = system.known_equilibrium(x)
    scale = 1 + float(equilibrium.abs().max())
    assert float(system.flow.velocity(equilibrium, x).abs().max()) < 1e-14 * scale
    if name == "antisymmetric-gated":
        assert float(system.ungated_residual(equilibrium, x).abs().max()) < 1e-14 * scale


@pytest.mark.parametrize("name", ["fastgrnn", "ugrnn"])
def test_the_ungated_residual_vanishes_at_a_fixed_point(name):
    cell, x, h = make(name, seed=1), draw(3), torch.zeros(6).double()
    for _ in range(2000):
        h = cell.step(h, x)
    torch.testing.assert_close(cell.step(h, x), h, rtol=0, atol=1e-14)
    assert float(cell.ungated_residual(h, x).abs().max()) < 1e-12


FLAT = {"inner_steps": 60, "eta": 0.9, "rank": None, "activation": "tanh"}
DEEP = {"layers": 2, "inner_steps": 80, "eta": 0.8}


@pytest.mark.parametrize(
    "name, start, sign, config",
    [("ernn", "previous", 1, FLAT), ("ernn", "zero", -1, FLAT), ("ernn-deep", "previous", 1, DEEP)],
)
def test_at_equilibrium_the_state_is_z_minus_the_old_state_at_any_depth(name, start, sign, config):
    """The condition depends on g + s h alone, so h_k = z*(x_k) − s h_{k−1} and ∂h_k/∂h_{k−1} = −s I."""
    system = make(name, length=1, start=start, sign=sign, **config)
    if name == "ernn":
        system.U.weight.mul_(0.5 / torch.linalg.matrix_norm(system.U.weight, 2))
    h, x = draw(8, 6), draw(3).expand(8, 3)
    sums = system.step(h, x) + sign * h
    torch.testing.assert_close(sums, sums[:1].expand(8, 6), rtol=0, atol=1e-12)
    if name == "ernn":
        assert float(system.inner_velocity(sums, 0 * sums, x).abs().max()) < 1e-12
    torch.testing.assert_close(jacobian(system, h, x).dense(), -sign * EYE.expand(8, 6, 6), rtol=0, atol=1e-10)


FUNCTIONS = {"tanh": np.tanh, "relu": lambda p: np.maximum(p, 0), "sigmoid": lambda p: 1 / (1 + np.exp(-p))}


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("projection", [True, False])
def test_the_equilibrium_of_the_exact_ernn_is_where_plain_iteration_ends(activation, projection):
    system, x = make("ernn-exact", activation=activation, projection=projection), draw(4, 3)
    U, W, b = system.U.weight.numpy(), system.W.numpy(), system.b.numpy()
    P = U if projection else np.eye(6)
    z = np.zeros((4, 6))
    for _ in range(500):  # P U contracts here: halving the way to the image converges
        z = (z + FUNCTIONS[activation]((z @ U.T + x.numpy() @ W.T + b) @ P.T)) / 2
    np.testing.assert_allclose(system.equilibrium(x).numpy(), z, rtol=0, atol=1e-13)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_exact_ernn_and_its_gradients_are_the_limit_of_many_euler_steps(sign):
    config = {"sign": sign, "rank": None, "activation": "tanh"}
    exact = make("ernn-exact", **config)
    ernn = make("ernn", length=4, inner_steps=100, eta=0.5, **config)
    ernn.load_state_dict(exact.state_dict() | {"eta": ernn.eta})
    x, start = draw(2, 4, 3), draw(2, 6)
    results = [orbit(system.requires_grad_(True), x, start) for system in (exact, ernn)]
    torch.testing.assert_close(*[states.detach() for states in results], rtol=0, atol=1e-12)
    for states in results:
        (states[:, 1:] * draw(2, 4, 6, seed=81)).sum().backward()
    for name in ("W", "b", "U.weight"):
        one, other = (system.get_parameter(name).grad for system in (exact, ernn))
        assert float(one.abs().max()) > 0.1
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_all_eigenvalues_on_the_left_at_every_time_and_growth_all_the_same():
    """The flow of Markus and Yamabe: a solution in closed form, and the eigenvalues of its matrix along it."""
    seconds = np.linspace(0, 20, 41)
    system = frozen(create("markus-yamabe"))
    found = simulate(system, initial_state=[-1.0, 0.0, 1.0, 0.0], times=seconds).trajectory.values[0]
    exact = np.exp(seconds / 2)[:, None] * np.stack([-np.cos(seconds), np.sin(seconds)], axis=-1)
    np.testing.assert_allclose(found[:, :2], exact, rtol=0, atol=1e-10 * np.exp(seconds[-1] / 2))
    pair = complex(problems.MARKUS_YAMABE["real"], problems.MARKUS_YAMABE["imaginary"])
    for values in np.linalg.eigvals(system.matrix(torch.from_numpy(found[:, 2:])).numpy()):
        assert problems.eigenvalue_distance(values, [pair, pair.conjugate()]) < 1e-11


def scalar(u, activation):
    """Z = φ(u z + x), one unit."""
    system = make("ernn-exact", input_size=1, state_size=1, activation=activation, projection=False)
    for value, number in ((system.U.weight, u), (system.W, 1.0), (system.b, 0.0)):
        value.fill_(number)
    return system


def test_where_there_is_no_equilibrium_the_state_is_nan_and_no_other():
    system = scalar(1.0, "relu")  # z = max(z + q, 0): 0 for q < 0, none for q > 0
    x, h = torch.tensor([[-1.0], [1.0], [-0.5]]).double(), torch.ones(3, 1).double()
    np.testing.assert_array_equal(system.step(h, x).flatten(), [-1, math.nan, -1])
    np.testing.assert_array_equal(jacobian(system, h, x).dense().flatten(), [-1, math.nan, -1])
    assert system.known_equilibrium(x) is None


@pytest.mark.parametrize("q", [0.2, -0.2])
def test_of_several_equilibria_the_flow_from_zero_chooses_a_stable_one(q):
    # u = 2 has three for abs(q) < 0.5328; from 0 the flow goes to the side of q
    found = float(scalar(2.0, "tanh").equilibrium(torch.tensor([q], dtype=torch.float64)))
    side = math.copysign(1, q)
    root = scipy.optimize.brentq(lambda z: math.tanh(2 * z + q) - z, 0.5 * side, side, xtol=1e-15)
    assert found == pytest.approx(root, abs=1e-14)
    assert abs(2 * (1 - found**2)) < 1
