"""A step written out is the step: every family against its own system, in floating point and in ball arithmetic."""

import numpy as np
import pytest
import torch
from flint import arb

from dynlab.jacobians import automatic_jacobian
from dynlab.program import Program
from dynlab.proofs.balls import NonSmooth, enclose
from dynlab.proofs.formulas import FORMULAS, NoFormula, program_of
from dynlab.systems import Euler, create, from_function, frozen
from dynlab.systems.textbook import Linear, LinearMap, Lorenz
from dynlab.systems.torch_layers import torch_layer

CELLS = {
    "vanilla": {},
    "vanilla-sigmoid": {"activation": "sigmoid", "bias": False},
    "feedback": {},
    "antisymmetric": {},
    "antisymmetric-gated": {},
    "residual-gated": {},
    "fastrnn": {"activation": "relu"},
    "fastgrnn": {"state_rank": 2},
    "ugrnn": {},
    "ernn": {"length": 5, "inner_steps": 3, "rank": 2},
    "ernn-zero": {"length": 5, "rank": None, "sign": -1, "start": "zero", "activation": "tanh", "projection": False},
}
LAYERS = {
    "gru": {},
    "gru-2": {"num_layers": 2},
    "lstm": {"num_layers": 2, "proj_size": 3},
    "rnn": {"nonlinearity": "relu"},
    "rnn-3": {"num_layers": 3, "bias": False},
}


def cases():
    for name, config in CELLS.items():
        family = name if name in ("antisymmetric-gated", "residual-gated") else name.split("-")[0]
        yield name, lambda family=family, config=config: create(family, input_size=2, state_size=5, **config)
    for name, config in LAYERS.items():
        yield name, lambda name=name, config=config: create(name.split("-")[0], input_size=2, hidden_size=4, **config)
    yield "reverse layer", lambda: torch_layer(torch.nn.GRU(2, 4, 2, bidirectional=True), 1, True)
    yield "henon", lambda: create("henon")
    yield "logistic", lambda: create("logistic", r=3.2)
    yield "lorenz", lambda: Euler(Lorenz(), 0.01)
    yield "linear flow", lambda: Euler(Linear([[0.0, 1.0], [-1.0, 0.5]]), 0.1)
    yield "linear map", lambda: LinearMap([[0.3, 1.0], [-1.0, 0.5]])


CASES = dict(cases())


@pytest.mark.parametrize("name", CASES)
def test_the_program_and_its_balls_are_the_step_and_its_jacobian(name):
    system = frozen(CASES[name]())
    state, given = 0.5 * torch.randn(system.state_size).double(), torch.randn(system.input_size).double()
    program = program_of(system, given, 1)
    expected = system.step(state, given, 1).numpy()
    np.testing.assert_allclose(program.evaluate(state.numpy()), expected, atol=1e-14)
    found = enclose(program, [arb(float(entry)) for entry in state])
    np.testing.assert_allclose([float(entry) for entry in found.value], expected, atol=1e-14)
    matrix = np.array([float(entry) for entry in found.derivative.entries()]).reshape(len(state), -1)
    # by automatic differentiation, which shares nothing with the program
    np.testing.assert_allclose(matrix, automatic_jacobian(system, state, given, 1).dense().numpy(), atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_a_box_holds_the_steps_and_jacobians_of_its_states(name):
    system = frozen(CASES[name]())
    middle, given = 0.5 * torch.randn(system.state_size).double(), torch.randn(system.input_size).double()
    over = enclose(program_of(system, given, 1), [arb(float(entry), 0.25) for entry in middle], kinks=True)
    states = middle + 0.25 * (2 * torch.rand(20, system.state_size).double() - 1)
    images = system.step(states, given, 1).numpy()
    jacobians = automatic_jacobian(system, states, given.expand(20, -1), 1).dense().numpy()
    for bounds, values in ((over.value, images), (over.derivative.entries(), jacobians.reshape(20, -1))):
        low, high = (np.array([float(end) for end in ends]) for ends in zip(*map(_ends, bounds), strict=True))
        assert (values >= low - 1e-14).all()
        assert (values <= high + 1e-14).all()


def _ends(ball):
    return ball.lower(), ball.upper()


def test_every_formula_has_a_case_here():
    made = [frozen(make()) for make in CASES.values()]
    used = {type(part) for system in made for part in system.modules()}
    bases = {base for family in used for base in family.__mro__}
    assert set(FORMULAS) <= bases


def test_a_function_and_a_rounded_parametrization_have_no_formula():
    with pytest.raises(NoFormula, match="no ball arithmetic for system"):
        program_of(from_function(lambda h, x: torch.tanh(h), 2), torch.zeros(0))
    with pytest.raises(NoFormula, match="no ball arithmetic for system spectral"):
        program_of(create("spectral", input_size=1, state_size=4), torch.zeros(1))


def test_a_kink_is_refused():
    program = Program(1)
    program.activation("relu", program.state())
    with pytest.raises(NonSmooth, match="non-smooth point"):
        enclose(program, [arb(0, 1e-30)])
    assert enclose(program, [arb(-1, 0.5)]).value == [0]
