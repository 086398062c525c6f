"""`from_module`: the layer's real inputs, the layer's real step, and a module that is none the wiser."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from dynlab import from_module
from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.trajectories.simulation import simulate


def assert_records(system, inputs):
    np.testing.assert_array_equal(system.recorded_inputs, inputs.detach().numpy())


def assert_ends(system, expected):
    """The steps on what was recorded give these states at t = 1 … T."""
    found = torch.from_numpy(simulate(system)["trajectory"].values[:, 1:])
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=1e-14)


def test_the_recorded_inputs_are_those_of_the_layer_in_eval_mode(tagger, batch):
    assert_records(from_module(nn.DataParallel(tagger), "encoder.rnn:0", batch), batch)  # no dropout, though it trains
    assert_records(from_module(tagger, "decoder", batch), tagger.encoder.rnn(batch)[0])
    assert_records(from_module(tagger, "cell", batch), 2 * batch)


def facts(model):
    """Everything that may change in a module, as text: values, gradients, storage, modes and hooks."""
    of_parameters = [(p.tolist(), p.grad.tolist(), p.data_ptr(), p.requires_grad) for p in model.parameters()]
    parts = [(part.training, *part._forward_hooks, *part._forward_pre_hooks) for part in model.modules()]
    buffers = [value.tolist() for value in model.buffers()]
    return repr((of_parameters, parts, buffers, torch.random.get_rng_state().tolist()))


def test_the_module_is_not_changed(batch):
    model = nn.Sequential(nn.BatchNorm1d(7), nn.Dropout(0.5), nn.LSTM(3, 4, batch_first=True))
    model(torch.randn(2, 7, 3))[0].sum().backward()
    model[2].register_forward_hook(lambda *_: None)
    before = facts(model)
    system = from_module(model, "2", batch.float())
    assert facts(model) == before
    assert not system.training
    assert {p.dtype for p in system.parameters()} == {torch.float64}
    with torch.no_grad():
        next(system.parameters()).zero_()
    assert facts(model) == before


FORMS = {
    "packed": ({"batch_first": True}, lambda x: pack_sequence(list(x))),
    "packed out of order": ({}, lambda x: pack_sequence(list(x), enforce_sorted=False)),
    "a tuple of arguments": ({"batch_first": True}, lambda x: (x, torch.ones(1, 5, 4, dtype=x.dtype))),
}


@pytest.mark.parametrize("options, form", FORMS.values(), ids=FORMS)
def test_every_form_of_input_becomes_sample_time_input(options, form, batch):
    assert_records(from_module(nn.GRU(3, 4, **options).double(), batch=form(batch)), batch)


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
    arguments, expected = (batch.float(), 2.0), 2 * batch.float().double()
    assert_records(from_module(Decoder(True), "rnn", arguments), expected)
    apart = torch.cat(expected.split(1, dim=1))  # each call is a sequence of its own
    assert_records(from_module(Decoder(False), "rnn", arguments), apart)


class Holder(nn.Module):
    def __init__(self, system):
        super().__init__()
        self.core = system

    def forward(self, inputs):
        states = [inputs.new_zeros(inputs.shape[0], self.core.state_size)]
        for t, x in enumerate(inputs.unbind(1)):
            states.append(self.core.step(states[-1], 3 * x, t))
        return torch.stack(states[1:], dim=1)


@pytest.mark.parametrize("name, sizes", [("vanilla", {"state_size": 4}), ("gru", {"hidden_size": 4})])
def test_a_system_of_dynlabs_inside_a_module(name, sizes, batch):
    model = Holder(create(name, input_size=3, **sizes).double())
    system = from_module(model, "core", batch)
    assert_records(system, 3 * batch)
    assert (system.name, system.config) == (name, model.core.config)
    assert_ends(system, model(batch))
    assert_records(from_module(model.core, batch=batch), batch)


NORMS = {
    "orthogonal": nn.utils.parametrizations.orthogonal,
    "weight norm": nn.utils.parametrizations.weight_norm,
    "the older weight norm": nn.utils.weight_norm,
    "the older spectral norm": nn.utils.spectral_norm,
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_a_weight_that_the_module_computes_is_that_of_the_next_call(norm, batch):
    trained, module = (norm(nn.RNN(3, 4, batch_first=True).double(), "weight_hh_l0") for _ in range(2))
    trained(batch)
    module.load_state_dict(trained.state_dict())
    system = from_module(module, batch=batch)  # the module has not been called since
    assert_ends(system, module.eval()(batch)[0])


class Halved(nn.GRUCell):
    def forward(self, input, hx=None):
        return 0.5 * super().forward(input, hx)


def hooked():
    layer = nn.RNN(2, 4)
    layer.register_forward_hook(lambda module, given, found: (found[0], 0.3 * found[1]))
    return layer


def of_two_lengths(x):
    return pack_sequence([x[0], x[0, :4]])


GRU = nn.GRU(3, 4).double()
ERRORS = {
    "another step": (lambda x: from_module(nn.Sequential(Halved(2, 4))), "something else than torch's GRUCell"),
    "a hook": (lambda x: from_module(hooked()), "something else than torch's RNN"),
    "unequal lengths": (lambda x: from_module(GRU, batch=of_two_lengths(x)), r"different lengths \(4 to 7 steps\)"),
    "not called": (lambda x: from_module(Decoder(True), "unused", (x.float(), 1.0)), "was not called"),
    "several": (lambda x: from_module(Decoder(True)), "2 recurrent systems.*rnn, unused"),
    "none": (lambda x: from_module(nn.Sequential(nn.Linear(2, 2))), "holds no RNN.*Linear"),
    "both directions": (lambda x: from_module(nn.GRU(3, 4, bidirectional=True)), "2 recurrent systems.*:0, :0r"),
    "a batch that does not fit": (lambda x: from_module(GRU, batch=x[..., :2]), "does not run on this batch"),
    "no numbers": (lambda x: from_module(nn.RNN(3, 4, device="meta")), "on the meta device"),
}


@pytest.mark.parametrize("call, sentence", ERRORS.values(), ids=ERRORS)
def test_what_cannot_be_taken_for_a_system_is_one_sentence(call, sentence, batch):
    with pytest.raises(UserError, match=sentence):
        call(batch)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_module_on_a_gpu_stays_there_and_its_system_is_on_the_cpu(tagger, batch):
    model, state = tagger.cuda(), torch.cuda.get_rng_state()
    system = from_module(model, "decoder", batch.cuda())
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert {p.device.type for p in system.parameters()} == {"cpu"}
    assert {p.device.type for p in model.parameters()} == {"cuda"}


def test_a_module_that_is_one_step_records_its_inputs(batch):
    cell, sizes = nn.GRUCell(3, 4), {"state_size": 4, "input_size": 3, "order": "xh"}
    assert_records(from_module(cell, batch=batch, **sizes), batch)
    step = from_module(nn.utils.parametrizations.weight_norm(cell, "weight_hh"), **sizes)
    assert from_module(step).state_size == 4
