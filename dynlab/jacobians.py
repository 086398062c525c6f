"""Jacobians of systems: in closed form where the system has one, else by automatic differentiation."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.rounded_anew import RoundedAnew
from dynlab.numerics.running_error import RunningErrors, Untracked, bounded
from dynlab.operators import Cascade, Dense, Operator
from dynlab.reading import out_of_memory
from dynlab.systems import Flow, Map, System
from dynlab.systems.copied import copied
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held
from dynlab.systems.stable_slopes import StableSlopes

# Where a bound is only estimated, DOUBT (n + OF_FUNCTIONS) times what a change of the last digit of every stored number
# and of what every operation makes of them does, and a rounding of the largest entry: sums of n terms round n times, an
# activation, its slope and products with it some eight times more, however small n is.
DOUBT = 4.0
OF_FUNCTIONS = 8
DRAWS = 2
MATRIX = 2  # dimensions
NOT_BATCHED = "Batching rule not implemented"  # what torch says
FEW = 2  # components of a value: one backward pass for each takes less time than all in one batch
APART = 1e-6  # rounding makes less of a difference to a row's value than this share, and other rows more
ORDER = 6  # of the differences from which the noise of a function is estimated
AHEAD, BEHIND = range(2 * ORDER), range(1 - 2 * ORDER, 1)  # where it is evaluated for that
AROUND = range(-4, 4)  # the same of a Jacobian: on both sides of a kink
# What is so many times the noise of the other side, so many times as far out too, is a jump and no noise.
JUMP_TIMES, FARTHER = 1e3, 64.0
SPACINGS = (1.0, 0.618034)  # in one of them rounding may look smooth
NEAREST = 1e-7  # times abs(h_i): a spacing of that share of a share is still many of the last digits
# Of the distances at which a function's values are held against its derivative, as shares of |h_i|, and of 1 at 0.
DISTANCES = tuple(10.0**-k for k in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
NEAR_ZERO = tuple(10.0**-k for k in (2, 4, 6, 9, 12, 16, 20, 40, 60, 80, 110, 150))
BELIED = 1e-2  # of what the derivative says, at all of them: what is smooth and steep comes nearer
BELIED_ALL_TOGETHER = 1e-4  # the same where that is above what rounds the largest value: a small one may round more
LASTING, THE_SAME = (0.3, float("inf")), (0.7, 1.5)  # times what they differ by, from one distance to the next
JUMPS = 0.99  # of what a derivative was off by at the distance before
BALANCED = 16  # sweeps: units need not be exact, they only have to be of the right size
ROUNDED_ALIKE = 64.0  # times ε: what rounding makes of such a difference
FEWER_PLACES = 4.0  # times an estimate from two differences, each of which may be small by chance
NOISE_REACH, NOISE_TIMES = 6.180339887e-8, 4.0  # between neighbours, no binary fraction; and for safety
# Said where a function computes anew, in the backward pass and outside of `StableSlopes`, what was not kept for it.
RECOMPUTED = "torch.utils.checkpoint keeps nothing that derivatives need: call the function without it"
MOST_TIMES = 5000  # of a flow's own time scale, 1/‖∂f/∂h‖₂ in the best units, that it is solved for: about two minutes


def jacobian(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
    """∂step/∂state of a map, ∂velocity/∂state of a flow.

    Parameters
    ----------
    system : System
    state : Tensor, shape (..., state)
    input : Tensor, shape (..., input)
    t : int or Tensor
        The step's number, broadcastable with the leading dimensions.

    Returns
    -------
    Operator
        With the leading dimensions of `state`.
    """
    closed = system.closed_form_jacobian(state, input, t)
    return automatic_jacobian(system, state, input, t) if closed is None else closed


def input_jacobian(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
    """∂step/∂input of a map, ∂velocity/∂input of a flow, as `jacobian`: operators from the input to the state."""
    closed = system.closed_form_input_jacobian(state, input, t)
    return automatic_jacobian(system, state, input, t, by_input=True) if closed is None else closed


def held_matrices(held: Held, states: Tensor) -> Tensor:
    """∂F/∂h of a map whose input is held, ∂f/∂h of a flow, at `states` (..., n), of its own memory: (..., n, n)."""
    return held.in_unit(_own(jacobian(held.system, *held.given(states)).dense(), states))


def held_blocks(held: Held, states: Tensor) -> list[Tensor]:
    """The blocks along the diagonal of `held_matrices` that have all eigenvalues: of a stack one for each layer."""
    found = jacobian(held.system, *held.given(states))
    if not isinstance(found, Cascade):  # of several steps it is a product, whose blocks are those of its matrix
        whole = held.in_unit(_own(found.dense(), states))
        return [whole[..., part, part] for part in parts_of(held.system.blocks)]
    units = held.unit.split(held.system.blocks) if isinstance(held.unit, Tensor) else [held.unit] * len(found.layers)
    return [
        replace(held, unit=unit).in_unit(_own(layer.dense(), states))
        for layer, unit in zip(found.layers, units, strict=True)
    ]


def check_seconds(held: Held, states: Tensor, seconds: float) -> None:
    """Raise where a flow that is as fast as at one of the `states` would take minutes to be solved for that long."""
    matrices = finite_or_zero(held_matrices(held, states))
    speeds = torch.linalg.matrix_norm(matrices, 2)
    if float(speeds.max()) * seconds > MOST_TIMES:
        # the Perron root of |J| is the smallest norm of rows that coordinates in units of their own can give it
        speeds = torch.minimum(speeds, torch.linalg.eigvals(matrices.abs()).abs().amax(-1))
    speed = float(speeds.max())
    if speed * seconds > MOST_TIMES:
        raise UserError(
            f"{seconds:g} s are {speed * seconds:,.6g} times the flow's own time scale of {1 / speed:.2g} s, "
            f"of which at most {MOST_TIMES:,} are solved: take fewer steps, smaller ones, or other starts."
        )


def displacement_matrices(held: Held, states: Tensor, rows: Tensor | None = None) -> Tensor:
    """The derivative of `Held.displacement`, J − I of a map and J of a flow, shape (..., n, n); `rows` as there.

    It is 0 at states where it is no number: as good as singular.
    """
    matrices = held_matrices(held, states)
    if not held.is_flow:
        matrices.diagonal(dim1=-2, dim2=-1).sub_(1)
    return finite_or_zero(matrices)


def ungated_matrices(held: Held, states: Tensor, rows: Tensor | None = None) -> Tensor:
    """The derivative of `Held.ungated`, shape (k, n, n), as `displacement_matrices`."""
    closed = held.system.closed_form_ungated_jacobian(*held.given(states))
    if closed is None:
        return finite_or_zero(torch.func.vmap(torch.func.jacrev(held.ungated))(states))
    return finite_or_zero(held.in_unit(_own(closed.dense(), states)))


def cancelled(held: Held, states: Tensor) -> Tensor:
    """A bound on what rounding does to `Held.displacement` of a user's function, shape (..., n); 0 of other systems.

    A function may subtract large numbers, exp(h) − 1 near 0: its error has nothing to do with the size of h then. Where
    `dynlab.numerics.running_error` has no rule for what it does, the error is estimated by differences. By how much it
    jumps at a state is no part of it.
    """
    if not has_users_code(held.system):
        return torch.zeros_like(states)
    try:
        error = _running_error(held, states)
        beside = [_running_error(held, _beside(states, size)) for size in _sizes(states)]
    except (Untracked, TypeError, AttributeError, ValueError):
        return _noise_of_displacement(held, states)
    # a comparison that rounding may decide, or that holds with equality, makes the jump an error of what it chooses
    near = torch.stack(beside).flatten(end_dim=1).amax(dim=0)
    error = torch.where(error > JUMP_TIMES * near, near, error)
    told = torch.isfinite(error)
    return error if bool(told.all()) else torch.where(told, error, _noise_of_displacement(held, states))


def _running_error(held: Held, states: Tensor) -> Tensor:
    with RunningErrors():
        found = held.displacement(states)
    return bounded(found)[1]


def _sizes(states: Tensor) -> tuple[Tensor, Tensor]:
    """Of what a state's neighbours are apart by a share, coordinate by coordinate: |h_i| where it is not 0, and 1."""
    ordinary = torch.ones_like(states)
    return torch.where(states == 0, ordinary, states.abs()), ordinary


