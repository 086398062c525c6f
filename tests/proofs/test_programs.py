"""A step written out is the step: every system of the table, in floating point, in balls, and in the checker's own."""

import numpy as np
import pytest
import torch
from conformance.test_systems import CASES as LISTED
from flint import arb

from dynlab.certificate_check import Arithmetic, Reader, evaluate
from dynlab.jacobians import automatic_jacobian
from dynlab.program import NoProgram, Program
from dynlab.program.enclosure import NonSmooth, enclose
from dynlab.proofs.document import written
from dynlab.proofs.structured import jacobian_over_box
from dynlab.systems import Euler, ExplicitMidpoint, Flow, RungeKutta4, create, from_function, frozen
from dynlab.systems.fastrnn import FastRNN, FastRNNFlow
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated
from dynlab.systems.textbook import LinearMap, Lorenz
from dynlab.systems.torch_layers import torch_layer
from dynlab.systems.vanilla import FeedbackFlow, Vanilla

WITHOUT = ("ernn-exact",)  # whose step ends at an equilibrium that a solver finds
CASES = {f"{name} {number}": (name, config) for number, (name, config) in enumerate(LISTED) if name not in WITHOUT}
MADE = {
    "linear map": lambda: LinearMap([[0.3, 1.0], [-1.0, 0.5]]),
    "reverse layer": lambda: torch_layer(torch.nn.GRU(2, 4, 2, bidirectional=True), 1, True),
    "flow of a FastRNN": lambda: FastRNNFlow(FastRNN(2, 3)),
    "midpoint": lambda: ExplicitMidpoint(FeedbackFlow(2, 3), 0.3),
    "Runge-Kutta": lambda: RungeKutta4(Lorenz(), 0.01),
    "three steps": lambda: Iterated(Held(frozen(Vanilla(2, 3)), torch.tensor([0.5, -1.0]).double()), 3),
}
BITS = 200


@pytest.fixture(params=[*CASES, *MADE])
def system(request):
    torch.manual_seed(3)
    if request.param in MADE:
        return frozen(MADE[request.param]())
    name, config = CASES[request.param]
    made = frozen(create(name, **config))
    for parameter in made.parameters():  # zeros at the start would hide what is forgotten
        parameter.add_(0.1 * torch.randn_like(parameter))
    return made


def moved(system, states, given, t):
    return system.velocity(states, given, t) if isinstance(system, Flow) else system.step(states, given, t)


def jacobians(system, states, given, t):
    """By automatic differentiation, which shares nothing with a program."""
    return automatic_jacobian(system, states, given, t).dense().expand(*states.shape, states.shape[-1]).numpy()


@pytest.mark.parametrize("t", [0, 3])
def test_a_program_and_its_balls_are_the_step_and_its_jacobian(system, t):
    states = torch.randn(3, system.state_size).double()
    given = torch.randn(system.input_size).double()
    program = system.program(given, t)
    expected = moved(system, states, given.expand(3, -1), t).numpy()
    slopes = jacobians(system, states, given.expand(3, -1), t)
    for state, image, slope in zip(states.numpy(), expected, slopes, strict=True):
        np.testing.assert_allclose(program.evaluate(state), image, rtol=1e-13, atol=1e-14)
        found = enclose(program, [arb(float(entry)) for entry in state])
        np.testing.assert_allclose([float(entry) for entry in found.value], image, rtol=1e-13, atol=1e-14)
        matrix = np.array([float(entry) for entry in found.derivative.entries()]).reshape(slope.shape)
        np.testing.assert_allclose(matrix, slope, rtol=1e-12, atol=1e-13)


def test_the_checker_evaluates_a_program_as_balls_do(system):
    state, given = torch.randn(system.state_size).double().numpy(), torch.randn(system.input_size).double()
    program, arithmetic = system.program(given), Arithmetic(BITS)
    operations = Reader().program(written(program), program.size)
    box = [(int(entry * 2**60) << BITS - 60, 0) for entry in state]
    value, (mids, rads) = evaluate(arithmetic, operations, box)
    found = enclose(program, [arb(middle) / 2**BITS for middle, _ in box])
    pairs = [*value, *((m, r) for rows in zip(mids, rads, strict=True) for m, r in zip(*rows, strict=True))]
    for (middle, radius), ball in zip(pairs, [*found.value, *found.derivative.entries()], strict=True):
        assert arb(middle, radius).overlaps(ball * arb(2) ** BITS)
        assert radius < 2**40  # of 2^200


