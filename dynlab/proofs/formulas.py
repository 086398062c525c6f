"""The step of each family as a `Program`: what `step` computes, operation by operation, with the stored numbers."""

from collections.abc import Callable
from typing import Any, cast

from torch import Tensor
from torch.nn.utils.parametrize import is_parametrized, type_before_parametrizations

from dynlab.program import Program
from dynlab.systems import Euler, System
from dynlab.systems.activations import ACTIVATIONS, Activation
from dynlab.systems.antisymmetric import AntisymmetricFlow, GatedFlow
from dynlab.systems.ernn import ERNN, IdentityPlusLowRank
from dynlab.systems.fastgrnn import FastGRNN
from dynlab.systems.fastrnn import FastRNN
from dynlab.systems.textbook import Henon, Linear, LinearMap, Logistic, Lorenz
from dynlab.systems.torch_cells import Cell, GRUCell, LSTMCell, RNNCell
from dynlab.systems.torch_stacks import DrivenLayer, Stack
from dynlab.systems.ugrnn import UGRNN
from dynlab.systems.vanilla import FeedbackFlow, Vanilla

Formula = Callable[[Program, Any, int, int, int], int]


class NoFormula(Exception):
    """A system that is not written out here; the sentence says which."""


def program_of(system: System, input: Tensor, t: int = 0) -> Program:
    """One step of a map, or the velocity of a flow, under a held input as a program.

    Parameters
    ----------
    system : Map or Flow
    input : Tensor, shape (input,)
    t : int

    Raises
    ------
    NoFormula
        For a system without a formula here, such as a function of the user's own, and one whose matrix is computed
        by rounded arithmetic (orthogonal parametrizations): no exact numbers are stored of it.
    """
    program = Program(system.state_size)
    _apply(program, system, program.state(), program.constant(input), t)
    return program


def _apply(p: Program, system: System, h: int, x: int, t: int) -> int:
    """The number of the operation that holds step(h, x, t), or velocity(h, x, t)."""
    family = type(system)
    if is_parametrized(system) and type_before_parametrizations(system) in EXACTLY_PARAMETRIZED:
        family = type_before_parametrizations(system)
    formula = FORMULAS.get(family)
    if formula is None:
        raise NoFormula(f"no ball arithmetic for system {system.name}")
    return formula(p, system, h, x, t)


def _named(activation: Activation) -> str:
    # equal, not identical: analyses work on a copy of the system
    name = next((name for name, known in ACTIVATIONS.items() if known == activation), None)
    if name is None:
        raise NoFormula("no ball arithmetic for an activation of one's own")
    return name


def _euler(p: Program, system: Euler, h: int, x: int, t: int) -> int:
    rate = _apply(p, system.flow, h, x, t)
    return p.add(h, p.multiply(p.constant(system.step_size, system.state_size), rate))


def _vanilla(p: Program, s: Vanilla | FeedbackFlow, h: int, x: int, t: int) -> int:
    return p.activation(_named(s.activation), p.add(p.linear(s.W, h), p.linear(s.V, x, s.b)))


def _antisymmetric(p: Program, s: AntisymmetricFlow, h: int, x: int, t: int) -> int:
    return p.tanh(p.add(p.linear(s.M, h), p.linear(s.V, x, s.b)))


def _gated(p: Program, s: GatedFlow, h: int, x: int, t: int) -> int:
    turning = p.linear(s.M, h)
    gate = p.sigmoid(p.add(turning, p.linear(s.V_z, x, s.b_z)))
    return p.multiply(gate, p.tanh(p.add(turning, p.linear(s.V_h, x, s.b_h))))


def _fastrnn(p: Program, s: FastRNN, h: int, x: int, t: int) -> int:
    n = s.state_size
    candidate = p.activation(_named(s.activation), p.add(p.linear(s.W, x), p.linear(s.U, h, s.b)))
    kept, entering = p.sigmoid(p.constant(s.beta, n)), p.sigmoid(p.constant(s.alpha, n))
    return p.add(p.multiply(kept, h), p.multiply(entering, candidate))


def _chain(p: Program, factors: Any, a: int) -> int:
    for factor in reversed(list(factors)):
        a = p.linear(factor, a)
    return a


def _fastgrnn(p: Program, s: FastGRNN, h: int, x: int, t: int) -> int:
    n = s.state_size
    shared = p.add(_chain(p, s.W, x), _chain(p, s.U, h))
    z = p.sigmoid(p.add(shared, p.constant(s.b_z)))
    c = p.tanh(p.add(shared, p.constant(s.b_c)))
    zeta, nu = p.sigmoid(p.constant(s.zeta, n)), p.sigmoid(p.constant(s.nu, n))
    admitted = p.add(p.multiply(zeta, p.subtract(p.constant(1.0, n), z)), nu)
    return p.add(p.multiply(z, h), p.multiply(admitted, c))


def _ugrnn(p: Program, s: UGRNN, h: int, x: int, t: int) -> int:
    z = p.sigmoid(p.add(p.linear(s.W_z, x), p.linear(s.U_z, h, s.b_z)))
    c = p.tanh(p.add(p.linear(s.W_c, x), p.linear(s.U_c, h, s.b_c)))
    return p.add(c, p.multiply(z, p.subtract(h, c)))


