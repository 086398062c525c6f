"""The modes of a system's linear map or flow at its fixed points: how long each lasts, what drives it and reads it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.fixed_points.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.verdict import held_input, map_of_flow
from dynlab.diagnostics.fixed_points.verification import also_incomplete, held_map, leading_modes, verified
from dynlab.errors import UserError
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvectors import UNRESOLVED, Eigenmodes
from dynlab.program.differentiation import jacobian
from dynlab.systems import System
from dynlab.systems.autonomous import Held
from dynlab.systems.checked import checked
from dynlab.systems.embedding import Encoder
from dynlab.systems.module_copy import copied
from dynlab.words import agree, capital, counted, number, of_map, percent

EPS = float(np.finfo(np.float64).eps)
DECAYS, GROWS, UNDECIDED = "decays", "grows", "undecided"
DIGITS = 3  # of a time and of a frequency, as many as the picture's tables have
METHOD = (
    "Fixed points are found and verified as dynlab.fixed_points does. Right eigenvectors have length 1 and come from "
    "LAPACK, left ones from inversion. A mode has vectors of its own where a first-order bound on the angle they may "
    f"be turned by is below {UNRESOLVED:g}. Derivatives by the input and of the read-out are in closed form, or by "
    "automatic differentiation"
)
COPIED = ("fixed_point_state", "residual", "kind", "stable", "status")
ALONE = "NaN for a mode without eigenvectors of its own: its eigenvalue is not told from another"
OPEN = "where it is undecided whether the mode decays or grows"
REASONS = {
    "eigenvalue_error": "inf at a kink of the activation, where the Jacobian is that of one side alone",
    "time_constant": f"inf {OPEN}",
    "time_constant_error": f"NaN {OPEN}",
    "doubling_time": "NaN for modes that do not certainly grow",
    "frequency": "NaN where μ is zero within its error",
    "vector_error": "inf where eigenvalues are not separated by their errors",
    "condition": "inf for a defective Jacobian",
    "input_share": f"{ALONE}; NaN where no input drives it",
    **dict.fromkeys(("right_eigenvector", "left_eigenvector", "input_drive", "output_read"), ALONE),
}


@checked
def modes(
    system: System,
    inputs: Any = None,
    *,
    k: int | None = None,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    starts: int | ArrayLike | None = None,
    readout: Callable[[Tensor], Tensor] | None = None,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute eigenvectors, time constants and frequencies at each fixed point, and what drives and reads each mode.

    Parameters
    ----------
    system : Map or Flow
    inputs, at, at_step, starts : as in `dynlab.fixed_points`
        The input and the step that are held, and where fixed points are sought.
    k : int, optional
        Number of modes, by decreasing modulus; by default all.
    readout : callable, optional
        Function from `System.output` of a state to what is read, such as a checkpoint's read-out.
    dtype, device : str
        Type and device of the search; modes are computed in float64.
    seed : int
        Seed of the random starts.

    Returns
    -------
    xarray.Dataset
        ``eigenvalue(fixed_point, mode)`` with ``eigenvalue_error``: μ of a map, λ of a flow in 1/s. ``fate`` is
        "decays", "grows" or "undecided". ``time_constant`` = −1/ln abs(μ) in steps, of a flow −1/Re λ in seconds, with
        ``time_constant_error``, is negative where the mode grows and inf where that is undecided. ``doubling_time`` is
        in the same units, and ``frequency`` in cycles a step or a second. ``separated`` is 1 where the mode has vectors
        of its own, with ``vector_error`` and ``condition``.
        ``right_eigenvector(fixed_point, mode, state)`` has length 1, and ``left_eigenvector`` l_i r_j = δ_ij, not
        conjugated. ``input_drive(fixed_point, mode, input)`` = abs(l_i B), and ``input_share`` are the shares of its
        squares. With a read-out ``output_read(fixed_point, mode, output)`` = abs(C r_i).
        ``input_jacobian(fixed_point, state, input)`` is B = ∂F/∂x, ``output_jacobian`` C; both at the fixed point.

    Raises
    ------
    UserError
        For k outside 1 … n, bad inputs and starts.

    Notes
    -----
    Near h*, h_t − h* = Σ_i r_i μ_i^t l_i (h_0 − h*) + Σ_s Σ_i r_i μ_i^{t−s} l_i B (x_s − x*). r_i is the pattern that a
    mode keeps, l_i what it selects of state and input, μ_i how long; of a flow e^{λ_i t} stands for μ_i^t. Modes of
    equal eigenvalues have time constants, but no l_i, r_i of their own: NaN. Points that fsolve does not verify are
    left out.

    References
    ----------
    Mante, Sussillo, Shenoy and Newsome, Nature 503 (2013), on line attractors and selection vectors. Maheswaranathan et
    al., NeurIPS 2019, on time constants and eigenmodes of trained networks.

    Examples
    --------
    >>> from dynlab.systems.textbook import LinearMap
    >>> ds = modes(LinearMap([[0.5, 1.0], [0.0, 0.25]]))
    >>> ds["time_constant"].values.round(4).tolist(), ds["condition"].values.round(4).tolist()
    ([[1.4427, 0.7213]], [[4.1231, 4.1231]])
    """
    count = system.state_size if k is None else k
    if not 1 <= count <= system.state_size:
        raise UserError(f"k counts modes: from 1 to the state's {system.state_size:,} dimensions, got {count}.")
    points = fixed_points(system, inputs, at=at, at_step=at_step, starts=starts, dtype=dtype, device=device, seed=seed)
    found, held = verified(points), held_map(system, points)
    each = leading_modes(held, found, [count] * found.sizes[schema.FIXED_POINT])
    return schema.result(
        system,
        {name: found[name].variable for name in COPIED} | _variables(found, each, count, held, readout),
        settings={name: schema.settings(points)[name] for name in ("at", "input", "at_step", "starts", "given_starts")}
        | {"k": count, "readout": readout is not None, "seed": seed, "dtype": dtype, "device": device},
        verdict=lambda ds: (
            _verdict(ds, f"with {held_input(at)} " if system.network_input_size else "")
            + f" {map_of_flow(system)}".rstrip()
            + also_incomplete(points)
        ),
        method=METHOD,
        reasons=REASONS,
    )


