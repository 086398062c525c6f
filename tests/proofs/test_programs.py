"""A traced step is the step: in floating point, in balls and over boxes."""

import numpy as np
import pytest
import torch

pytest.importorskip("flint")

from flint import arb
from random_programs import value

from dynlab.program import NoProgram, Program
from dynlab.program.differentiation import automatic_jacobian
from dynlab.program.enclosure import NonSmooth, enclose, jacobian_over_box, radii_of, sizes_of
from dynlab.systems import SYSTEMS, Map, create, from_function, frozen
from dynlab.systems.examples import example_config

WITHOUT = ("ernn-exact",)  # whose step ends at an equilibrium that a solver finds
LISTED = {name: lambda name=name: create(name, **example_config(name)) for name in SYSTEMS if name not in WITHOUT}
MADE = {
    "stack": lambda: create("lstm", input_size=3, hidden_size=4, num_layers=2, proj_size=2, forget_bias=1.0),
    "steps of its own": lambda: create("ernn", input_size=3, state_size=4, length=5, inner_steps=2, activation="tanh"),
    "quotients": lambda: create("asrnn", input_size=3, state_size=4, a=0.5, b=1.5, chart="cayley"),
    "a clock": lambda: Clocked(2, 1),
    "layer norm": lambda: from_function(normalised, 4, 2),
    "GELU and softmax": lambda: from_function(attending, 4, 2),
}


class Clocked(Map):
    """A step that functions of its number move."""

    def step(self, state, input, t=0):
        t = torch.as_tensor(t, dtype=state.dtype)
        return torch.tanh(state * torch.sin(0.3 * t) + torch.cos(t)) + input * torch.exp(-t)


def normalised(h, x):
    return torch.tanh(torch.nn.functional.layer_norm(h + 0.1 * h**3, (4,)) + x.sum())


def attending(h, x):
    return torch.nn.functional.gelu(h * x[..., :1]) + torch.softmax(h, dim=-1) * torch.sin(h).mean(dim=-1, keepdim=True)


@pytest.fixture(params=[*LISTED, *MADE])
def system(request):
    torch.manual_seed(3)
    made = frozen((LISTED | MADE)[request.param]())
    for parameter in made.parameters():  # zeros at the start would hide what is forgotten
        parameter.add_(0.1 * torch.randn_like(parameter))
    return made


@pytest.mark.parametrize("share", [0, 1], ids=["point", "box"])
def test_balls_hold_the_steps_and_jacobians_of_their_states_and_are_tight_at_a_point(system, share):
    """Those that torch computes, by automatic differentiation, which shares nothing with a program."""
    middle, given, t = torch.randn(system.state_size).double(), torch.randn(system.input_size).double(), 1
    program = system.program(given, t)
    # a wide box may hold a jump of a modReLU, or a root of 0
    kinks = {"modrelu", "sqrt", "divide"} & {operation.name for operation in program.operations}
    radius = share * (1e-3 if kinks else 0.25)
    box = [arb(float(entry), radius) for entry in middle]
    states = middle + radius * (2 * torch.rand(10, system.state_size).double() - 1)
    inputs = given.expand(10, -1)
    steps = system.evolve(states, inputs, t).numpy()
    slopes = automatic_jacobian(system.evolve, states, inputs, t, "state").reshape(10, -1).numpy()
    over = enclose(program, box, kinks=bool(share))
    for bounds, values in ((over.value, steps), (over.derivative.entries(), slopes)):
        low, high = np.array([[float(ball.lower()), float(ball.upper())] for ball in bounds]).T
        rounding = 1e-12 * (1 + np.abs(values))
        assert (values >= low - rounding).all()
        assert (values <= high + rounding).all()
        assert share or (high - low <= 100 * rounding).all()
    np.testing.assert_allclose(value(program, middle), system.evolve(middle, given, t), rtol=1e-12, atol=1e-13)
    values, structured = jacobian_over_box(program, box)
    assert [float(entry.mid()) for entry in values] == [float(entry.mid()) for entry in over.value]
    whole = structured.matrix.mid()
    reach = sum((sizes_of(left) * sizes_of(right) for left, right in structured.terms), radii_of(structured.matrix))
    off = np.abs(slopes - [float(entry) for entry in whole.entries()])
    assert (off <= np.array([float(entry) for entry in reach.entries()]) + 1e-11).all()


def test_what_cannot_be_traced_says_so():
    with pytest.raises(NoProgram, match="gt, which is not among"):
        create("ernn-exact", input_size=1, state_size=4).program(torch.zeros(1))


@pytest.mark.parametrize("argument, refused", [(-0.5, True), (0.0, False), (0.49, False), (0.51, False)])
def test_a_modrelu_is_refused_at_its_border_and_nowhere_else(argument, refused):
    program = Program(1)
    constant = program.store(torch.tensor([-0.5]).double())
    program.output = program.append("modrelu", program.append("state", size=1), constant=constant)
    if refused:
        with pytest.raises(NonSmooth, match="border"):
            enclose(program, [arb(argument, 1e-30)])
    else:
        expected = np.sign(argument) * max(abs(argument) - 0.5, 0)
        found = enclose(program, [arb(argument, 1e-30)]).value[0]
        np.testing.assert_allclose(float(found), expected, atol=1e-15)
    over = enclose(program, [arb(0, 2)], kinks=True).value[0]
    assert over.contains(arb(0, 1.4999))
    assert float(over.abs_upper()) < 1.5001


def test_a_kink_is_refused():
    program = Program(1)
    program.output = program.append("relu", program.append("state", size=1))
    with pytest.raises(NonSmooth, match="non-smooth point"):
        enclose(program, [arb(0, 1e-30)])
    assert enclose(program, [arb(-1, 0.5)]).value == [0]
