"""A traced step is the step and its Jacobian: in floating point within its stated errors, in balls and over boxes."""

from functools import partial

import numpy as np
import pytest
import torch
from conformance.test_systems import CASES
from flint import arb, ctx
from random_programs import value

from dynlab.program import NoProgram, Program
from dynlab.program.derived import derived
from dynlab.program.differentiation import automatic_jacobian, jacobian, jacobian_and_error
from dynlab.program.enclosure import NonSmooth, enclose, jacobian_over_box, radii_of, sizes_of
from dynlab.systems import (
    ExplicitMidpoint,
    ExponentialEuler,
    ImplicitMidpoint,
    Map,
    RungeKutta4,
    create,
    from_function,
    frozen,
)
from dynlab.systems.textbook import lorenz
from dynlab.systems.torch_layers import torch_layer
from dynlab.systems.vanilla import FeedbackFlow

BITS = 200
MEDIAN_WIDTH = 300  # roundings of an entry that half the bounds may be wide


class Clocked(Map):
    """A step that functions of its number move."""

    def step(self, state, input, t=0):
        t = torch.as_tensor(t, dtype=state.dtype).unsqueeze(-1)
        return torch.tanh(state * torch.sin(0.3 * t) + torch.cos(t)) + input * torch.exp(-t)


def normalised(h, x):
    return torch.tanh(torch.nn.functional.layer_norm(h + 0.1 * h**3, (4,)) + x.sum(dim=-1, keepdim=True))


def attending(h, x):
    return torch.nn.functional.gelu(h * x[..., :1]) + torch.softmax(h, dim=-1) * torch.sin(h).mean(dim=-1, keepdim=True)


MADE = {
    "midpoint": lambda: ExplicitMidpoint(FeedbackFlow(2, 3), 0.3),
    "Runge-Kutta": lambda: RungeKutta4(lorenz(), 0.01),
    "implicit midpoint": lambda: ImplicitMidpoint(create("antisymmetric-gated", input_size=2, state_size=3).flow, 0.4),
    "exponential Euler": lambda: ExponentialEuler(FeedbackFlow(2, 3), 0.4),
    "reverse layer": lambda: torch_layer(torch.nn.GRU(2, 4, 2, bidirectional=True), 1, True),
    "projected stack": lambda: create("lstm", input_size=2, hidden_size=5, num_layers=3, proj_size=2),
    "a clock": lambda: Clocked(2, 1),
    "layer norm": lambda: from_function(normalised, 4, 2),
    "GELU and softmax": lambda: from_function(attending, 4, 2),
} | {f"{name}-{number}": partial(create, name, **config) for number, (name, config) in enumerate(CASES)}


@pytest.fixture(params=MADE)
def system(request):
    torch.manual_seed(3)
    made = frozen(MADE[request.param]())
    for parameter in made.parameters():  # zeros at the start would hide what is forgotten
        parameter.add_(0.1 * torch.randn_like(parameter))
    return made


@pytest.fixture
def batch(system):
    generator = torch.Generator().manual_seed(2)
    states, inputs = (
        torch.randn(2, 3, n, generator=generator, dtype=torch.float64) for n in (system.state_size, system.input_size)
    )
    return states, inputs, torch.arange(3)


@pytest.mark.parametrize("by", ["state", "input"])
def test_a_jacobian_is_that_of_automatic_differentiation(system, batch, by):
    states, inputs, t = batch
    found = jacobian(system, states, inputs, t, by=by).dense()
    asked = automatic_jacobian(system.evolve, states, inputs, t, by)
    torch.testing.assert_close(found.expand(asked.shape), asked, rtol=1e-10, atol=1e-10)


