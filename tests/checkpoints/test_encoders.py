"""Linear layers before and after a network: with them the system is driven and held as the whole model is."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab.checkpoints import describe, read
from dynlab.cli.main import run
from dynlab.errors import UserError


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.gru, self.head = nn.Linear(2, 8), nn.GRU(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, u):
        return self.gru(torch.tanh(self.encoder(u)))[0]


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    made = Model()
    torch.save(made.state_dict(), "model.pt")
    return made


def test_the_states_are_those_of_the_whole_model(model):
    system = read("model.pt", encoder="encoder:tanh").system
    u = np.random.default_rng(0).normal(size=(2, 9, 2))
    expected = model(torch.as_tensor(u, dtype=torch.float32)).detach().numpy()
    assert system.network_input_size == 2
    np.testing.assert_allclose(dl.simulate(system, u)["trajectory"].values[:, 1:], expected, atol=1e-6)


def test_the_raw_input_is_what_is_held(model):
    """At a fixed point h* of the held raw zero, the model keeps h* when it is fed zeros."""
    ds = dl.fixed_points(read("model.pt", encoder="encoder:tanh").system, starts=8)
    with torch.no_grad():
        x = torch.tanh(model.encoder(torch.zeros(1, 1, 2)))
        for state in ds["fixed_point_state"].values:
            h = torch.as_tensor(state, dtype=torch.float32).reshape(1, 1, -1)
            torch.testing.assert_close(model.gru(x, h)[1], h, atol=1e-5, rtol=0)
    assert ds["fixed_point_state"].shape[0] >= 1


def test_what_stands_before_is_listed_and_warned_of_first(model, capsys):
    found = describe("model.pt")
    assert found["linear"] == {"encoder": [8, 2], "head": [3, 6]}
    assert found["encoders"] == ["encoder"]
    line = ["gradient", "model.pt", "--steps", "5", "--no-figure", "--quiet"]
    assert run(line) == 0
    assert capsys.readouterr().out.startswith("Inputs are made up at the GRU's own 8 inputs, behind encoder.weight: ")
    assert run([*line, "--encoder", "encoder:tanh"]) == 0
    assert capsys.readouterr().out.startswith("Over 5 steps")


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("encoder", "does not tell an encoder's activation"),
        ("encodr:tanh", "did you mean 'encoder'"),
        ("head:none", "gives 3"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(model, name, sentence):
    with pytest.raises(UserError, match=sentence):
        read("model.pt", encoder=name)


def test_a_named_read_out_reads_the_state(model):
    torch.testing.assert_close(read("model.pt", readout="head").readout.weight, model.head.weight)
