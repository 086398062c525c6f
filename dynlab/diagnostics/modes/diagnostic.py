"""What a network keeps at its fixed points, and what it reads: the modes of its linear map there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.fixed_points.at_points import also_incomplete, held_map, leading_modes, verified
from dynlab.diagnostics.fixed_points.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.modes.lasting import lasting
from dynlab.diagnostics.modes.verdict import verdict
from dynlab.errors import UserError
from dynlab.jacobians import input_jacobian
from dynlab.numerics.eigenvectors import UNRESOLVED, Eigenmodes
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.systems.copied import copied
from dynlab.systems.held import Held

METHOD = (
    "Fixed points are found and verified as dynlab.fixed_points does. Right eigenvectors have length 1 and come from "
    "LAPACK; left ones come from inversion and one step of Newton, of a stack from those of its layers. A mode has "
    f"vectors of its own where a first-order bound on the angle they may be turned by is below {UNRESOLVED:g}. "
    "Derivatives by the input and of the read-out are in closed form, or by automatic differentiation"
)
COPIED = ("fixed_point_state", "residual", "kind", "stable", "status")

Real = NDArray[np.float64]


@checked
def modes(
    system: Map,
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
    """Eigenvectors, time constants and frequencies at each fixed point; what drives each mode, and what reads it.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        What drives the network, for starts of the search, as in `dynlab.fixed_points`.
    k : int, optional
        Of how many modes, by decreasing modulus; of all where it is not given.
    at : "zero", "mean" or array_like, shape (input,)
        The input that is held.
    at_step : int
        The step whose parameters are held where parameters change with time; −1 is the last.
    starts : int or array_like, shape (sample, state), optional
        Of the search for fixed points.
    readout : callable, optional
        From `System.output` of a state to what is read, such as a checkpoint's read-out.
    dtype, device : str
        Of the search; modes are computed in float64.
    seed : int
        Of the random starts.

    Returns
    -------
    xarray.Dataset
        Of each mode ``eigenvalue(fixed_point, mode)`` with ``eigenvalue_error``. ``fate`` is "decays", "grows" or
        "undecided". ``time_constant`` in steps with ``time_constant_error`` is negative where the mode grows and inf
        where that is undecided. ``doubling_time`` is in steps, and ``frequency`` in cycles a step. ``separated`` is 1
        where the mode has vectors of its own, with ``vector_error`` and ``condition``.
        ``right_eigenvector(fixed_point, mode, state)`` has length 1, and ``left_eigenvector`` l_i r_j = δ_ij, not
        conjugated. ``input_drive(fixed_point, mode, input)`` = abs(l_i B), and ``input_share`` are the shares of its
        squares. With a read-out ``output_read(fixed_point, mode, output)`` = abs(C r_i).
        ``input_jacobian(fixed_point, state, input)`` is B = ∂F/∂x, ``output_jacobian`` C; both at the fixed point.

    Raises
    ------
    UserError
        For a flow, k outside 1 … n, bad inputs and starts.

    Notes
    -----
    Near h*, h_t − h* = Σ_i r_i μ_i^t l_i (h_0 − h*) + Σ_s Σ_i r_i μ_i^{t−s} l_i B (x_s − x*). r_i is the pattern that a
    mode keeps, l_i what it selects of state and input, μ_i how long. Without its own l_i, r_i a mode is not
    interpreted: NaN. What fsolve does not verify is left out.

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
    if not isinstance(system, Map):
        raise UserError(
            f"Modes are those of a map's fixed points, got the flow {system.name!r}: "
            f"take the step dynlab.Euler(flow, step_size)."
        )
    count = system.state_size if k is None else k
    if not 1 <= count <= system.state_size:
        raise UserError(f"k counts modes: from 1 to the state's {system.state_size:,} dimensions, got {count}.")
    search: dict[str, Any] = {"at": at, "at_step": at_step, "dtype": dtype, "device": device, "seed": seed}
    points = fixed_points(system, inputs, starts=starts, **search)
    found, held = verified(points), held_map(system, points)
    each = leading_modes(held, found, [count] * found.sizes[schema.FIXED_POINT])
    variables = {name: found[name].variable for name in COPIED}
    variables |= _of_eigenvalues(found, count) | _of_vectors(each, system.state_size, count)
    variables |= _of_inputs(held, found, variables["left_eigenvector"].values)
    if readout is not None:
        variables |= _of_outputs(held, found, variables["right_eigenvector"].values, readout)
    asked = {"k": count, "readout": readout is not None, "seed": seed, "dtype": dtype, "device": device}
    copied = ("at", "input", "at_step", "starts", "given_starts", "config")
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings={name: schema.settings(points)[name] for name in copied} | asked,
        verdict=lambda ds: (
            (under_input(verdict(ds), at) if system.network_input_size else verdict(ds)) + also_incomplete(points)
        ),
        method=METHOD,
        flags=_flags(variables),
    )


