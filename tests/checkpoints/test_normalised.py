"""Weights of weight norm, of spectral norm and pruned ones are read as what the network computes with."""

import pytest
import torch
import torch.nn.utils.prune
from safetensors.torch import save_file
from torch import nn

from dynlab import checkpoints
from dynlab.errors import UserError

NORMS = {
    "weight norm": nn.utils.parametrizations.weight_norm,
    "weight norm along the other dimension": lambda *of: nn.utils.parametrizations.weight_norm(*of, dim=1),
    "weight norm of the whole": lambda *of: nn.utils.parametrizations.weight_norm(*of, dim=None),
    "the older weight norm": nn.utils.weight_norm,
    "spectral norm": nn.utils.parametrizations.spectral_norm,
    "the older spectral norm": nn.utils.spectral_norm,
    "pruning": lambda layer, name: nn.utils.prune.random_unstructured(layer, name, 0.5),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_step_of_what_is_read_is_the_models(norm, tmp_path):
    torch.manual_seed(0)
    layer = nn.GRU(2, 3)
    for name in ("weight_ih_l0", "weight_hh_l0"):
        norm(layer, name)
    for _ in range(5):
        layer(torch.randn(4, 1, 2))  # spectral norm follows its vectors while it is trained
    model = nn.ModuleDict({"encoder": layer, "head": nn.Linear(3, 2)}).eval()
    x, h = torch.randn(1, 2), torch.randn(1, 3)
    expected = layer(x[None], h[None])[1][0]
    torch.save(model.state_dict(), tmp_path / "a.pt")
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, tmp_path / "a.safetensors")
    for file in tmp_path.iterdir():
        torch.testing.assert_close(checkpoints.read(file).system.step(h, x), expected)


@pytest.mark.parametrize("prefix", ["", "0.rnns.0."])
@pytest.mark.parametrize("left_out", [[], ["module.weight_hh_l0"]])
def test_the_trained_weights_of_weight_drop_are_read_and_not_the_masked_ones(prefix, left_out, tmp_path):
    """As AWD-LSTM wraps an LSTM: the trained weights are its own, the layer has what was left of the last step."""
    state = {f"module.{name}": value for name, value in nn.LSTM(2, 3).state_dict().items()}
    state["weight_hh_l0_raw"] = state["module.weight_hh_l0"].clone()
    state["module.weight_hh_l0"] *= torch.rand(12, 3) > 0.5
    torch.save({f"{prefix}{key}": value for key, value in state.items() if key not in left_out}, tmp_path / "a.pt")
    found = checkpoints.read(tmp_path / "a.pt").system
    assert torch.equal(found.weight_hh, state["weight_hh_l0_raw"])
    assert torch.equal(found.weight_ih, state["module.weight_ih_l0"])


def test_a_norm_one_level_above_its_layer_is_computed(tmp_path):
    weights = nn.GRU(2, 3).state_dict()
    v, g = weights["weight_hh_l0"], torch.rand(9, 1)
    above = {"weight_hh_l0_g": g, "weight_hh_l0_v": v}
    torch.save({f"module.{key}": value for key, value in weights.items()} | above, tmp_path / "a.pt")
    found = checkpoints.read(tmp_path / "a.pt").system.weight_hh
    torch.testing.assert_close(found, g * v / v.norm(dim=1, keepdim=True))


UNTOLD = {
    "two layers": ({"weight_hh_l0_raw": (9, 3)}, "ab", "beside them 'weight_hh_l0_raw'"),
    "another shape": ({"weight_hh_l0_g": (9, 2), "weight_hh_l0_v": (9, 3)}, "a", "beside them 'weight_hh_l0_g'"),
    "a mask alone": ({"weight_hh_l0_mask": (9, 3)}, "a", "beside them 'weight_hh_l0_mask'"),
}


@pytest.mark.parametrize("parts, layers, sentence", UNTOLD.values(), ids=UNTOLD)
def test_parts_above_a_layer_that_do_not_tell_its_weights_are_refused(parts, layers, sentence, tmp_path):
    tensors = {f"{layer}.{name}": value for layer in layers for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(tensors | {name: torch.ones(shape) for name, shape in parts.items()}, tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        checkpoints.read(tmp_path / "a.pt", layer="a")


def test_another_parametrization_is_not_guessed(tmp_path):
    layer = nn.utils.parametrizations.orthogonal(nn.RNN(2, 3), "weight_hh_l0")
    torch.save(layer.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match="remove_parametrizations"):
        checkpoints.read(tmp_path / "a.pt")