def _beside(states: Tensor, size: Tensor, places: Sequence[float] = (-1.0, 1.0)) -> Tensor:
    """States (place, ..., n) next to these (..., n), on a line that is parallel to no plane of coordinates."""
    reach = NOISE_REACH * (torch.finfo(states.dtype).eps / torch.finfo(torch.float64).eps) ** 0.5
    steps = torch.tensor(places, dtype=states.dtype, device=states.device)
    alternating = 1 - 2 * (torch.arange(states.shape[-1], device=states.device) % 2)
    return states + reach * steps.reshape(-1, *(1,) * states.ndim) * alternating * size


def _noise_of_displacement(held: Held, states: Tensor) -> Tensor:
    """The noise of `Held.displacement` at states (..., n); one that jumps beside a state is no less exact."""
    return torch.maximum(*(_noise_of_a_side(held, states, size) for size in _sizes(states)))


def _noise_of_a_side(held: Held, states: Tensor, size: Tensor) -> Tensor:
    """That of the side without a jump, where the other has one."""
    ahead, behind, far_ahead, far_behind = (
        _noise(held.displacement, states, farther * size, places)
        for farther in (1.0, FARTHER)
        for places in (AHEAD, BEHIND)
    )
    smaller, larger = torch.minimum(ahead, behind), torch.maximum(ahead, behind)
    # rounding may be a staircase, of which a side that is short shows no step
    beyond = torch.where(ahead < behind, far_ahead, far_behind).maximum(smaller)
    return torch.where(larger > JUMP_TIMES * beyond, smaller, larger)


