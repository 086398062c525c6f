"""`from_module`: the layer's real inputs, the layer's real step, and a module that is none the wiser."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from dynlab import from_module
from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.trajectories.simulation import simulate


def orbit_outputs(system):
    """What the layer gives on what was recorded, by dynlab's own steps."""
    states = torch.from_numpy(simulate(system)["trajectory"].values)
    found = system.output(states[:, 1:])
    return found.flip(1) if getattr(system, "reverse", False) else found


def test_the_recorded_inputs_are_those_of_the_layer_in_eval_mode(tagger, batch):
    found = from_module(nn.DataParallel(tagger), "encoder.rnn:0", batch)  # whose names are those of what it wraps
    np.testing.assert_array_equal(found.recorded_inputs, batch.numpy())  # no dropout, though the model trains
    encoded = tagger.encoder.rnn(batch)[0].detach()
    np.testing.assert_array_equal(from_module(tagger, "decoder", batch).recorded_inputs, encoded.numpy())
    cell = from_module(tagger, "cell", batch)
    np.testing.assert_array_equal(cell.recorded_inputs, 2 * batch.numpy())


def test_the_module_is_not_changed(batch):
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(7), nn.Dropout(0.5), nn.LSTM(3, 4, batch_first=True))
    model[2](torch.randn(2, 7, 3))[0].sum().backward()
    model.train()
    seen = []
    handle = model[2].register_forward_hook(lambda *_: seen.append(1))
    before = copy.deepcopy(model.state_dict())
    gradients = {name: value.grad.clone() for name, value in model[2].named_parameters()}
    addresses = {name: value.data_ptr() for name, value in model.named_parameters()}
    state = torch.random.get_rng_state()
    system = from_module(model, "2", batch.float())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())
    assert all(
        torch.equal(value, gradients[name]) for name, value in ((n, p.grad) for n, p in model[2].named_parameters())
    )
    assert {name: value.data_ptr() for name, value in model.named_parameters()} == addresses
    assert all(value.requires_grad and value.dtype == torch.float32 for value in model.parameters())
    assert model.training
    assert model[1].training
    assert (len(model[2]._forward_hooks), len(model[2]._forward_pre_hooks)) == (1, 0)
    handle.remove()
    parameters = list(system.parameters())
    assert not system.training
    assert {p.dtype for p in parameters} == {torch.float64}
    with torch.no_grad():
        parameters[0].zero_()
    assert torch.equal(model[2].weight_ih_l0, before["2.weight_ih_l0"])


FORMS = {
    "packed": ({"batch_first": True}, lambda x: pack_sequence(list(x))),
    "packed out of order": ({}, lambda x: pack_sequence(list(x), enforce_sorted=False)),
    "a tuple of arguments": ({"batch_first": True}, lambda x: (x, torch.ones(1, 5, 4, dtype=x.dtype))),
}


@pytest.mark.parametrize("options, form", FORMS.values(), ids=FORMS)
def test_every_form_of_input_becomes_sample_time_input(options, form, batch):
    module = nn.GRU(3, 4, **options).double()
    np.testing.assert_array_equal(from_module(module, batch=form(batch)).recorded_inputs, batch.numpy())


class Decoder(nn.Module):
    """Calls its layer step by step, with its state or without."""

    def __init__(self, keeps_state):
        super().__init__()
        self.keeps_state = keeps_state
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.unused = nn.GRU(3, 4)

    def forward(self, inputs, scale):
        state = None
        for t in range(inputs.shape[1]):
            _, state = self.rnn(scale * inputs[:, t : t + 1], state if self.keeps_state else None)


def test_a_layer_that_is_called_step_by_step(batch):
    arguments = (batch.float(), 2.0)
    expected = 2 * batch.float().double().numpy()
    np.testing.assert_array_equal(from_module(Decoder(True), "rnn", arguments).recorded_inputs, expected)
    apart = from_module(Decoder(False), "rnn", arguments).recorded_inputs  # each call is a sequence of its own
    np.testing.assert_array_equal(apart, np.concatenate([expected[:, t : t + 1] for t in range(7)]))


class Holder(nn.Module):
    def __init__(self, system):
        super().__init__()
        self.core = system

    def forward(self, inputs):
        state = inputs.new_zeros(inputs.shape[0], self.core.state_size)
        for t, x in enumerate(inputs.unbind(1)):
            state = self.core.step(state, 3 * x, t)
        return state