def test_an_operator_is_its_matrix(system, batch):
    operator = jacobian(system, *batch)
    n = system.state_size
    matrix = operator.dense().expand(2, 3, n, n)
    x = torch.randn(2, 3, n, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    torch.testing.assert_close(operator.apply(x), matrix @ x, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(operator.apply_transpose(x), matrix.mT @ x, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(operator[1, 2].dense().expand(n, n), matrix[1, 2], rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(operator[:, 1:].apply(x[:, 1:]), matrix[:, 1:] @ x[:, 1:], rtol=1e-12, atol=1e-12)
    assert (operator.absolute().dense().expand_as(matrix) >= matrix.abs() * (1 - 1e-12)).all()
    torch.testing.assert_close(
        operator.log_abs_det().expand(2, 3), torch.linalg.slogdet(matrix).logabsdet, rtol=1e-9, atol=1e-9
    )


def test_every_entry_lies_within_its_stated_error(system, batch):
    try:
        derived(system)
    except NoProgram:
        pytest.skip("a step without a program has estimates")
    states, inputs, t = batch
    found, error = jacobian_and_error(system, *batch)
    widths = []
    for place in ((0, 0), (1, 2)):
        program = system.program(inputs[place], int(t[place[1]]))
        exact_numbers = program.is_exact
        program.errors[:] = [0.0] * len(program.errors)  # the stored numbers as they are
        with ctx.workprec(BITS):
            box = [arb(float(each)) for each in states[place]]
            try:
                exact = enclose(program, box)
            except NonSmooth:
                continue
            pairs = zip(
                exact.derivative.entries(), found[place].ravel().tolist(), error[place].ravel().tolist(), strict=True
            )
            for entry, value, bound in pairs:
                assert abs(entry - arb(value)) <= arb(bound) + arb(1e-300)
                if value and bound:
                    widths.append(bound / (np.finfo(float).eps * abs(value)))
    # what is computed from parameters has an error of its own, and an ERNN's pre-activations are nested
    assert not widths or not exact_numbers or "ernn" in system.name or np.median(widths) < MEDIAN_WIDTH


@pytest.mark.parametrize("share", [0, 1], ids=["point", "box"])
def test_balls_hold_the_steps_and_jacobians_of_their_states_and_are_tight_at_a_point(system, share):
    """Those that torch computes, by automatic differentiation, which shares nothing with a program."""
    middle, given, t = torch.randn(system.state_size).double(), torch.randn(system.input_size).double(), 1
    try:
        program = system.program(given, t)
    except NoProgram:
        pytest.skip("a step without a program has no balls")
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


def at(f, state):
    """The Jacobian of a function of one number, and its stated error."""
    found, error = jacobian_and_error(from_function(f, 1), torch.tensor([state]).double(), torch.zeros(0).double())
    return float(found), float(error)


def test_a_saturated_slope_and_a_closed_gate_keep_their_digits():
    found, error = at(lambda h, x: torch.tanh(40 * h), 1.0)
    exact = 40 * 4 * np.exp(-80.0)  # 1/cosh²(40), whose 1 − tanh² is 0 in float64
    assert abs(found / exact - 1) < 1e-13
    assert 0 < error < 1e-12 * exact
    gate = frozen(create("gru", input_size=1, hidden_size=1))
    for parameter in gate.parameters():
        parameter.fill_(0.0)
    gate.bias_hh[1], gate.weight_ih[2] = 45.0, 1.0  # ∂h'/∂x = 1 − z = 3e-20
    found = jacobian(gate, torch.zeros(1).double(), torch.zeros(1).double(), by="input").dense()
    assert abs(float(found) * np.exp(45.0) - 1) < 1e-13


def test_a_relu_at_its_kink_has_an_unbounded_error():
    assert at(lambda h, x: torch.relu(h), 0.0)[1] == np.inf
    assert at(lambda h, x: torch.relu(h), 0.7)[1] < 1e-15


def test_a_step_that_has_no_program_has_estimates():
    system = from_function(lambda h, x: torch.where(h > 0, torch.tanh(h), 2 * h), 2)
    with pytest.raises(NoProgram, match=r"where|gt"):
        derived(frozen(system))
    found, error = jacobian_and_error(frozen(system), torch.tensor([0.5, -1.0]).double(), torch.zeros(0).double())
    torch.testing.assert_close(found, torch.diag(torch.tensor([1 / np.cosh(0.5) ** 2, 2.0]).double()))
    assert (error > 0).all()


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


class Called(torch.nn.Module):
    """A cell, whose Jacobian is what a call gives."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self):
        ones = [torch.ones(2, size).double() for size in (self.cell.state_size, self.cell.input_size)]
        return jacobian(self.cell, *ones).dense()


class Scaled(Map):
    """A number kept as a buffer."""

    def __init__(self):
        super().__init__(1, 0)
        self.register_buffer("a", torch.tensor(1.2, dtype=torch.float64))

    def step(self, state, input, t=0):
        return self.a * state


OF_NUMBERS = {
    "parametrizations.B.original": lambda: create("exprnn", input_size=1, state_size=3),
    "weight_hh": lambda: create("gru", input_size=1, hidden_size=3),
    "a": Scaled,
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_parameters_that_a_functional_call_moves_or_a_hand_are_those_of_the_jacobian(name):
    called, scales = Called(frozen(OF_NUMBERS[name]())), torch.tensor([0.5, 1.0, 2.0]).double()
    state = dict(called.cell.named_parameters()) | dict(called.cell.named_buffers())
    first, original = called(), state[name].clone()
    together = torch.func.vmap(
        lambda scale: torch.func.functional_call(called, {f"cell.{name}": scale * original}, ())
    )(scales)
    torch.testing.assert_close(together[1], first)
    for scale, found in zip(scales, together, strict=True):
        state[name].copy_(scale * original)
        torch.testing.assert_close(found, called())
    assert (together[2] - together[1]).abs().max() > 1e-3
