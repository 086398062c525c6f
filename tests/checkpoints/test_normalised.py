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
pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")


@pytest.fixture(params=NORMS)
def model(request):
    """A network inside a model with both of a layer's matrices normalised, in evaluation mode after some steps."""
    torch.manual_seed(0)
    layer = nn.GRU(2, 3)
    for name in ("weight_ih_l0", "weight_hh_l0"):
        NORMS[request.param](layer, name)
    model = nn.ModuleDict({"encoder": layer, "head": nn.Linear(3, 2)})
    for _ in range(5):
        layer(torch.randn(4, 1, 2))  # spectral norm follows its vectors while it is trained
    return model.eval()


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_step_of_what_is_read_is_the_models(model, suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    torch.save(state, path) if suffix == ".pt" else save_file(state, path)
    system = checkpoints.read(path).system
    inputs, state = torch.randn(1, 2), torch.randn(1, 3)
    expected = model["encoder"](inputs[None], state[None])[1][0]
    torch.testing.assert_close(system.step(state, inputs), expected)


def test_what_another_parametrization_computes_is_not_guessed(tmp_path):
    layer = nn.utils.parametrizations.orthogonal(nn.RNN(2, 3), "weight_hh_l0")
    torch.save(layer.state_dict(), tmp_path / "rnn.pt")
    with pytest.raises(UserError, match="remove_parametrizations"):
        checkpoints.read(tmp_path / "rnn.pt")


class WeightDrop(nn.Module):
    """As AWD-LSTM wraps an LSTM: the trained weights are its own, the layer has what was left of the last step."""

    def __init__(self, layer):
        super().__init__()
        self.module = layer
        self.weight_hh_l0_raw = nn.Parameter(layer.weight_hh_l0.data.clone())
        layer.weight_hh_l0.data *= torch.rand_like(layer.weight_hh_l0) > 0.5


@pytest.mark.parametrize("prefix", ["", "0.rnns.0."])
@pytest.mark.parametrize("left_out", [[], ["module.weight_hh_l0"]])
def test_the_trained_weights_of_weight_drop_are_read_and_not_the_masked_ones(prefix, left_out, tmp_path):
    state = WeightDrop(nn.LSTM(2, 3)).state_dict()
    kept = {f"{prefix}{name}": value for name, value in state.items() if name not in left_out}
    torch.save(kept, tmp_path / "a.pt")
    found = checkpoints.read(tmp_path / "a.pt").system
    assert torch.equal(found.weight_hh, state["weight_hh_l0_raw"])
    assert torch.equal(found.weight_ih, state["module.weight_ih_l0"])


def test_a_norm_one_level_above_its_layer_is_computed(tmp_path):
    layer = nn.GRU(2, 3)
    v, g = layer.weight_hh_l0.data, torch.rand(9, 1)
    torch.save(
        {"module." + k: v for k, v in layer.state_dict().items()} | {"weight_hh_l0_g": g, "weight_hh_l0_v": v},
        tmp_path / "a.pt",
    )
    torch.testing.assert_close(
        checkpoints.read(tmp_path / "a.pt").system.weight_hh, g * v / v.norm(dim=1, keepdim=True)
    )


@pytest.mark.parametrize(
    "parts, layers, sentence",
    [
        ({"weight_hh_l0_raw": (9, 3)}, ("a", "b"), "which, the file does not tell"),
        (
            {"weight_hh_l0_g": (9, 2), "weight_hh_l0_v": (9, 3)},
            ("a",),
            "beside them 'weight_hh_l0_g', 'weight_hh_l0_v'",
        ),
        ({"weight_hh_l0_mask": (9, 3)}, ("a",), "beside them 'weight_hh_l0_mask'"),
    ],
)
def test_parts_above_a_layer_that_do_not_tell_its_weights_are_refused(parts, layers, sentence, tmp_path):
    tensors = {f"{layer}.{name}": value for layer in layers for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(tensors | {name: torch.ones(shape) for name, shape in parts.items()}, tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        checkpoints.read(tmp_path / "a.pt", layer=layers[0])
