"""``--system package.module:factory``: a class of the user's own takes the file's weights."""

import sys

import pytest
import torch
from torch import nn

from dynlab.checkpoints import read
from dynlab.errors import UserError

MODULE = """
import torch.nn.utils.prune
from torch import nn, tanh
from dynlab import from_function, from_module

class Net(nn.Module):
    def __init__(self, hidden_size=4):
        super().__init__()
        self.core, self.head = nn.GRU(3, hidden_size), nn.Linear(hidden_size, 2)

class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(2, 2)

    def forward(self, state, input):
        return tanh(self.mix(state))

def as_system():
    return from_function(Step(), 2)

def as_module():
    return from_module(Step(), state_size=2)

def normed(norm="weight_norm", old=False):
    place = nn.utils if old else nn.utils.parametrizations
    return getattr(place, norm)(nn.GRU(3, 4), "weight_hh_l0")

def pruned():
    return nn.utils.prune.random_unstructured(nn.GRU(3, 4), "weight_hh_l0", 0.5)

def fails(width=0):
    raise RuntimeError("no such width")
"""
STATE = torch.tensor([0.3, -2.0], dtype=torch.float64)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    """The module in the working folder, which is not on the path, as for somebody who types the command there."""
    (tmp_path / "own_networks.py").write_text(MODULE)
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(5)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    yield
    sys.modules.pop("own_networks", None)


def saved(hidden=4):
    return nn.ModuleDict({"core": nn.GRU(3, hidden), "head": nn.Linear(hidden, 2)})


def own(name, **options):
    return read("a.pt", system_factory=f"own_networks:{name}", **options)


def assert_steps_by(linear, system):
    torch.testing.assert_close(system.step(STATE, torch.zeros(0)), torch.tanh(linear.double()(STATE)))


def test_the_users_class_takes_the_weights_and_the_hyper_parameters_that_it_has():
    model, path = saved(6), list(sys.path)
    torch.save({"state_dict": model.state_dict(), "hyper_parameters": {"hidden_size": 6, "lr": 0.1}}, "a.pt")
    found = own("Net")
    assert torch.equal(found.system.weight_hh, model["core"].weight_hh_l0.double())
    assert sys.path == path


PARAMETRIZED = {
    "weight norm": ("normed", {}),
    "the older weight norm": ("normed", {"old": True}),
    "spectral norm": ("normed", {"norm": "spectral_norm"}),
    "the older spectral norm": ("normed", {"norm": "spectral_norm", "old": True}),
    "pruning": ("pruned", {}),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("factory, options", PARAMETRIZED.values(), ids=PARAMETRIZED)
def test_a_weight_that_is_computed_of_parts_is_that_of_the_users_class(factory, options):
    torch.manual_seed(0)
    made = {}
    exec(MODULE, made)
    model = made[factory](**options)
    for _ in range(5):
        model(torch.randn(4, 1, 3))  # spectral norm follows its vectors while it is trained
    torch.save({"state_dict": model.state_dict(), "hyper_parameters": options}, "a.pt")
    x, h = torch.randn(1, 3), torch.randn(1, 4)
    expected = model.eval()(x[None], h[None])[1][0]
    torch.testing.assert_close(own(factory).system.step(h.double(), x.double()).float(), expected)
    with pytest.raises(UserError, match="no RNN, GRU or LSTM layer"):
        read("a.pt")


@pytest.mark.parametrize("prefix", ["mix.", "f.mix."])  # saved from the module, and from the system of it
@pytest.mark.parametrize("factory", ["as_system", "as_module"])
def test_a_step_of_the_users_own_becomes_a_system(factory, prefix):
    linear = nn.Linear(2, 2)
    torch.save({f"{prefix}{key}": value for key, value in linear.state_dict().items()}, "a.pt")
    assert_steps_by(linear, own(factory).system)


WRONG = {
    "own_networks": "takes PACKAGE.MODULE:FACTORY, got 'own_networks'",
    "own_netwroks:Net": r"failed \(ModuleNotFoundError: .*run in the folder",
    "own_networks:__name__": "failed .*not a callable",
    "own_networks:fails": r"failed \(RuntimeError: no such width\)",
    "fractions:Fraction": "must make a torch.nn.Module, got Fraction",
    "own_networks:Step": "weights do not fit what own_networks:Step makes.*mix.weight",
    "ends:x": r"failed \(SystemExit: 5\)",
}


@pytest.mark.parametrize("factory, sentence", WRONG.items())
def test_what_is_wrong_with_a_factory_is_one_sentence(factory, sentence):
    torch.save({"state_dict": saved().state_dict()}, "a.pt")
    with pytest.raises(UserError, match=sentence):
        read("a.pt", system_factory=factory)


def larger(*parts):
    """A model with an embedding, a head, and the step of the user's own below each of `parts`."""
    modules = {part: nn.ModuleDict({"mix": nn.Linear(2, 2)}) for part in parts}
    return nn.ModuleDict({"embedding": nn.Embedding(5, 2), **modules, "head": nn.Linear(2, 3)})


@pytest.mark.parametrize("wrapped", [lambda one: one, lambda one: {"model": one, "epoch": 3}])
def test_a_part_of_a_larger_model_is_named_by_its_layer(wrapped):
    model = larger("encoder", "decoder")
    torch.save(wrapped(model.state_dict()), "a.pt")
    assert_steps_by(model["decoder"]["mix"], own("as_system", layer="decoder").system)
    with pytest.raises(UserError, match=r"do not fit .*--layer names the part of a larger model"):
        own("as_system")
    model["decoder"]["norm"] = nn.LayerNorm(2)  # which its step may use
    torch.save(wrapped(model.state_dict()), "a.pt")
    with pytest.raises(UserError, match="do not fit"):
        own("as_system", layer="decoder")
