"""The AntisymmetricRNN: sizes, spectra and equilibria that its mathematics promises, and where it promises none."""

import pytest
import torch

from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen

NAMES = ["antisymmetric", "antisymmetric-gated"]


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(10), dtype=torch.float64)


def make(name, seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create(name, **({"input_size": 3, "state_size": 8} | config)))


def test_the_ablation_is_the_gated_network_with_any_matrix():
    # 196 units and 3 inputs: Table 2's 42k parameters
    cell = create("residual-gated", input_size=3, state_size=196)
    assert sum(p.numel() for module in (cell, torch.nn.Linear(196, 10)) for p in module.parameters()) == 41954
    assert float(cell.flow.M.detach().var()) == pytest.approx(1 / 196, rel=0.03)  # 38,416 values: known to 0.7 %
    gated, ablation = make("antisymmetric-gated", sigma_w=2.0), make("residual-gated", step_size=0.01)
    ablation.flow.load_state_dict(
        {name.replace("parametrizations.M.original", "M"): value for name, value in gated.flow.state_dict().items()}
        | {"M": gated.flow.M}
    )
    h, x = draw(4, 8), draw(4, 3)
    assert torch.equal(ablation.step(h, x), gated.step(h, x))
    assert ablation.known_equilibrium(x) is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sigma_w", [0.0, 4.0])
def test_initial_variances_are_those_of_the_appendix(name, sigma_w):
    # W: σ_w²/n, V: 1/m; a sample variance of N values has the relative deviation √(2/N), 1.6 % and 1.4 % here.
    torch.manual_seed(11)
    flow = create(name, input_size=100, state_size=128, sigma_w=sigma_w).flow
    upper = flow.parametrizations.M.original
    assert upper.shape == (128 * 127 // 2,)
    assert float(upper.detach().var()) == pytest.approx(sigma_w**2 / 128, rel=0.08)
    inputs = [value for key, value in flow.named_parameters() if key.startswith("V")]
    biases = [value for key, value in flow.named_parameters() if key.startswith("b")]
    assert len(inputs) == len(biases) == (1 if name == "antisymmetric" else 2)
    for V, b in zip(inputs, biases, strict=True):
        assert float(V.detach().var()) == pytest.approx(1 / 100, rel=0.08)
        assert float(b.detach().abs().max()) == 0


@pytest.mark.parametrize("sigma_w", [8.0])
def test_real_parts_lie_between_minus_gamma_times_the_slopes(sigma_w):
    gamma = 0.3
    system = make("antisymmetric", gamma=gamma, sigma_w=sigma_w)
    h, x = draw(50, 8), draw(50, 3)
    M = system.flow.M
    slopes = 1 - torch.tanh(h @ M.mT + x @ system.flow.V.mT + system.flow.b).square()
    real = torch.linalg.eigvals(jacobian(system.flow, h, x).dense()).real
    # rounding of an eigenvalue of a matrix of norm about 2 σ_w
    rounding = 1e-13 * sigma_w
    assert (real >= -gamma * slopes.max(dim=-1, keepdim=True).values - rounding).all()
    assert (real <= -gamma * slopes.min(dim=-1, keepdim=True).values + rounding).all()


def test_without_diffusion_eigenvalues_are_purely_imaginary():
    system = make("antisymmetric", gamma=0.0, sigma_w=2.0)
    real = torch.linalg.eigvals(jacobian(system.flow, draw(50, 8), draw(50, 3)).dense()).real
    assert float(real.abs().max()) < 1e-13


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gamma", [0.1])
def test_known_equilibrium_is_the_fixed_point_of_flow_and_map(name, gamma):
    system = make(name, gamma=gamma, step_size=0.01)
    x = draw(5, 3)
    equilibrium = system.known_equilibrium(x)
    assert equilibrium.shape == (5, 8)
    scale = float(equilibrium.norm(dim=-1).max())
    assert float(system.flow.velocity(equilibrium, x).norm(dim=-1).max()) < 1e-14 * (1 + scale)
    if name == "antisymmetric":
        # There the slopes are 1 and the map's Jacobian is I + ε M.
        expected = torch.eye(8, dtype=torch.float64) + 0.01 * system.flow.M
        found = jacobian(system, equilibrium, x).dense()
        torch.testing.assert_close(found, expected.expand(5, 8, 8), rtol=0, atol=1e-14)
    else:
        assert float(system.ungated_residual(equilibrium, x).abs().max()) < 1e-14 * (1 + scale)
