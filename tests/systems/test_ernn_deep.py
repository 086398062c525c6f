"""ERNN's deep transition: without layers the ERNN itself, at equilibrium its Lemma 1 at any depth."""

import pytest
import torch

from dynlab.program.differentiation import jacobian
from dynlab.systems import create


@pytest.mark.parametrize("start, sign", [("previous", 1), ("zero", -1)])
def test_without_layers_it_is_the_ernn_without_projection(start, sign):
    torch.manual_seed(0)
    options = {"input_size": 3, "state_size": 5, "length": 4, "inner_steps": 3, "start": start, "sign": sign}
    plain = create("ernn", **options, rank=None, projection=False, activation="tanh", eta=0.2).double()
    deep = create("ernn-deep", **options, layers=0, eta=0.2).double()
    with torch.no_grad():
        deep.W.copy_(plain.W)
        deep.b.copy_(plain.b)
        deep.U.copy_(plain.U.weight)
    state, input = torch.randn(6, 5, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(deep.step(state, input, 2), plain.step(state, input, 2), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("layers", [2])
def test_at_equilibrium_a_step_is_a_sum_and_minus_the_state_at_any_depth(layers):
    """h_k = z*(x_k) − h_{k−1} and ∂h_k/∂h_{k−1} = −I, where f contracts."""
    torch.manual_seed(1)
    options = {"input_size": 2, "state_size": 6, "length": 1, "layers": layers, "inner_steps": 80, "eta": 0.8}
    system = create("ernn-deep", **options).double()
    states, input = torch.randn(8, 6, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    with torch.no_grad():
        sums = system.step(states, input) + states
        torch.testing.assert_close(sums, sums[:1].expand(8, -1), rtol=0, atol=1e-12)
        matrices = jacobian(system, states, input.expand(8, 2)).dense()
    torch.testing.assert_close(matrices, -torch.eye(6).double().expand(8, 6, 6), rtol=0, atol=1e-10)