def _of_eigenvalues(found: xr.Dataset, count: int) -> dict[str, xr.Variable]:
    mode, of = (schema.FIXED_POINT, schema.MODE), schema.variable
    values, errors = (found[name].values[:, :count] for name in ("eigenvalue", "eigenvalue_error"))
    lasts = lasting(values, errors)
    return {
        "eigenvalue": of(mode, values, "eigenvalue μ of ∂F/∂h at h*"),
        "eigenvalue_error": of(mode, errors, "bound on the error of μ"),
        "fate": of(mode, lasts.fate, "whether the mode decays or grows"),
        "time_constant": of(mode, lasts.time_constant, "time constant −1/ln |μ|, negative where it grows", schema.STEP),
        "time_constant_error": of(mode, lasts.error, "bound on the error of the time constant", schema.STEP),
        "doubling_time": of(mode, lasts.doubling_time, "doubling time ln 2/ln |μ|", schema.STEP),
        "frequency": of(mode, lasts.frequency, "frequency arg μ/2π", schema.CYCLE_PER_STEP),
    }


def _of_vectors(each: list[Eigenmodes], n: int, count: int) -> dict[str, xr.Variable]:
    mode, vector, of = (
        (schema.FIXED_POINT, schema.MODE),
        (schema.FIXED_POINT, schema.MODE, schema.STATE),
        schema.variable,
    )

    def rows(name: str, dtype: Any, *shape: int) -> NDArray[Any]:
        listed = [getattr(one, name)[:count] for one in each]
        return np.array(listed, dtype=dtype).reshape(len(each), count, *shape)

    separated = rows("resolved", np.int8)
    right, left = (np.where(separated[..., None] == 1, rows(side, complex, n), np.nan) for side in ("right", "left"))
    return {
        "separated": of(mode, separated, "1: the mode has eigenvectors of its own"),
        "vector_error": of(mode, rows("errors", float), "bound on the angle by which an eigenvector is off"),
        "condition": of(mode, rows("conditions", float), "condition ‖l_i‖‖r_i‖ of μ"),
        "right_eigenvector": of(vector, right, "right eigenvector r_i, what the mode keeps"),
        "left_eigenvector": of(vector, left, "left eigenvector l_i, what the mode selects"),
    }


def _of_inputs(held: Held, found: xr.Dataset, left: NDArray[np.complex128]) -> dict[str, xr.Variable]:
    states = torch.as_tensor(found["fixed_point_state"].values)
    n, m = states.shape[1], held.system.input_size
    x = held.input.expand(len(states), m)
    B = input_jacobian(held.system, states, x, held.t).dense().expand(len(states), n, m).numpy()
    drive = np.abs(left @ B)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = drive**2 / (drive**2).sum(axis=-1, keepdims=True)
    each, of = (schema.FIXED_POINT, schema.MODE, schema.INPUT), schema.variable
    return {
        "input_jacobian": of((schema.FIXED_POINT, schema.STATE, schema.INPUT), B, "B = ∂F/∂x at h*"),
        "input_drive": of(each, drive, "drive |l_i B| of the mode by an input of 1"),
        "input_share": of(each, shares, "share of the input in the mode's squared drive"),
    }


def _of_outputs(
    held: Held, found: xr.Dataset, right: NDArray[np.complex128], readout: Callable[[Tensor], Tensor]
) -> dict[str, xr.Variable]:
    read = readout
    if isinstance(readout, torch.nn.Module):
        read = copied(readout).eval().double().cpu()
    states = torch.as_tensor(found["fixed_point_state"].values)
    derivative = torch.func.jacrev(lambda h: read(held.system.output(h)).reshape(-1))
    width = read(held.system.output(states.new_zeros(states.shape[1]))).numel()
    with torch.no_grad():
        C = np.array([derivative(state).numpy() for state in states]).reshape(len(states), width, states.shape[1])
    amplitude = np.abs(right @ C.swapaxes(1, 2))
    of = schema.variable
    return {
        "output_jacobian": of((schema.FIXED_POINT, schema.OUTPUT, schema.STATE), C, "C, derivative of the read-out"),
        "output_read": of((schema.FIXED_POINT, schema.MODE, schema.OUTPUT), amplitude, "read-out |C r_i| of the mode"),
    }


def _flags(variables: dict[str, xr.Variable]) -> dict[str, str]:
    alone = "NaN for a mode without eigenvectors of its own: its eigenvalue is not told from another"
    reasons = {
        "eigenvalue_error": "inf at a kink of the activation, where the Jacobian is that of one side alone",
        "time_constant": "inf where |μ| is 1 within its error: the mode is undecided",
        "time_constant_error": "NaN where |μ| is 1 within its error",
        "doubling_time": "NaN for modes that do not certainly grow",
        "frequency": "NaN where μ is zero within its error",
        "vector_error": "inf where eigenvalues are not separated by their errors",
        "condition": "inf for a defective Jacobian",
        "right_eigenvector": alone,
        "left_eigenvector": alone,
        "input_drive": alone,
        "input_share": f"{alone}; NaN where no input drives it",
        "output_read": alone,
    }
    return {
        name: reason
        for name, reason in reasons.items()
        if name in variables and not np.isfinite(variables[name].values).all()
    }
