"""Linear layers before and after a network: with them the system is driven and held as the whole model is."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab.checkpoints import describe, read
from dynlab.cli.main import run
from dynlab.errors import UserError
from dynlab.systems import frozen


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


def test_the_whole_model_is_driven_and_its_raw_input_held(model):
    found = read("model.pt", encoder="encoder:tanh", readout="head")
    u = np.random.default_rng(0).normal(size=(2, 9, 2))
    expected = model(torch.as_tensor(u, dtype=torch.float32)).detach().numpy()
    assert found.system.network_input_size == 2
    np.testing.assert_allclose(dl.simulate(found.system, u)["trajectory"].values[:, 1:], expected, atol=1e-6)
    torch.testing.assert_close(found.readout.weight, model.head.weight)
    fixed = torch.as_tensor(dl.fixed_points(found.system, starts=8)["fixed_point_state"].values, dtype=torch.float32)
    assert len(fixed) >= 1
    held = torch.tanh(model.encoder(torch.zeros(1, len(fixed), 2)))
    torch.testing.assert_close(model.gru(held.transpose(0, 1), fixed[None])[1][0], fixed, atol=1e-5, rtol=0)


@pytest.mark.parametrize("activation", ["tanh", "relu", "none"])
def test_modes_are_driven_by_the_models_own_inputs_and_these_are_no_steps_input(model, activation, capsys):
    system = read("model.pt", encoder=f"encoder:{activation}").system
    ds = dl.modes(system, starts=8, at=[0.3, -0.2])
    raw, state = torch.tensor([0.3, -0.2], dtype=torch.float64), torch.as_tensor(ds["fixed_point_state"].values[0])
    whole = frozen(system)
    expected = torch.func.jacrev(lambda u: whole.step(state, whole.embedding(u)))(raw)
    np.testing.assert_allclose(ds["input_jacobian"][0], expected, atol=1e-12)
    with pytest.raises(UserError, match="not the model's input"):
        dl.bifurcation(system, parameter="input[0]", lowest=-1, highest=1)
    line = ["model.pt", "--encoder", f"encoder:{activation}", "--inputs", "noise:1.0", "--no-figure", "--quiet"]
    assert run(["pseudospectrum", *line, "--steps", "5", "--at-step", "3", "--grid", "5"]) == 0
    assert "at step 3 of sequence 0" in capsys.readouterr().out
    assert run(["geometry", *line, "--tangent", "0"]) == 0


def test_what_stands_before_is_listed_and_warned_of_first(model, capsys):
    found = describe("model.pt")
    assert found["linear"] == {"encoder": [8, 2], "head": [3, 6]}
    assert found["encoders"] == ["encoder"]
    line = ["gradient", "model.pt", "--steps", "5", "--no-figure", "--quiet"]
    assert run(line) == 0
    assert capsys.readouterr().out.startswith("Inputs are made up at the GRU's own 8 inputs, behind encoder.weight: ")
    assert run([*line, "--encoder", "encoder:tanh"]) == 0
    assert "behind" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, sentence",
    [("encoder", "an encoder's activation"), ("encodr:tanh", "did you mean 'encoder'"), ("head:none", "gives 3")],
)
def test_an_encoder_that_does_not_fit_is_refused(model, name, sentence):
    with pytest.raises(UserError, match=sentence):
        read("model.pt", encoder=name)