def _variables(
    found: xr.Dataset, each: list[Eigenmodes], count: int, held: Held, readout: Callable[[Tensor], Tensor] | None
) -> dict[str, xr.Variable]:
    """Return the variables of the Dataset, from the points and the modes at each."""
    states = torch.as_tensor(found["fixed_point_state"].values)
    values, errors = (found[name].values[:, :count] for name in ("eigenvalue", "eigenvalue_error"))
    flow, n = held.is_flow, states.shape[1]
    lasts, symbol = lasting(values, errors, flow), "λ of ∂f/∂h" if flow else "μ of ∂F/∂h"
    rate, time = (schema.PER_SECOND, schema.SECOND) if flow else (schema.ONE, schema.STEP)
    turns = ("Im λ/2π", "cycle/s") if flow else ("arg μ/2π", "cycle/step")
    grows = "Re λ" if flow else "ln |μ|"

    def rows(name: str, dtype: Any, *shape: int) -> NDArray[Any]:
        return np.array([getattr(one, name) for one in each], dtype=dtype).reshape(len(each), count, *shape)

    separated = rows("resolved", np.int8)
    right, left = (np.where(separated[..., None] == 1, rows(side, complex, n), np.nan) for side in ("right", "left"))
    B, drive, shares = _inputs(held, states, left)
    C = None if readout is None else _output_jacobian(held, states, readout)
    read = None if C is None else np.abs(right @ C.swapaxes(1, 2))
    mode = (schema.FIXED_POINT, schema.MODE)
    vector, by_input, by_output = ((*mode, last) for last in (schema.STATE, schema.INPUT, schema.OUTPUT))
    table: dict[str, tuple[Any, ...]] = {
        "eigenvalue": (mode, values, f"eigenvalue {symbol} at h*", rate),
        "eigenvalue_error": (mode, errors, f"bound on the error of {symbol[0]}", rate),
        "fate": (mode, lasts["fate"], "decay or growth of the mode"),
        "time_constant": (mode, lasts["time_constant"], f"time constant −1/{grows}, negative where it grows", time),
        "time_constant_error": (
            mode,
            lasts["time_constant_error"],
            "bound on the error of the time constant",
            time,
        ),
        "doubling_time": (mode, lasts["doubling_time"], f"doubling time ln 2/{grows}", time),
        "frequency": (mode, lasts["frequency"], f"frequency {turns[0]}", turns[1]),
        "separated": (mode, separated, "1: the mode has eigenvectors of its own"),
        "vector_error": (mode, rows("errors", float), "bound on the angle by which an eigenvector is off"),
        "condition": (mode, rows("conditions", float), "condition ‖l_i‖‖r_i‖ of the eigenvalue"),
        "right_eigenvector": (vector, right, "right eigenvector r_i, what the mode keeps"),
        "left_eigenvector": (vector, left, "left eigenvector l_i, what the mode selects"),
        "input_jacobian": ((schema.FIXED_POINT, schema.STATE, schema.INPUT), B, "B, derivative by the input at h*"),
        "input_drive": (by_input, drive, "drive |l_i B| of the mode by an input of 1"),
        "input_share": (by_input, shares, "share of the input in the mode's squared drive"),
        "output_jacobian": ((schema.FIXED_POINT, schema.OUTPUT, schema.STATE), C, "C, derivative of the read-out"),
        "output_read": (by_output, read, "read-out |C r_i| of the mode"),
    }
    return {name: schema.variable(*row) for name, row in table.items() if row[1] is not None}


@np.errstate(divide="ignore", invalid="ignore")
def _inputs(held: Held, states: Tensor, left: Complex) -> tuple[NDArray[np.float64], ...]:
    """Return B = ∂F/∂x at each point, abs(l_i B), and the shares of the inputs in its square."""
    n, m = states.shape[1], held.system.input_size
    x = held.input.expand(len(states), m)
    B = jacobian(held.system, states, x, held.t, by="input").dense().expand(len(states), n, m).numpy()
    encoder = held.system.embedding
    if isinstance(encoder, Encoder):  # the inputs are the whole model's
        B = B @ encoder.jacobian(held.input).numpy()
    drive = np.abs(left @ B)
    return B, drive, drive**2 / (drive**2).sum(axis=-1, keepdims=True)