def _noise(function: Callable[[Tensor], Tensor], states: Tensor, size: Tensor, places: range) -> Tensor:
    """`NOISE_TIMES` the noise of a function at states (..., n), from differences of order `ORDER`.

    Over states so near each other what is smooth has none (Moré and Wild, "Estimating computational noise", SIAM
    Journal on Scientific Computing 33, 2011). They are apart by a share of `size`, at these `places`.
    """
    near = _beside(states, size, places)
    differences = function(near).diff(n=ORDER, dim=0).abs().amax(dim=0)
    return NOISE_TIMES / math.comb(2 * ORDER, ORDER) ** 0.5 * differences.nan_to_num(0.0, 0.0)


def finite_or_zero(matrices: Tensor) -> Tensor:
    """Those of the matrices (..., n, n) that are finite, 0 in place of others, which have no singular values."""
    if torch.isfinite(matrices.sum()):  # a fraction of the time of a look at every entry
        return matrices
    return torch.where(torch.isfinite(matrices).all(-1, keepdim=True).all(-2, keepdim=True), matrices, 0.0)


def _own(matrices: Tensor, states: Tensor) -> Tensor:
    """One matrix for each of the states, in memory of its own: what is made for a batch is, what it shares is not."""
    shape = (*states.shape[:-1], *matrices.shape[-2:])
    return matrices if matrices.ndim > MATRIX and matrices.shape == shape else matrices.expand(shape).clone()


