"""Fixed points at a kink, and branches of layers without biases."""

import pytest
import torch

import dynlab as dl
from dynlab.diagnostics.bifurcation import bifurcation


class Kinked(dl.Map):
    """h ← f(a, h), with a kink at the fixed point 0 for every a."""

    def __init__(self, f):
        super().__init__(1, 0)
        self.f, self.a = f, torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))

    def step(self, state, input, t=0):
        return self.f(self.a, state)


KINKS = {
    "relu": lambda a, h: a * torch.relu(h),
    "modulus": lambda a, h: a * h.abs(),
    "leaky relu": lambda a, h: a * torch.nn.functional.leaky_relu(h, 0.1),
}


@pytest.mark.parametrize("name", KINKS)
def test_the_origin_on_a_kink_is_said_to_be_neither_stable_nor_without_a_change(name):
    """Neighbours at h > 0 grow by a, so that 0 attracts for a < 1 and repels for a > 1: no one Jacobian tells."""
    ds = bifurcation(Kinked(KINKS[name]), parameter="a", lowest=0.5, highest=1.5, values=0)
    assert (ds["stable"].values == -1).all()


@pytest.mark.parametrize("kind", [torch.nn.GRU, torch.nn.LSTM])
def test_branches_of_a_layer_without_biases_meet_at_the_origin_for_certain(kind):
    """0 stays 0 exactly at every value, and the leading eigenvalue there is ½ + ¼ a w of both, gates being ½."""
    layer = kind(1, 1, bias=False).double()
    weights = {torch.nn.GRU: [[0.7], [-0.4], [1.5]], torch.nn.LSTM: [[0.7], [-0.4], [1.5], [0.3]]}[kind]
    layer.weight_hh_l0.data = torch.tensor(weights, dtype=torch.float64)
    ds = bifurcation(dl.from_module(layer), parameter="weight_hh*", lowest=0.5, highest=3.0, values=0)
    kinds = ds["bifurcation_kind"].values.tolist()
    assert "transcritical" in kinds
    assert not any("undecided" in each for each in kinds)
    assert ds["bifurcation_parameter"].values[kinds.index("transcritical")] == pytest.approx(4 / 3, abs=1e-12)