def _output_jacobian(held: Held, states: Tensor, readout: Callable[[Tensor], Tensor]) -> NDArray[np.float64]:
    """Return the derivative of the read-out at each point, shape (fixed_point, output, state)."""
    read = copied(readout).eval().double().cpu() if isinstance(readout, torch.nn.Module) else readout
    derivative = torch.func.jacrev(lambda h: read(held.system.output(h)).reshape(-1))
    width = read(held.system.output(states.new_zeros(states.shape[1]))).numel()
    return np.array([derivative(state).numpy() for state in states]).reshape(len(states), width, states.shape[1])


@np.errstate(divide="ignore", invalid="ignore")
def lasting(values: Complex, errors: Real, is_flow: bool = False) -> dict[str, NDArray[Any]]:
    """Return the fate of modes with these eigenvalues, of a map or a flow, and their times.

    Returns
    -------
    dict of ndarray
        ``fate``: "decays", "grows", or "undecided" where abs(μ) is 1, or of a flow Re λ is 0, within its error.
        ``time_constant``: −1/ln abs(μ) in steps, or −1/Re λ in seconds, negative where the mode grows, inf where that
        is undecided; ``time_constant_error``, a bound, NaN there. ``doubling_time``: ln 2/ln abs(μ), or ln 2/Re λ,
        where the mode grows, else NaN. ``frequency``: arg μ/2π in cycles a step, from −½ to ½, NaN where μ is zero
        within its error; or Im λ/2π in cycles a second.
    """
    size = values.real if is_flow else np.abs(values)
    excess = size if is_flow else size - 1
    fate = np.where(excess > errors, GROWS, np.where(-excess > errors, DECAYS, UNDECIDED))
    known = fate != UNDECIDED
    sides = [size + side * errors for side in (-1, 0, 1)]
    low, constant, high = (-1 / (each if is_flow else np.log(np.maximum(each, 0))) + 0.0 for each in sides)
    rounding = 2 * EPS * (np.abs(constant) + (0 if is_flow else constant**2))  # of |μ|, its logarithm and the quotient
    error = np.where(known, np.maximum(np.abs(low - constant), np.abs(high - constant)) + rounding, np.nan)
    turning = values.imag if is_flow else np.where(size > errors, np.angle(values), np.nan)
    return {
        "fate": fate,
        "time_constant": np.where(known, constant, np.inf),
        "time_constant_error": error,
        "doubling_time": np.where(fate == GROWS, -np.log(2) * constant, np.nan),
        "frequency": turning / (2 * np.pi),
    }


def _verdict(ds: xr.Dataset, held: str) -> str:
    """Return the slowest decaying mode, the fastest growing one, and how many are undecided; `held` is said first."""
    fate = ds["fate"].values
    if not fate.size:
        return capital(f"{held}no fixed point was found and verified, so there are no modes.")
    unit, neutral = ("s", "Re λ = 0") if schema.of_flow(ds["time_constant"]) else ("steps", "|μ| = 1")
    undecided = int((fate == UNDECIDED).sum())
    have = f"{undecided:,} of {counted(fate.size, 'mode')} {agree(undecided, 'has', 'have')} {neutral}"
    parts = [
        _extreme(ds, "time_constant", DECAYS, f"the slowest mode decays to 1/e in {{}} {unit}"),
        _extreme(ds, "doubling_time", GROWS, f"the fastest growing mode doubles in {{}} {unit}"),
        f"{have} within the error, so growth or decay is undecided" * bool(undecided),
    ]
    first, *others = filter(None, parts)
    return ". ".join(map(capital, [f"{held}{first}", *others])) + "."


def _extreme(ds: xr.Dataset, name: str, fate: str, words: str) -> str:
    """Say of the slowest decay or the fastest growth where it is, how fast it turns, what drives and reads it most."""
    among = ds["fate"].values == fate
    if not among.any():
        return ""
    speed = np.where(among, (1 if fate == DECAYS else -1) * ds[name].values, -np.inf)
    at = np.unravel_index(int(speed.argmax()), speed.shape)
    time, turning = (float(ds[each].values[at]) for each in (name, "frequency"))
    kind, shares = str(ds["kind"].values[at[0]]), ds["input_share"].values[at]
    kind, per = (kind, "second") if schema.of_flow(ds["time_constant"]) else (of_map(kind), "step")
    turns = f", turning by {number(abs(turning), DIGITS)} cycles a {per}" if abs(turning) > 0 else ""
    drives = ""
    if len(shares) > 1 and np.isfinite(shares).all():
        drives = f"; input {shares.argmax()} drives it most ({percent(shares.max())} of the squared weights)"
    return f"{words.format(number(time, DIGITS))}{turns} (point {at[0]}, {kind}){drives}"