def automatic_jacobian(
    system: System, state: Tensor, input: Tensor, t: int | Tensor = 0, *, by_input: bool = False
) -> Dense:
    """The same by automatic differentiation, whether there is a closed form or not.

    The slopes of tanh and σ are those of `dynlab.systems.stable_slopes`. Parameters are those of `jacobian`; `by_input`
    for the derivative by the input.
    """
    batch = np.broadcast_shapes(state.shape[:-1], input.shape[:-1])
    if isinstance(t, Tensor):
        batch = np.broadcast_shapes(batch, t.shape)
    states = state.expand(*batch, state.shape[-1]).reshape(math.prod(batch), state.shape[-1])
    inputs = input.expand(*batch, input.shape[-1]).reshape(math.prod(batch), input.shape[-1])
    columns = input.shape[-1] if by_input else state.shape[-1]
    if columns == 0 or len(states) == 0:  # which a function of one state cannot be asked for
        return Dense(state.new_zeros(*batch, state.shape[-1], columns))
    evolve, argument = _evolve(system), int(by_input)
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks(RECOMPUTED):
            if isinstance(t, Tensor) and t.ndim:
                found = _derivative(evolve, argument, states, inputs, t.expand(batch).reshape(-1))
            else:
                found = _derivative(lambda h, x: evolve(h, x, t), argument, states, inputs)
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        said = str(error).split(". ")[0]
        mend = f"{said}; compute a new tensor in place of writing on one, as y = 0.5 * y for y *= 0.5"
        why = RECOMPUTED if "torch.utils.checkpoint" in said else mend
        raise UserError(f"{system.name} cannot be differentiated: {' '.join(why.split())}.") from error
    return Dense(found.reshape(*batch, state.shape[-1], columns))


def _derivative(function: Callable[..., Tensor], argument: int, *rows: Tensor) -> Tensor:
    """The Jacobian of each row's own value; entry by entry of it where torch cannot batch them, as of z.conj().imag."""
    try:
        at_once = _of_rows_at_once(function, argument, *rows)
        if at_once is not None:
            return at_once
        with StableSlopes():
            return torch.func.vmap(torch.func.jacrev(function, argument))(*rows)
    except RuntimeError as error:
        if NOT_BATCHED not in str(error):
            raise
    before, after = rows[:argument], rows[argument + 1 :]
    with StableSlopes():
        found: Any = torch.func.vjp(lambda own: function(*before, own, *after), rows[argument])
        value, pulled = found
        units = torch.eye(value.shape[-1]).to(value)
        return torch.stack([pulled(unit.expand_as(value))[0] for unit in units], dim=1)


def _of_rows_at_once(function: Callable[..., Tensor], argument: int, *rows: Tensor) -> Tensor | None:
    """The same in a fraction of the time, where nothing else is to be differentiated and rows are told to be apart.

    None elsewhere: of a function whose value in a row is another one beside other rows, as of a sum over all of them.
    """
    if torch.is_grad_enabled() or torch._C._functorch.peek_interpreter_stack() is not None:
        return None
    before, after = rows[:argument], rows[argument + 1 :]
    with StableSlopes():
        with torch.enable_grad():
            own = rows[argument].detach().requires_grad_()
            value = function(*before, own.clone(), *after)  # of its own, that it may write on
        apart = value.shape[:-1] == own.shape[:1]
        if not apart or not _apart(function, value.detach(), *before, own.detach().clone(), *after):
            return None
    if not value.requires_grad:
        return own.new_zeros(*value.shape, own.shape[-1])
    units = torch.eye(value.shape[-1]).to(value).unsqueeze(1).expand(-1, *value.shape)
    # Outside of `StableSlopes`, which would look at each operation of a backward pass that nothing differentiates.
    if len(units) > FEW:
        found: Any = torch.autograd.grad(value, own, units, is_grads_batched=True, allow_unused=True)[0]
    else:
        pulled: Any = [torch.autograd.grad(value, own, u, retain_graph=True, allow_unused=True)[0] for u in units]
        found = None if pulled[0] is None else torch.stack(pulled)
    if found is None:
        return own.new_zeros(*value.shape, own.shape[-1])
    return found.transpose(0, 1).contiguous()  # a sum's slopes are one number, which the rows would share


def _apart(function: Callable[..., Tensor], value: Tensor, *rows: Tensor) -> bool:
    """Whether half of the rows have the `value` that they have beside the other half."""
    some = len(value) // 2
    if some == 0:
        return True
    reach = APART * float(value.abs().nan_to_num(0.0, 0.0).amax())
    return torch.allclose(function(*(row[:some] for row in rows)), value[:some], APART, reach, equal_nan=True)


