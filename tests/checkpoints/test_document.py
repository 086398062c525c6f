"""dynlab's own format: what is read is bit for bit what was written."""

import inspect
import json

import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, document, read, write
from dynlab.errors import UserError, lookup
from dynlab.systems import SYSTEMS, create, from_function

# A value for every argument that a system of the table demands.
DEMANDED = {
    "input_size": 3,
    "hidden_size": 4,
    "state_size": 4,
    "length": 5,
    "matrix": [[0.5, -2.0], [2.0, 0.5]],
    "r": 3.7,
}
SUFFIXES = [".pt", ".safetensors"]


def made(name, dtype=torch.float32):
    torch.manual_seed(3)
    arguments = inspect.signature(lookup(SYSTEMS, name, "system")).parameters.values()
    system = create(name, **{p.name: DEMANDED[p.name] for p in arguments if p.default is inspect.Parameter.empty})
    return system.to(dtype)


def bits(tensors):
    return {
        name: (value.dtype, value.contiguous().reshape(-1).view(torch.uint8).tolist())
        for name, value in tensors.items()
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_returns_bit_for_bit(name, suffix, dtype, tmp_path):
    system = made(name, dtype)
    readout = nn.Linear(4, 2, dtype=dtype)
    facts = {"epoch": 7, "accuracy": 0.1 + 0.2, "command": "dynlab train", "seeds": [0, 1]}
    task = {"name": "har2", "standardise": "column"}
    path = write(tmp_path / f"a{suffix}", document(system, readout, task, facts))
    found = read(path)
    assert found.system.name == name
    assert bits(found.system.state_dict()) == bits(system.state_dict())
    assert json.dumps(found.system.config) == json.dumps(system.config)
    assert bits(found.readout.state_dict()) == bits(readout.state_dict())
    assert (found.task, found.system.task, found.layer) == ("har2", "har2", None)
    assert found.system.task_settings == {"standardise": "column"}
    assert found.facts == facts
    assert not found.system.training
    again = write(tmp_path / f"b{suffix}", document(found.system, found.readout, task, found.facts))
    assert bits(read(again).system.state_dict()) == bits(system.state_dict())


def test_the_document_in_a_lightning_checkpoint_is_read(tmp_path):
    system, readout = made("antisymmetric"), nn.Linear(4, 2)
    content = {
        "epoch": 4,
        "pytorch-lightning_version": "2.6.6",
        "state_dict": {f"network.system.{name}": value for name, value in system.state_dict().items()},
        "dynlab": document(system, readout, {"name": "har2"}, {"seed": 1}),
    }
    torch.save(content, tmp_path / "last.ckpt")
    found = read(tmp_path / "last.ckpt")
    assert (found.format, found.task, found.facts["epoch"], found.facts["seed"]) == ("lightning", "har2", 4, 1)
    assert bits(found.system.state_dict()) == bits(system.state_dict())
    assert describe(tmp_path / "last.ckpt")["systems"][0]["system"] == "antisymmetric"


def test_reading_draws_no_random_number(tmp_path):
    path = write(tmp_path / "a.pt", document(made("gru"), nn.Linear(4, 2)))
    before = torch.random.get_rng_state()
    read(path)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_neither_written_nor_read(value, tmp_path):
    system = made("gru")
    plain = document(system)
    with torch.no_grad():
        next(system.parameters()).view(-1)[0] = value
    with pytest.raises(UserError, match="NaN or infinite weights"):
        document(system)
    broken = plain | {"state_dict": system.state_dict()}
    with pytest.raises(UserError, match="NaN or infinite weights"):
        write(tmp_path / "a.pt", broken)
    assert list(tmp_path.iterdir()) == []
    torch.save(broken, tmp_path / "a.pt")
    with pytest.raises(UserError, match="NaN or infinite weights"):
        read(tmp_path / "a.pt")


CHANGES = {
    "a newer version": ({"version": 2}, "has not version 1 .* install a newer"),
    "an unknown system": ({"system": "grru"}, "Unknown system 'grru'.*did you mean 'gru'"),
    "no config": ({"config": None}, "no whole checkpoint"),
    "a wrong config": (
        {"config": {"input_size": 3, "hidden_size": 4, "width": 3}},
        "takes no setting 'width'",
    ),
    "another size": ({"config": {"input_size": 3, "hidden_size": 5}}, "do not fit the system 'gru'.*size mismatch"),
    "no weights": ({"state_dict": {}}, "do not fit the system 'gru'.*Missing key"),
    "a read-out that is none": ({"readout": {"weight": torch.zeros(3)}}, "read-out needs a weight"),
}


@pytest.mark.parametrize("change, sentence", CHANGES.values(), ids=CHANGES)
def test_a_document_that_does_not_hold_together_is_one_sentence(change, sentence, tmp_path):
    torch.save(document(made("gru")) | change, tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence) as refused:
        read(tmp_path / "a.pt")
    assert "\n" not in str(refused.value)


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match=r"dynlab.create"):
        document(from_function(lambda h, x: torch.tanh(h), 2))
    with pytest.raises(UserError, match="what JSON can hold"):
        document(made("gru"), training={"loss": float("nan")})
    with pytest.raises(UserError, match="does not exist"):
        write(tmp_path / "no" / "a.pt", document(made("gru")))