def _ernn(p: Program, s: ERNN, h: int, x: int, t: int) -> int:
    n = s.state_size
    signed = h if s.sign == 1 else p.multiply(p.constant(-1.0, n), h)
    driven = p.linear(s.W, x, s.b)
    g = h if s.start == "previous" else p.constant(0.0, n)
    for eta in s.step_etas(t):
        inner = p.add(g, signed)
        pre = p.add(_times_u(p, s, inner), driven)
        pre = _times_u(p, s, pre) if s.projection else pre
        rate = p.subtract(p.activation(_named(s.activation), pre), inner)
        g = p.add(g, p.multiply(p.constant(eta, n), rate))
    return g


def _times_u(p: Program, s: ERNN, a: int) -> int:
    if isinstance(s.U, IdentityPlusLowRank):
        return p.add(a, p.linear(s.U.V, p.linear(s.U.H, a)))
    return p.linear(s.U.weight, a)


def _rnn_cell(p: Program, s: RNNCell, h: int, x: int, t: int) -> int:
    pre = p.add(p.linear(s.weight_ih, x, s.bias_ih), p.linear(s.weight_hh, h, s.bias_hh))
    return p.activation(_named(s.activation), pre)


def _gru_cell(p: Program, s: GRUCell, h: int, x: int, t: int) -> int:
    n = s.state_size
    from_x, from_h = p.linear(s.weight_ih, x, s.bias_ih), p.linear(s.weight_hh, h, s.bias_hh)
    gates = p.sigmoid(p.add(p.part(from_x, 0, 2 * n), p.part(from_h, 0, 2 * n)))
    r, z = p.part(gates, 0, n), p.part(gates, n, 2 * n)
    candidate = p.tanh(p.add(p.part(from_x, 2 * n, 3 * n), p.multiply(r, p.part(from_h, 2 * n, 3 * n))))
    return p.add(candidate, p.multiply(z, p.subtract(h, candidate)))


def _lstm_cell(p: Program, s: LSTMCell, h: int, x: int, t: int) -> int:
    size, m = s.output_size, s.state_size - s.output_size
    hidden, c = p.part(h, 0, size), p.part(h, size, size + m)
    joint = p.add(p.linear(s.weight_ih, x, s.bias_ih), p.linear(s.weight_hh, hidden, s.bias_hh))
    i, f, g, o = (p.part(joint, k * m, (k + 1) * m) for k in range(4))
    c = p.add(p.multiply(p.sigmoid(f), c), p.multiply(p.sigmoid(i), p.tanh(g)))
    hidden = p.multiply(p.sigmoid(o), p.tanh(c))
    return p.join([hidden if s.weight_hr is None else p.linear(s.weight_hr, hidden), c])


def _stack(p: Program, s: Stack, h: int, x: int, t: int) -> int:
    found, start = [], 0
    for cell in cast(list[Cell], list(s.cells)):
        found.append(_apply(p, cell, p.part(h, start, start + cell.state_size), x, t))
        x = p.part(found[-1], 0, cell.output_size)
        start += cell.state_size
    return p.join(found)


def _driven_layer(p: Program, s: DrivenLayer, h: int, x: int, t: int) -> int:
    return _apply(p, s.cell, h, x, t)


def _linear(p: Program, s: LinearMap | Linear, h: int, x: int, t: int) -> int:
    return p.linear(s.A, h)


def _logistic(p: Program, s: Logistic, h: int, x: int, t: int) -> int:
    return p.multiply(p.constant(s.r), p.multiply(h, p.subtract(p.constant(1.0), h)))


def _henon(p: Program, s: Henon, h: int, x: int, t: int) -> int:
    first, second = p.part(h, 0, 1), p.part(h, 1, 2)
    bent = p.multiply(p.constant(s.a), p.multiply(first, first))
    return p.join([p.add(p.subtract(p.constant(1.0), bent), second), p.multiply(p.constant(s.b), first)])


def _lorenz(p: Program, s: Lorenz, h: int, x: int, t: int) -> int:
    one, two, three = (p.part(h, i, i + 1) for i in range(3))
    sigma, rho, beta = (p.constant(value) for value in (s.sigma, s.rho, s.beta))
    return p.join(
        [
            p.multiply(sigma, p.subtract(two, one)),
            p.subtract(p.multiply(one, p.subtract(rho, three)), two),
            p.subtract(p.multiply(one, two), p.multiply(beta, three)),
        ]
    )


# Whose parametrization rounds nothing: of the three terms of an entry of W − Wᵀ − γ I two are 0.
EXACTLY_PARAMETRIZED = (AntisymmetricFlow, GatedFlow)

# By the exact class: a subclass may compute something else.
FORMULAS: dict[type[System], Formula] = {
    Euler: _euler,
    Vanilla: _vanilla,
    FeedbackFlow: _vanilla,
    AntisymmetricFlow: _antisymmetric,
    GatedFlow: _gated,
    FastRNN: _fastrnn,
    FastGRNN: _fastgrnn,
    UGRNN: _ugrnn,
    ERNN: _ernn,
    RNNCell: _rnn_cell,
    GRUCell: _gru_cell,
    LSTMCell: _lstm_cell,
    Stack: _stack,
    DrivenLayer: _driven_layer,
    LinearMap: _linear,
    Linear: _linear,
    Logistic: _logistic,
    Henon: _henon,
    Lorenz: _lorenz,
}