def jacobian_and_error(
    system: System,
    state: Tensor,
    input: Tensor,
    t: int | Tensor = 0,
    *,
    diagonal: bool = False,
    unit: float | Tensor = 1.0,
) -> tuple[Tensor, Tensor]:
    """The Jacobian as matrices, and a bound on what rounding has left in each entry.

    Parameters are those of `jacobian`; with `diagonal` nothing need be known outside the `System.blocks` along the
    diagonal, where the bound is then inf: of a stack that saves most of the time. `unit` is what each state is measured
    in where entries are compared with the largest one. What is meant is the Jacobian in real arithmetic at the numbers
    stored: the state, the input and the parameters; of an orthogonal or unitary matrix, the matrix as it was computed.

    Returns
    -------
    jacobian, error : Tensor, shape (..., rows, columns)
        Where a closed form is made of functions that `dynlab.numerics.running_error` has rules for, the bound is
        rigorous. Elsewhere, as after automatic differentiation, it is an estimate: what changes in the last digits of
        all stored numbers do, and roundings of the matrix's largest entry, each `DOUBT` (n + `OF_FUNCTIONS`) times. Of
        a user's function it is no less than the noise of its derivative beside the state.
    """
    if diagonal and len(system.blocks) > 1:
        blocks = diagonal_blocks_and_errors(system, state, input, t, unit=unit)
        return _with_diagonal(jacobian(system, state, input, t).dense(), blocks)
    found = _tracked(system, state, input, t, lambda closed: closed.dense())
    return _bounded(found, system, state, input, t, unit)