def test_a_box_holds_the_steps_and_jacobians_of_its_states(system):
    middle, given = torch.randn(system.state_size).double(), torch.randn(system.input_size).double()
    program = system.program(given, 1)
    # a wide box may hold a jump of a modReLU, or a root of 0
    radius = 1e-3 if {"modrelu", "sqrt"} & {operation.name for operation in program.operations} else 0.25
    box = [arb(float(entry), radius) for entry in middle]
    states = middle + radius * (2 * torch.rand(20, system.state_size).double() - 1)
    over = enclose(program, box, kinks=True)
    found = {"value": moved(system, states, given.expand(20, -1), 1).numpy()}
    found["slopes"] = jacobians(system, states, given.expand(20, -1), 1).reshape(20, -1)
    for bounds, values in ((over.value, found["value"]), (over.derivative.entries(), found["slopes"])):
        low, high = (np.array([float(end) for end in ends]) for ends in zip(*map(_ends, bounds), strict=True))
        assert (values >= low - 1e-13).all()
        assert (values <= high + 1e-13).all()
    values, structured = jacobian_over_box(program, box)
    assert [float(entry.mid()) for entry in values] == [float(entry.mid()) for entry in over.value]
    assert structured.matrix.nrows() == system.state_size


def _ends(ball):
    return ball.lower(), ball.upper()


def test_what_is_not_written_out_says_so():
    with pytest.raises(NoProgram, match="no ball arithmetic for system"):
        from_function(lambda h, x: torch.tanh(h), 2).program(torch.zeros(0))
    with pytest.raises(NoProgram, match="no ball arithmetic for system ernn-exact"):
        create("ernn-exact", input_size=1, state_size=4).program(torch.zeros(1))


def test_the_formula_of_a_class_is_not_believed_of_another():
    """A subclass that changes its step would inherit a false formula, on its own and as part of another system."""

    class Leaky(FeedbackFlow):
        def velocity(self, state, input, t=0):
            return super().velocity(state, input, t) - state

    with pytest.raises(NoProgram):
        Leaky(1, 2).program(torch.zeros(1))
    with pytest.raises(NoProgram):
        Euler(Leaky(1, 2), 0.1).program(torch.zeros(1))


def test_a_matrix_under_a_foreign_parametrization_is_the_computed_one():
    system = frozen(torch.nn.utils.parametrizations.weight_norm(Vanilla(1, 3), "W"))
    state, given = torch.randn(3).double(), torch.randn(1).double()
    np.testing.assert_allclose(
        system.program(given).evaluate(state.numpy()), system.step(state, given).numpy(), atol=1e-14
    )


@pytest.mark.parametrize("argument, refused", [(-0.5, True), (0.0, False), (0.49, False), (0.5, True), (0.51, False)])
def test_a_modrelu_is_refused_at_its_border_and_nowhere_else(argument, refused):
    program = Program(1)
    program.modrelu(program.state(), torch.tensor([-0.5]))
    state = [arb(argument, 1e-30)]
    if refused:
        with pytest.raises(NonSmooth, match="border"):
            enclose(program, state)
    else:
        expected = np.sign(argument) * max(abs(argument) - 0.5, 0)
        np.testing.assert_allclose(float(enclose(program, state).value[0]), expected, atol=1e-15)
    over = enclose(program, [arb(0, 2)], kinks=True).value[0]
    assert over.contains(arb(-1.5))
    assert over.contains(arb(1.5))
    assert float(over.abs_upper()) < 1.5001


def test_a_modrelu_that_jumps_is_refused_over_its_jump():
    program = Program(1)
    program.modrelu(program.state(), torch.tensor([0.5]))
    with pytest.raises(NonSmooth, match="border"):
        enclose(program, [arb(0, 1e-30)], kinks=True)


def test_a_kink_is_refused():
    program = Program(1)
    program.activation("relu", program.state())
    with pytest.raises(NonSmooth, match="non-smooth point"):
        enclose(program, [arb(0, 1e-30)])
    assert enclose(program, [arb(-1, 0.5)]).value == [0]
