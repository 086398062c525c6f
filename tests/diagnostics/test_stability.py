"""Critical steps, the plane of step and diffusion, and theory's bounds, against closed forms and other computations."""

import math

import numpy as np
import pytest
import torch

import dynlab as dl
import problems
from dynlab.matrices import parse_matrix, planar_matrix
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import planar_system

GAMMA, OMEGA = 0.15, 2.0  # of W_diff


def diff(step=0.1):
    return planar_system(planar_matrix("diff"), step_size=step)


def test_w_diff_is_known_in_closed_form():
    ds = dl.stability(diff())
    assert float(ds["critical_step"][0, 0]) == pytest.approx(problems.CRITICAL_STEP_DIFF, rel=1e-15)
    np.testing.assert_allclose(ds["step_modulus"], problems.MODULUS_DIFF, rtol=1e-15)
    needed = (1 - math.sqrt(1 - (0.1 * OMEGA) ** 2)) / 0.1
    assert float(ds["needed_diffusion"]) == pytest.approx(needed, rel=1e-12)
    assert float(ds["own_diffusion"]) == pytest.approx(GAMMA, rel=1e-15)


@pytest.mark.parametrize("step, stable", [(0.07458, 1), (0.074581, 0), (problems.CRITICAL_STEP_DIFF, -1)])
def test_at_the_critical_step_itself_nothing_is_decided(step, stable):
    assert dl.stability(diff(step))["stable"].item() == stable


