"""Weights of weight norm, of spectral norm and pruned ones are read as what the network computes with."""

import pytest
import torch
import torch.nn.utils.prune
from safetensors.torch import save_file
from torch import nn

from dynlab import checkpoints
from dynlab.checkpoints.normalised import normalised
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


@pytest.mark.parametrize(
    "parts",
    [
        {"w_g": torch.ones(2), "w_v": torch.ones(3, 3)},
        {"w_g": torch.ones(2, 1), "w_v": torch.ones(3, 3)},
        {"w_g": torch.ones(3, 1, dtype=torch.int64), "w_v": torch.ones(3, 3, dtype=torch.int64)},
        {"w_g": torch.ones(3, 1)},
        {"w_orig": torch.ones(3, 3), "w_u": torch.ones(2), "w_v": torch.ones(3)},
        {"w_orig": torch.ones(3), "w_u": torch.ones(3), "w_v": torch.ones(3)},
        {"parametrizations.w.original": torch.ones(3, 3), "parametrizations.w.0.base": torch.ones(3, 3)},
    ],
)
def test_what_does_not_fit_stays_as_it_is(parts):
    assert list(normalised(parts)) == list(parts)
