"""dynlab's own format: what is read is bit for bit what was written."""

import json

import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, document, read, write
from dynlab.errors import UserError
from dynlab.systems import create, from_function
from dynlab.systems.examples import example

GRU = create("gru", input_size=3, hidden_size=4)


def bits(tensors):
    return {name: (value.dtype, value.reshape(-1).view(torch.uint8).tolist()) for name, value in tensors.items()}


# One of each family; of all systems tests/conformance says that their settings and weights make them.
FAMILIES = ("rnn", "lstm", "fastgrnn", "cornn", "dtriv", "urnn", "ernn", "linear", "henon", "lorenz")


@pytest.mark.parametrize("suffix, dtype", [(".pt", torch.float32), (".safetensors", torch.bfloat16)])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_system_returns_bit_for_bit(name, suffix, dtype, tmp_path):
    system, readout = example(name).to(dtype), nn.Linear(4, 2, dtype=dtype)
    facts = {"epoch": 7, "accuracy": 0.1 + 0.2, "command": "dynlab train", "seeds": [0, 1]}
    before = torch.random.get_rng_state()
    made = document(system, readout, {"name": "har2", "standardise": "no"}, facts)
    found = read(write(tmp_path / f"a{suffix}", made))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert found.system.name == name
    assert bits(found.system.state_dict()) == bits(system.state_dict())
    assert json.dumps(found.system.config) == json.dumps(system.config)
    assert bits(found.readout.state_dict()) == bits(readout.state_dict())
    assert (found.task, found.system.task, found.layer) == ("har2", "har2", None)
    assert found.system.task_settings == {"standardise": "no"}
    assert found.facts == facts
    assert not found.system.training


def test_the_document_in_a_lightning_checkpoint_is_read(tmp_path):
    content = {
        "epoch": 4,
        "pytorch-lightning_version": "2.6.6",
        "state_dict": {f"network.system.{name}": value for name, value in GRU.state_dict().items()},
        "dynlab": document(GRU, nn.Linear(4, 2), {"name": "har2"}, {"seed": 1}),
    }
    torch.save(content, tmp_path / "last.ckpt")
    found = read(tmp_path / "last.ckpt")
    assert (found.format, found.task, found.facts["epoch"], found.facts["seed"]) == ("lightning", "har2", 4, 1)
    assert bits(found.system.state_dict()) == bits(GRU.state_dict())
    assert describe(tmp_path / "last.ckpt")["systems"][0]["system"] == "gru"


def test_weights_that_are_not_finite_are_neither_written_nor_read(tmp_path):
    system = create("gru", input_size=3, hidden_size=4)
    with torch.no_grad():
        next(system.parameters()).view(-1)[0] = torch.nan
    broken = document(GRU) | {"state_dict": system.state_dict()}
    torch.save(broken, tmp_path / "a.pt")
    for call in (lambda: document(system), lambda: read(tmp_path / "a.pt")):
        with pytest.raises(UserError, match="NaN or infinite weights"):
            call()


CHANGES = {
    "a newer version": ({"version": 2}, "is not of version 1 .* update dynlab"),
    "an unknown system": ({"system": "grru"}, "did you mean 'gru'"),
    "no config": ({"config": None}, "no whole checkpoint"),
    "a wrong config": ({"config": GRU.config | {"width": 3}}, "unexpected keyword argument 'width'"),
    "another size": ({"config": {"input_size": 3, "hidden_size": 5}}, "do not fit the system 'gru'.*size mismatch"),
    "no weights": ({"state_dict": {}}, "do not fit the system 'gru'.*Missing key"),
    "a read-out that is none": ({"readout": {"weight": torch.zeros(3)}}, "read-out needs a weight"),
    "a sparse read-out": ({"readout": {"weight": torch.ones(2, 4).to_sparse(), "bias": None}}, r"a\.pt"),
    "a great size": ({"config": {"input_size": 10**5000, "hidden_size": 4}}, r"a\.pt"),
    "a state that is a list": ({"state_dict": [1, 2]}, r"a\.pt"),
    "a task without a text": ({"task": {"name": 3}}, r"a\.pt"),
    "training that is text": ({"training": "x"}, r"a\.pt"),
}


@pytest.mark.parametrize("change, sentence", CHANGES.values(), ids=CHANGES)
def test_a_document_that_does_not_hold_together_is_one_sentence(change, sentence, tmp_path):
    torch.save(document(GRU) | change, tmp_path / "a.pt")
    for use in (read, describe):
        with pytest.raises(UserError, match=sentence):
            use(tmp_path / "a.pt")


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match=r"dynlab.create"):
        document(from_function(lambda h, x: torch.tanh(h), 2))
    with pytest.raises(UserError, match="what JSON can hold"):
        document(GRU, training={"loss": float("nan")})
    with pytest.raises(UserError, match="does not exist"):
        write(tmp_path / "no" / "a.pt", document(GRU))