@pytest.mark.parametrize("name", ["vanilla", "gru"])
def test_a_system_of_dynlabs_inside_a_module(name, batch):
    size = "hidden_size" if name == "gru" else "state_size"
    model = Holder(create(name, input_size=3, **{size: 4}).double())
    system = from_module(model, "core", batch)
    np.testing.assert_array_equal(system.recorded_inputs, 3 * batch.numpy())
    assert (system.name, system.config) == (name, model.core.config)
    final = torch.from_numpy(simulate(system)["trajectory"].values[:, -1])
    torch.testing.assert_close(final, model(batch).detach(), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(from_module(model.core, batch=batch).recorded_inputs, batch.numpy())


def test_a_parametrised_weight_is_taken_at_its_value(batch):
    module = nn.RNN(3, 4, batch_first=True).double()
    nn.utils.parametrizations.orthogonal(module, "weight_hh_l0")
    nn.utils.parametrizations.weight_norm(module, "weight_ih_l0")
    system = from_module(module, batch=batch)
    torch.testing.assert_close(system.weight_hh, module.weight_hh_l0.detach(), rtol=0, atol=0)
    torch.testing.assert_close(orbit_outputs(system), module(batch)[0].detach(), rtol=1e-12, atol=1e-14)
    assert nn.utils.parametrize.is_parametrized(module)


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
def test_a_weight_that_an_older_hook_normalises_is_that_of_the_next_call(norm, batch):
    trained, module = (norm(nn.RNN(3, 4, batch_first=True).double(), "weight_hh_l0") for _ in range(2))
    trained(batch)
    module.load_state_dict(trained.state_dict())
    system = from_module(module, batch=batch)  # the module has not been called since
    torch.testing.assert_close(orbit_outputs(system), module.eval()(batch)[0].detach(), rtol=1e-12, atol=1e-14)


class Halved(nn.GRUCell):
    def forward(self, input, hx=None):
        return 0.5 * super().forward(input, hx)


class HalvedLayer(nn.GRU):
    def forward(self, input, hx=None):
        return tuple(each / 2 for each in super().forward(input, hx))


def hooked():
    layer = nn.RNN(2, 4)
    layer.register_forward_hook(lambda module, given, found: (found[0], 0.3 * found[1]))
    return layer


@pytest.mark.parametrize("module", [Halved(2, 4), HalvedLayer(2, 4), hooked()], ids=["cell", "layer", "hook"])
def test_a_layer_that_computes_something_else_than_torchs_is_not_taken_for_it(module):
    with pytest.raises(UserError, match=r"something else than torch's (GRU|GRUCell|RNN) with the same weights"):
        from_module(nn.ModuleDict({"rnn": module.double()}))


ERRORS = {
    "unequal lengths": (
        lambda x: from_module(nn.GRU(3, 4).double(), batch=pack_sequence([x[0], x[0, :4]])),
        r"different lengths \(4 to 7 steps\)",
    ),
    "not called": (lambda x: from_module(Decoder(True), "unused", (x.float(), 1.0)), "was not called"),
    "several": (lambda x: from_module(Decoder(True)), "2 recurrent systems.*rnn, unused"),
    "none": (lambda x: from_module(nn.Sequential(nn.Linear(2, 2))), "holds no RNN.*Linear"),
    "both directions": (lambda x: from_module(nn.GRU(3, 4, bidirectional=True)), "2 recurrent systems.*:0, :0r"),
    "a batch that does not fit": (lambda x: from_module(nn.GRU(5, 4).double(), batch=x), "does not run on this batch"),
}


@pytest.mark.parametrize("call, sentence", ERRORS.values(), ids=ERRORS)
def test_misuse_is_one_sentence(call, sentence, batch):
    with pytest.raises(UserError, match=sentence) as refused:
        call(batch)
    assert "\n" not in str(refused.value)


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@needs_gpu
def test_a_module_on_a_gpu_stays_there_and_its_system_is_on_the_cpu(tagger, batch):
    model = tagger.cuda()
    state = torch.cuda.get_rng_state()
    system = from_module(model, "decoder", batch.cuda())
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert {p.device.type for p in system.parameters()} == {"cpu"}
    assert {p.device.type for p in model.parameters()} == {"cuda"}


def test_a_module_that_is_one_step_records_its_inputs(batch):
    torch.manual_seed(3)
    cell = nn.GRUCell(3, 4)
    step = from_module(nn.utils.parametrizations.weight_norm(cell, "weight_hh"), state_size=4, input_size=3, order="xh")
    assert from_module(step).state_size == 4
    driven = from_module(cell, batch=batch, state_size=4, input_size=3, order="xh")
    np.testing.assert_array_equal(driven.recorded_inputs, batch.numpy())


@pytest.mark.parametrize("module", [nn.RNN(3, 4, device="meta"), nn.LSTMCell(3, 4, device="meta")])
def test_a_module_without_numbers_is_refused(module):
    with pytest.raises(UserError, match="meta device, without numbers: load its weights first"):
        from_module(module)