def test_the_plane_of_w_diff_is_that_of_the_formula():
    ds = dl.stability(diff())
    gamma, step = ds["plane_diffusion"].values[:, None], ds["plane_step_size"].values
    np.testing.assert_allclose(ds["plane_modulus"], np.hypot(1 - step * gamma, step * OMEGA), rtol=1e-13)
    exact = problems.critical_step(ds["plane_diffusion"].values, OMEGA)
    for name in ("plane_critical_step", "formula_step_low", "formula_step_high"):
        np.testing.assert_allclose(ds[name], exact, rtol=1e-13)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_an_equilibrium_is_multiplied_by_the_stability_function(name):
    """The integrator's own Jacobian at rest has the moduli that the diagnostic derives from the flow's eigenvalues."""
    matrix = parse_matrix("-0.2,-2,0.3;2,-0.2,1;-0.3,-1,-0.2")
    flow = planar_system(matrix, "flow")
    ds = dl.stability(planar_system(matrix), integrator=name, step_size=0.7)
    step = frozen(INTEGRATORS[name](flow, 0.7))
    matrix = jacobian(step, torch.zeros(3).double(), torch.zeros(0).double()).dense().reshape(3, 3).numpy()
    found = np.sort(np.abs(np.linalg.eigvals(matrix)))
    np.testing.assert_allclose(np.sort(ds["step_modulus"].values.ravel()), found, rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_the_ungated_flow_keeps_its_bound_at_every_state(gamma):
    system = problems.made("antisymmetric", 1, input_size=3, state_size=9, step_size=0.2, gamma=gamma, sigma_w=4.0)
    inputs = np.random.default_rng(0).normal(size=(3, 30, 3))
    ds = dl.stability(system, inputs)
    bound = ds.sel(bound="real_part")
    assert str(bound["outcome"].values) in ("holds", "at the bound")
    states = torch.from_numpy(dl.simulate(system, inputs).trajectory.values[:, :-1])
    flow = frozen(system).flow
    slopes = 1 - torch.tanh(states @ flow.M.mT + torch.from_numpy(inputs) @ flow.V.mT).square().numpy()
    assert float(bound["theory_low"]) == pytest.approx(-gamma * slopes.max(), abs=1e-13)
    assert float(bound["theory_high"]) == pytest.approx(-gamma * slopes.min(), abs=1e-13)
    eigenvalues = np.linalg.eigvals(slopes[..., None] * flow.M.numpy())
    assert float(bound["measured_low"]) == pytest.approx(eigenvalues.real.min(), abs=1e-12)
    assert float(bound["measured_high"]) == pytest.approx(eigenvalues.real.max(), abs=1e-12)


def test_the_gated_flow_has_no_such_bound():
    """Its factors are the derivative of σ(p + p_z) tanh(p + p_h) by p along the trajectory, here by differences."""
    system = problems.made("antisymmetric-gated", input_size=96, state_size=128, step_size=0.1, sigma_w=4.0)
    inputs, flow = np.random.default_rng(0).normal(size=(1, 300, 96)), system.flow
    states = dl.simulate(system, inputs).trajectory.values[:, :-1]
    M, V_z, V_h = (each.detach().numpy() for each in (flow.M, flow.V_z, flow.V_h))
    p, p_z, p_h = states @ M.T, inputs @ V_z.T, inputs @ V_h.T

    def velocity(shift):
        return np.tanh(p + p_h + shift) / (1 + np.exp(-(p + p_z + shift)))

    factors = (velocity(1e-5) - velocity(-1e-5)) / 2e-5
    ds = dl.stability(system, inputs, times=2)
    assert (factors < 0).mean() == pytest.approx(0.52, abs=0.08)
    chosen = factors[:, ds["time"].values - 1]
    np.testing.assert_allclose(ds["negative_factors"], (chosen < 0).mean(axis=-1), atol=1e-12)
    exact = np.linalg.eigvals(chosen[..., None] * system.flow.M.detach().numpy()).real.max()
    assert float(ds["eigenvalue"].values.real.max()) == pytest.approx(exact, rel=1e-6)
    assert "real_part" not in ds["bound"]
    factor = ds.sel(bound="factor")
    assert str(factor["outcome"].values) == "holds"
    assert float(factor["theory_low"]) == -0.25


def test_asrnn_keeps_its_bound_and_exceeds_one():
    system = problems.made("asrnn", input_size=3, state_size=20, a=0.2, b=6.0)
    for name, parameter in system.requires_grad_(False).named_parameters():
        if "U_f" in name:
            parameter.normal_()
    inputs = np.random.default_rng(0).normal(size=(4, 40, 3))
    ds = dl.stability(system, inputs)
    bound = ds.sel(bound="jacobian_norm")
    diagonal = system.saturation().detach().numpy()
    assert float(bound["theory_high"]) == pytest.approx(diagonal.max() / diagonal.min(), rel=1e-14)
    assert str(bound["outcome"].values) == "holds"
    assert float(bound["measured_high"]) > 1.01


def ernn(**config):
    base = {"input_size": 3, "state_size": 12, "length": 30, "inner_steps": 2, "eta": 0.5}
    return problems.made("ernn", **(base | config))


def test_a_contraction_has_all_that_the_ernn_paper_says():
    system = ernn(rank=None, activation="tanh", projection=False, inner_steps=60)
    with torch.no_grad():
        system.U.weight.mul_(0.3 / torch.linalg.matrix_norm(system.U.weight, 2))
    ds = dl.stability(system, np.random.default_rng(0).normal(size=(2, 30, 3)), times=5)
    outcomes = dict(zip(ds["bound"].values.tolist(), ds["outcome"].values.tolist(), strict=True))
    assert {outcomes[name] for name in ("lemma_1", "lemma_2", "theorem_2", "corollary_1")} == {"holds"}
    assert outcomes["lemma_1_jacobian"] == "at the bound"
    assert float(ds.sel(bound="lemma_1_jacobian")["measured_high"]) < 1e-13
    assert float(ds.sel(bound="corollary_1")["measured_high"]) <= 0.65 + 1e-12  # 1 − η + η ‖U‖
    assert (ds["stable"] == 1).all()


def test_of_several_learned_steps_of_an_ernn_the_least_stable_one_counts():
    system = ernn(rank=None, activation="tanh")
    with torch.no_grad():
        system.eta.copy_(torch.stack([torch.linspace(-0.1, 0.1, 30), torch.linspace(2.5, 0.2, 30)]))
    ds = dl.stability(system, np.random.default_rng(0).normal(size=(2, 30, 3)), times=30)
    etas = system.eta.detach().numpy()
    every = np.abs(1 + etas[:, None, :, None] * ds["eigenvalue"].values).max(axis=-1)
    np.testing.assert_allclose(ds["step_modulus"].max("mode"), every.max(axis=0), rtol=1e-14)
    assert set(np.unique(ds["stable"])) == {0, 1}


def test_a_fastrnn_is_the_euler_step_of_its_flow():
    system = problems.made("fastrnn", input_size=2, state_size=6)
    inputs = np.random.default_rng(0).normal(size=(2, 15, 2))
    ds, spectrum = dl.stability(system, inputs), dl.spectrum(system, inputs)
    alpha, beta = (float(torch.sigmoid(each)) for each in (system.alpha.detach(), system.beta.detach()))
    np.testing.assert_allclose(ds["used_step"], alpha, rtol=1e-15)
    pairs = zip(1 + alpha * ds["eigenvalue"].values[0], spectrum["eigenvalue"].values[0], strict=True)
    assert max(problems.eigenvalue_distance(*pair) for pair in pairs) < 1e-14
    norm = np.linalg.norm(system.U.detach().numpy(), 2)
    assert float(ds.sel(bound="jacobian_norm")["theory_high"]) == pytest.approx(beta + alpha * norm, rel=1e-14)
    assert str(ds.sel(bound="jacobian_norm")["outcome"].values) == "holds"