def _bounded(
    found: Any, system: System, state: Tensor, input: Tensor, t: int | Tensor, unit: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The Jacobian that was `found` with its rounding, or where none was, with an estimate of it."""
    if found is None:
        return _with_estimate(system, state, input, t, unit)
    value, error = bounded(found)
    if has_users_code(system):  # whose closed form may be another function's, and near some states alone
        error = torch.maximum(error, FEWER_PLACES * belied(system, state, input, t, value, unit))
    return value, error


def diagonal_blocks_and_errors(
    system: System, state: Tensor, input: Tensor, t: int | Tensor = 0, *, unit: float | Tensor = 1.0
) -> list[tuple[Tensor, Tensor]]:
    """The `System.blocks` along the diagonal of the Jacobian, which have all its eigenvalues, and their errors.

    The same as those of `jacobian_and_error`, whose parameters these are, in a fraction of the time.
    """

    def blocks(closed: Operator) -> list[Any]:
        return [each.dense() for each in (closed.layers if isinstance(closed, Cascade) else [closed])]

    found = _tracked(system, state, input, t, blocks)
    if found is not None and len(found) > 1:
        return list(map(bounded, found))
    whole = _bounded(None if found is None else found[0], system, state, input, t, unit)
    ends = itertools.pairwise(itertools.accumulate(system.blocks, initial=0))
    return [(whole[0][..., i:j, i:j], whole[1][..., i:j, i:j]) for i, j in ends]


def _tracked(system: System, state: Tensor, input: Tensor, t: int | Tensor, made: Callable[[Operator], Any]) -> Any:
    """What is `made` of the Jacobian whose numbers carry their rounding; None without a closed form that has rules."""
    try:
        with RunningErrors():
            closed = system.closed_form_jacobian(state, input, t)
            return None if closed is None else made(closed)
    except (Untracked, TypeError, AttributeError):  # the last two: of code that asks for tensors and nothing else
        return None


def _with_diagonal(matrix: Tensor, blocks: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The matrix and its entries' errors where those of the blocks along its diagonal are known, and no others."""
    error, start = torch.full_like(matrix, torch.inf), 0
    for value, wrong in blocks:
        part = slice(start, start := start + value.shape[-1])
        matrix[..., part, part], error[..., part, part] = value, wrong
    return matrix, error


def jacobian_and_rounding(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Operator, Tensor]:
    """The Jacobian, and a bound of ‖E‖₂, of what rounding does to it and to its product with a vector, shape (...).

    Parameters are those of `jacobian`. The errors of the factors' numbers are those of `jacobian_and_error`, rigorous
    and estimated as there; a product rounds n + `OF_FUNCTIONS` times, a share of the moduli.
    """
    roundings = (system.state_size + OF_FUNCTIONS) * torch.finfo(state.dtype).eps / 2
    closed = _tracked(system, state, input, t, lambda closed: closed)
    if closed is None:
        matrix, error = _with_estimate(system, state, input, t, 1.0)
        return Dense(matrix), _norm(state, Dense(error)) + roundings * _norm(state, Dense(matrix.abs()))
    moduli, larger = (closed.mapped(reach, reach) for reach in (_modulus, _largest_modulus))
    found, error = closed.mapped(_value, _value), _norm(state, moduli, larger) + roundings * _norm(state, moduli)
    if has_users_code(system):
        wrong = FEWER_PLACES * belied(system, state, input, t, found.dense())
        error = error + torch.linalg.matrix_norm(wrong, "fro")
    return found, error


def _norm(like: Tensor, smaller: Operator, larger: Operator | None = None) -> Tensor:
    """√(‖A‖₁ ‖A‖_∞) ≥ ‖A‖₂ of a matrix of no negative entries, or of the difference of two, shape (...)."""
    ones = like.new_ones(smaller.columns, 1)
    rows, columns = smaller.apply(ones), smaller.apply_transpose(ones)
    if larger is not None:
        rows, columns = larger.apply(ones) - rows, larger.apply_transpose(ones) - columns
    # the roots first: of two numbers of float32 about 1e-24 the product underflows
    return rows.amax(dim=(-2, -1)).clamp(min=0).sqrt() * columns.amax(dim=(-2, -1)).clamp(min=0).sqrt()


def _value(number: Any) -> Any:
    return number if isinstance(number, float | int) else bounded(number)[0]


def _modulus(number: Any) -> Any:
    return abs(number) if isinstance(number, float | int) else bounded(number)[0].abs()


def _largest_modulus(number: Any) -> Any:
    return abs(number) if isinstance(number, float | int) else bounded(number)[0].abs() + bounded(number)[1]


class _Draws:
    """Random changes of numbers by a share `reach`, the same ones every time."""

    def __init__(self, device: torch.device, reach: float) -> None:
        self.generator, self.reach = torch.Generator(device).manual_seed(0), reach

    def changed(self, values: Tensor) -> Tensor:
        return values * (1 + self.reach * self._drawn(values).sign())

    def rounded(self, values: Tensor) -> Tensor:
        """By shares of all sizes: equal ones might cancel."""
        return values * (1 + 2 * self.reach * self._drawn(values))

    def _drawn(self, values: Tensor) -> Tensor:
        return torch.rand(values.shape, generator=self.generator, device=values.device, dtype=values.dtype) - 0.5


def belied(
    system: System, state: Tensor, input: Tensor, t: int | Tensor, found: Tensor, unit: float | Tensor = 1.0
) -> Tensor:
    """What the entries of a user's Jacobian `found` are wrong by where the function's own values belie it; else 0.

    A detached state, or a rule of its own for the backward pass, gives a derivative that is another function's. The
    difference of two values, along signs drawn at random, is then another one at every distance that is tried. Where
    some coordinates are 0 and others are not, it is taken along each of both kinds apart: the distances of a 0 are of
    all sizes, and one kind would hide the other.
    """
    wrong = torch.zeros_like(found)
    if not has_users_code(system) or found.numel() == 0:
        return wrong
    evolve = _evolve(system)
    drawn = _Draws(state.device, 1.0).rounded(torch.ones_like(state)) - 1
    signs = drawn.sign() * (1 + drawn.abs()) / 2  # of sizes of their own: a way along the state itself may see nothing
    measured = torch.as_tensor(unit, dtype=state.dtype, device=state.device).expand_as(state)
    at_zero = state.abs() < NEAREST * measured
    size = torch.where(at_zero, measured, state.abs())
    apart = bool((at_zero.any(dim=-1) & ~at_zero.all(dim=-1)).any())
    for kind in (at_zero, ~at_zero) if apart else (torch.ones_like(at_zero),):
        ways = [
            signs * size * torch.where(at_zero, of_zero, share) * kind
            for share, of_zero in zip(DISTANCES, NEAR_ZERO, strict=True)
        ]
        wrong = torch.maximum(wrong, _belied_along(lambda h: evolve(h, input, t), state, ways, found))
    return wrong


def _belied_along(function: Callable[[Tensor], Tensor], state: Tensor, ways: Sequence[Tensor], found: Tensor) -> Tensor:
    """The same along these ways, each nearer than the one before; 0 in the columns of coordinates that stay."""
    eps, none = torch.finfo(state.dtype).eps, torch.zeros_like(found)
    looked_at = []
    for way in ways:
        ahead, back = (function(state + sign * way) for sign in (1, -1))
        told = (found @ way.unsqueeze(-1)).squeeze(-1)
        changed, noise = (ahead - back) / 2, ROUNDED_ALIKE * eps * (ahead.abs() + back.abs())
        scale = (found.abs() @ way.abs().unsqueeze(-1)).squeeze(-1) + changed.abs()
        looked_at.append((way.abs(), (changed - told).abs(), noise, scale))
    small = [(way, off, noise.amax(dim=-1, keepdim=True), scale) for way, off, noise, scale in looked_at]
    return torch.maximum(
        _belied_by(looked_at, BELIED, LASTING, none), _belied_by(small, BELIED_ALL_TOGETHER, THE_SAME, none)
    )


def _belied_by(
    looked_at: Sequence[tuple[Tensor, ...]], belied: float, lasting: tuple[float, float], none: Tensor
) -> Tensor:
    """What entries are wrong by where all distances say so that tell that share of what the derivative says.

    At the last two of them the rates must be alike, as `lasting` says.

    Of each distance: the way there, what it is off by there, the rounding of that, and what the derivative says.
    """
    first = looked_at[0][1]
    least, share = torch.full_like(first, torch.inf), none
    steepest = torch.zeros_like(first)  # at the distances before: where a nearer one shows no change it belies that
    rates = [torch.zeros_like(first)] * 2  # at the two smallest distances that tell
    offs = [torch.zeros_like(first)] * 2
    for way, off, noise, scale in looked_at:
        longest = way.amax(dim=-1, keepdim=True)
        scale = torch.maximum(scale, steepest * longest)
        tells, rate = noise < belied * scale, off / longest
        steepest = torch.where(tells, torch.maximum(steepest, rate), steepest)
        rates = [torch.where(tells, later, former) for later, former in zip((rates[1], rate), rates, strict=True)]
        offs = [torch.where(tells, later, former) for later, former in zip((offs[1], off), offs, strict=True)]
        moved = way.unsqueeze(-2) > 0
        share = torch.where(tells.unsqueeze(-1) & moved, off.unsqueeze(-1) / way.unsqueeze(-2), share)
        least = torch.where(tells, torch.minimum(off / scale, least), least)
    # what the step bends by shrinks with the distance
    stays = (rates[0] > 0) & (rates[1] > lasting[0] * rates[0]) & (rates[1] < lasting[1] * rates[0])
    stays &= offs[1] < JUMPS * offs[0]  # what does not shrink with the distance is a jump, of which kinks tell
    return torch.where((torch.isfinite(least) & (least > 2 * belied) & stays).unsqueeze(-1), share, 0.0)


def exact_zeros(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
    """Where the Jacobian is 0, and not for rounding, as of a saturated unit, or a difference: shape (..., n, n).

    Parameters are those of `jacobian`.
    """
    found = _tracked(system, state, input, t, lambda closed: closed.dense())
    if found is not None:
        value, error = bounded(found)
        return (value == 0) & (error == 0)
    with RoundedAnew(_Draws(state.device, torch.finfo(state.dtype).eps ** 0.5).rounded):
        anew = jacobian(system, state, input, t).dense()
    return (jacobian(system, state, input, t).dense() == 0) & (anew == 0)


def _with_estimate(
    system: System, state: Tensor, input: Tensor, t: int | Tensor, unit_of_states: float | Tensor
) -> tuple[Tensor, Tensor]:
    found = jacobian(system, state, input, t).dense()
    unit = torch.finfo(found.dtype).eps / 2
    reach, doubt = unit**0.5, DOUBT * (max(found.shape[-2:]) + OF_FUNCTIONS)
    draws = _Draws(state.device, reach)
    measured = torch.as_tensor(unit_of_states, dtype=found.dtype, device=found.device).expand(found.shape[-1])
    error = torch.full_like(found, torch.inf)
    # what the largest entry has, in the units of the states and in those in which entries are alike
    for units in (measured, _units_of_likeness(found.abs(), measured)):
        ratio = units.unsqueeze(-2) / units.unsqueeze(-1)
        largest = (found * ratio).abs().amax(dim=(-2, -1), keepdim=True)
        error = torch.minimum(error, doubt * unit * largest / ratio)
    zero = found == 0  # and not for rounding, as of a saturated unit
    for _ in range(DRAWS):
        near = copied(system)
        with torch.no_grad():
            for numbers in (*near.parameters(), *near.buffers()):
                if numbers.is_floating_point():
                    numbers.copy_(draws.changed(numbers))
        with RoundedAnew(draws.rounded):
            moved = (jacobian(near, draws.changed(state), draws.changed(input), t).dense() - found).abs()
        error, zero = torch.maximum(error, doubt * unit / reach * moved), zero & (moved == 0)
    error = torch.where(zero, 0.0, error)
    if system.closed_form_jacobian(state, input, t) is None:  # it may cancel, or jump beside the state
        apart = torch.maximum(state.abs().clamp_max(1), NEAREST * state.abs())  # a state may be far from 0
        beside_0 = (reach * measured).clamp_max(torch.finfo(state.dtype).tiny ** 0.5)  # in tiny units nearer still
        size = torch.where(state == 0, beside_0.to(state), apart)
        for spacing in SPACINGS:
            noise = _noise(lambda h: jacobian(system, h, input, t).dense(), state, spacing * size, AROUND)
            error = torch.maximum(error, FEWER_PLACES * noise)
    return found, torch.maximum(error, FEWER_PLACES * belied(system, state, input, t, found, unit_of_states))


def _units_of_likeness(sizes: Tensor, units: Tensor) -> Tensor:
    """Units of states (..., n), from those given on, in which the entries (..., n, n) of a matrix are most alike.

    Each row is to have as large a sum as the column of that number (Osborne, "On pre-conditioning of matrices", Journal
    of the ACM 7, 1960), all at once, and so by the fourth root.
    """
    units, apart = units.expand(sizes.shape[:-1]), sizes - torch.diag_embed(sizes.diagonal(dim1=-2, dim2=-1))
    for _ in range(BALANCED):
        alike = apart * (units.unsqueeze(-2) / units.unsqueeze(-1))
        share = (alike.sum(-1) / alike.sum(-2)) ** 0.25
        units = units * torch.where(torch.isfinite(share) & (share > 0), share, 1.0)
    return units


def along(system: Map, states: Tensor, inputs: Tensor) -> Operator:
    """∂h_t/∂h_{t−1} for t = 1…T along a trajectory.

    Parameters
    ----------
    system : Map
    states : Tensor, shape (..., T + 1, state)
        h_0 … h_T.
    inputs : Tensor, shape (..., T, input)
        x_1 … x_T.

    Returns
    -------
    Operator
        With leading dimensions (..., T).
    """
    steps = torch.arange(inputs.shape[-2], device=states.device)
    return jacobian(system, states[..., :-1, :], inputs, steps)


def _evolve(system: System) -> Callable[..., Tensor]:
    if isinstance(system, Map):
        return system.step
    if isinstance(system, Flow):
        return system.velocity
    raise TypeError(f"{type(system).__name__} is neither a Map nor a Flow")
