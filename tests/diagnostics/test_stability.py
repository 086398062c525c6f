"""Critical steps, the plane of step and diffusion, theory's bounds and the energy, by closed forms and otherwise."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import dynlab as dl
import problems
from dynlab.diagnostics.stability.methods import METHODS
from dynlab.matrices import parse_matrix, planar_matrix
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import planar_system

GAMMA, OMEGA = 0.15, 2.0  # of W_diff


def diff(step=0.1):
    return planar_system(planar_matrix("diff"), step_size=step)


def test_w_diff_and_its_plane_are_known_in_closed_form():
    ds = dl.stability(diff())
    assert float(ds["critical_step"][0, 0]) == pytest.approx(problems.CRITICAL_STEP_DIFF, rel=1e-15)
    np.testing.assert_allclose(ds["step_modulus"], problems.MODULUS_DIFF, rtol=1e-15)
    needed = (1 - math.sqrt(1 - (0.1 * OMEGA) ** 2)) / 0.1
    assert float(ds["needed_diffusion"]) == pytest.approx(needed, rel=1e-12)
    assert float(ds["own_diffusion"]) == pytest.approx(GAMMA, rel=1e-15)
    gamma, step = ds["plane_diffusion"].values[:, None], ds["plane_step_size"].values
    np.testing.assert_allclose(ds["plane_modulus"], np.hypot(1 - step * gamma, step * OMEGA), rtol=1e-13)
    exact = problems.critical_step(ds["plane_diffusion"].values, OMEGA)
    for name in ("plane_critical_step", "formula_step_low", "formula_step_high"):
        np.testing.assert_allclose(ds[name], exact, rtol=1e-13)


@pytest.mark.parametrize("step, stable", [(0.07458, 1), (0.074581, 0), (problems.CRITICAL_STEP_DIFF, -1)])
def test_at_the_critical_step_itself_nothing_is_decided(step, stable):
    assert dl.stability(diff(step))["stable"].item() == stable


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


def test_the_factors_of_a_gated_flow_are_the_slopes_of_its_velocity_and_keep_their_bound():
    system = problems.made("antisymmetric-gated", input_size=3, state_size=16, step_size=0.1, sigma_w=4.0)
    inputs, flow = np.random.default_rng(0).normal(size=(1, 60, 3)), frozen(system).flow
    states = torch.from_numpy(dl.simulate(system, inputs).trajectory.values[:, -2])
    p_z, p_h = (torch.from_numpy(inputs[:, -1]) @ V.mT + states @ flow.M.mT for V in (flow.V_z, flow.V_h))
    ds = dl.stability(system, inputs, times=1)
    factors = torch.sigmoid(p_z) * ((1 - torch.sigmoid(p_z)) * p_h.tanh() + 1 - p_h.tanh().square())
    np.testing.assert_allclose(ds["negative_factors"], (factors < 0).double().mean(dim=-1)[:, None], atol=1e-12)
    exact = torch.linalg.eigvals(factors[..., None] * flow.M).real.max()
    assert float(ds["eigenvalue"].values.real.max()) == pytest.approx(float(exact), rel=1e-9)
    assert "real_part" not in ds["bound"]
    assert str(ds.sel(bound="factor")["outcome"].values) == "holds"


def test_asrnn_keeps_its_bound():
    system = problems.made("asrnn", input_size=3, state_size=20, a=0.2, b=6.0)
    for name, parameter in system.requires_grad_(False).named_parameters():
        if "U_f" in name:
            parameter.normal_()
    bound = dl.stability(system, np.random.default_rng(0).normal(size=(4, 40, 3))).sel(bound="jacobian_norm")
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


@pytest.mark.parametrize("gamma", [0.0, 0.15])
def test_diffusion_dissipates_the_energy_at_gamma_f_squared(gamma):
    """Ḣ = −γ |f|² and the divergence −γ Σ (1 − tanh²), at the states of the solution found another way."""
    flow = frozen(problems.made("antisymmetric", input_size=1, state_size=4, gamma=gamma)).flow
    held = [0.3]
    ds = dl.energy(flow, at=held, initial_state=np.ones(4), step_size=0.1, steps=100, integrators=["rk4"])
    x = torch.tensor(held, dtype=torch.float64)
    settings = {"t_eval": ds.time.values, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13}

    def velocity(_, h):
        return flow.velocity(torch.from_numpy(h), x).detach().numpy()

    solved = solve_ivp(velocity, (0.0, float(ds.time[-1])), np.ones(4), **settings)
    f = flow.velocity(torch.from_numpy(solved.y.T), x).detach().numpy()
    assert np.allclose(ds.dissipation, -gamma * (f**2).sum(axis=-1), rtol=1e-9, atol=1e-12)
    assert np.allclose(ds.divergence, -gamma * (1 - f**2).sum(axis=-1), rtol=1e-9)
    assert abs(ds.balance).max() < 1e-10
