"""The spectra of the Jacobians ∂h_t/∂h_{t−1} along driven trajectories."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.threads import in_threads
from dynlab.systems import Euler, Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import Driven, Found, chosen_steps, drive
from dynlab.trajectories.lengths import LENGTH, of_lengths, reasons_with, within
from dynlab.words import at_most, counted, near_one, number, ranged, ranging, share, some_of

METHOD = f"{EIGENVALUES}. The rounding of each entry of J is bounded"
METHOD_FLOW = METHOD + "; all of the flow's Jacobian A, whose eigenvalues λ give the map's μ = 1 + ελ"
NOT_COMPUTED = "NaN where the Jacobian is not finite (the trajectory has diverged) or the QR iteration did not converge"
NAMES = ("eigenvalue", "eigenvalue_error", "condition", "departure_from_normality")
RATES = ("flow_eigenvalue", "flow_eigenvalue_error")
EACH, MODE = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE)
DEFECTIVE = "inf where left and right eigenvectors are orthogonal: a defective eigenvalue; "
# name: dimensions, long name, units, why a value is not finite
VARIABLES = {
    "eigenvalue": (MODE, "eigenvalue μ of ∂h_t/∂h_{t−1}", schema.ONE, NOT_COMPUTED),
    "eigenvalue_error": (MODE, "bound on the error of μ", schema.ONE, NOT_COMPUTED),
    "spectral_radius": (EACH, "spectral radius of ∂h_t/∂h_{t−1}", schema.ONE, NOT_COMPUTED),
    "spectral_radius_error": (EACH, "bound on the error of the spectral radius", schema.ONE, NOT_COMPUTED),
    "condition": (MODE, "condition of the eigenvalue", schema.ONE, DEFECTIVE + NOT_COMPUTED),
    "departure_from_normality": (
        EACH,
        "departure from normality of ∂h_t/∂h_{t−1}",
        schema.ONE,
        "NaN where the Jacobian is zero or not finite",
    ),
    "flow_eigenvalue": (MODE, "eigenvalue of the flow's Jacobian", schema.PER_SECOND, NOT_COMPUTED),
    "flow_eigenvalue_error": (
        MODE,
        "bound on the error of the flow's eigenvalue",
        schema.PER_SECOND,
        NOT_COMPUTED,
    ),
    "spectral_abscissa": (EACH, "spectral abscissa of the flow's Jacobian", schema.PER_SECOND, NOT_COMPUTED),
    "length": (*LENGTH, ""),
}

ARRAYS = 3  # of the size of all of its Jacobians that a sample's take
TIMES = 256
WORK = 1.3e10  # the cubes of the sizes of all diagonal blocks: half a minute on two cores
LEAST = 64**3  # of it a Jacobian: what a small one takes beside its eigenvalues

EPS = float(np.finfo(np.float64).eps)
ROUNDED = 1e-10  # a radius as near to 1 as its error and as this is told as 1
STORED = EPS  # times the size of J: an orthogonal matrix as it is stored is no nearer to one


@checked
def spectrum(
    system: Map,
    inputs: Any = None,
    *,
    initial_state: Any = None,
    times: int | None = None,
    conditions: bool = True,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute the eigenvalues of the one-step Jacobians of a map along what drives it.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Sequences of different lengths: a list of arrays (time, input), a PackedSequence, or NaN after their ends. By
        default those recorded with the system (`dynlab.from_module` with a batch).
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at, zero for most.
    times : int, optional
        Number of steps of a sequence that are linearised: evenly spaced, the first and the last among them. By default
        `usual_times`; the verdict says how many.
    conditions : bool
        Compute the eigenvalues' conditions and the departures from normality: a quarter of the time of large stacks.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of the trajectory and its Jacobians; eigenvalues are computed in float64 on the CPU.
    seed : int
        Seed that drew `inputs`, recorded in the settings.

    Returns
    -------
    xarray.Dataset
        ``eigenvalue(sample, time, mode)`` by decreasing modulus, pairs adjacent with the positive imaginary part first.
        Each has its ``eigenvalue_error`` and, with `conditions`, its ``condition``. ``spectral_radius(sample, time)``
        and ``spectral_radius_error(sample, time)``, which any eigenvalue's error may lift. Errors are those of the
        Jacobians at the states as computed, and say nothing of what rounding does to a trajectory.
        ``departure_from_normality(sample, time)`` = ‖JJᵀ − JᵀJ‖_F / ‖J‖²_F. Of an `Euler` step also ``flow_eigenvalue``
        with ``flow_eigenvalue_error``, those of the flow's Jacobian in 1/s, in the same order: eigenvalue = 1 + ε
        flow_eigenvalue. ``spectral_abscissa(sample, time)`` is the largest real part of them.

    Raises
    ------
    UserError
        For a flow, for inputs of the wrong width, empty or not finite, and for `times` below 1.

    References
    ----------
    Golub and Van Loan, Matrix Computations, sections 7.2.1 to 7.2.3; `dynlab.numerics.eigenvalues`.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = spectrum(from_function(lambda h, x: 0.5 * h, state_size=2), np.zeros((10, 0)), times=3)
    >>> ds["time"].values.tolist(), ds["spectral_radius"].values.tolist()
    ([1, 6, 10], [[0.5, 0.5, 0.5]])
    """
    driven = drive(
        system,
        inputs,
        initial_state,
        dtype=dtype,
        device=device,
        seed=seed,
        inputs_description=inputs_description,
        uneven=True,
    )
    chosen = usual_times(system, len(driven.states)) if times is None else times
    steps, found = driven.joined(lambda part: _along(part, chosen, conditions))
    step_size = system.step_size if isinstance(system, Euler) else None
    more = f" A larger --times (times=) takes more than {len(steps)} of the {driven.steps} steps."
    more *= times is None and len(steps) != min(TIMES, driven.steps)
    return schema.result(
        system,
        {name: (dims, found[name], *words) for name, (dims, *words, _) in VARIABLES.items() if name in found},
        settings=driven.settings | {"times": chosen, "conditions": conditions, "step_size": step_size},
        method=METHOD if step_size is None else METHOD_FLOW,
        coords={schema.TIME: schema.time_coordinate(steps)},
        reasons=reasons_with({name: row[-1] for name, row in VARIABLES.items()}, driven.after),
        verdict=lambda ds: _verdict(ds, driven.steps, inputs_description) + of_lengths(ds) + more,
    )


def usual_times(system: Map, samples: int, steps: int = TIMES) -> int:
    """Return how many of so many steps are linearised by default: all that `WORK` allows, and one at least."""
    each = max(sum(size**3 for size in system.blocks), LEAST)
    return max(1, min(steps, int(WORK / (samples * each))))


def _along(driven: Driven, times: int, conditions: bool) -> tuple[Index, Found, Found]:
    """Return the steps, and the variables' values (sample, time, ...) as `Driven.joined` takes them."""
    (samples, _, n), steps = driven.states.shape, chosen_steps(driven.steps, times)
    of = driven.system.flow if isinstance(driven.system, Euler) else driven.system

    def work(some: slice) -> tuple[NDArray[Any], ...]:
        parts = [
            _of_stack(driven.system, of.blocks, J.cpu().numpy(), error.cpu().numpy(), conditions)
            for J, error in driven.of(some).blocks_and_errors(of, steps)
        ]
        return tuple(np.concatenate(part, axis=1) for part in zip(*parts, strict=True))

    names = (*NAMES[: 2 + 2 * conditions], *RATES * (of is not driven.system))
    found = dict(zip(names, in_threads(work, samples, 8 * ARRAYS * n * n * len(steps)), strict=True))
    return steps, _with_radius(found), {}


@np.errstate(invalid="ignore")
def _with_radius(found: Found) -> Found:
    """Return the values with the spectral radius and its error, and with the spectral abscissa of a flow."""
    sizes, errors = np.abs(found["eigenvalue"]), found["eigenvalue_error"]
    radius = sizes.max(axis=-1)
    off = np.maximum((sizes + errors).max(axis=-1) - radius, radius - (sizes - errors).max(axis=-1))
    found |= {"spectral_radius": radius, "spectral_radius_error": off}
    if "flow_eigenvalue" in found:
        found["spectral_abscissa"] = found["flow_eigenvalue"].real.max(axis=-1)
    return found


def _of_stack(system: Map, blocks: Sequence[int], stack: Real, wrong: Real, conditions: bool) -> list[NDArray[Any]]:
    """Return the values at Jacobians held at once; of an Euler step those of the flow, in the order of the step's."""
    errors = np.nan_to_num(wrong, nan=np.inf)
    found: list[NDArray[Any]] = list(eigenvalues(stack, errors, blocks, conditions=conditions))
    rates: list[NDArray[Any]] = []
    if isinstance(system, Euler):
        stack = np.eye(stack.shape[-1]) + system.step_size * stack
        sorts = order(np.asarray(1 + system.step_size * found[0], dtype=np.complex128))
        *rates, known = (np.take_along_axis(part, sorts, axis=-1) for part in found)
        values = 1 + system.step_size * rates[0]  # the product and the sum round too
        found = [values, system.step_size * rates[1] + 2 * EPS * np.abs(values), known]
    return [*found[: 2 + conditions], *([_departure_from_normality(stack)] if conditions else []), *rates]


@np.errstate(invalid="ignore", divide="ignore")
def _departure_from_normality(matrices: Real) -> Real:
    """Return ‖J Jᵀ − Jᵀ J‖_F/‖J‖_F², NaN of a zero matrix."""
    scaled = matrices / np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    turned = scaled.swapaxes(-2, -1)
    commutator = np.linalg.norm(scaled @ turned - turned @ scaled, axis=(-2, -1))
    return np.asarray(commutator / (scaled**2).sum(axis=(-2, -1)))


def _verdict(ds: xr.Dataset, steps: int, described: str) -> str:
    """Return the radius, in how many of the Jacobians it exceeds 1, and the flow's real parts."""
    there = within(ds)
    radius, wrong = (ds[name].values[there] for name in ("spectral_radius", "spectral_radius_error"))
    finite, known = np.isfinite(radius), schema.known(ds, "spectral_radius").values[there]
    looked = some_of(there.shape[1], steps, described)
    if not finite.any():
        return f"No Jacobian of {looked} is finite: the trajectories diverge."
    stored = 0.0 if "flow_eigenvalue" in ds else STORED * ds.sizes[schema.MODE]  # of Euler's I + εA the I is exact
    sizes, errors = np.abs(ds["eigenvalue"].values[there][finite]), ds["eigenvalue_error"].values[there][finite]
    errors = np.maximum(errors, stored)
    above, below = (sizes > 1 + errors).any(axis=-1), (sizes < 1 - errors).all(axis=-1)
    told = np.where(np.abs(radius - 1) <= np.minimum(wrong, ROUNDED), 1, radius)[known]
    size = ranged(told, 4, near_one).replace(" (range", " in the median (range")
    where = "" if known.all() else f" in the {share(known.mean())} of the Jacobians where it is known"
    count = "" if finite.all() else f"{above.size:,} finite ones of "
    undecided = int((~above & ~below).sum())
    open_ = f"; in {'all' if undecided == above.size else f'{undecided:,}'} that is undecided" * bool(undecided)
    return (
        f"Over {looked}, the spectral radius of ∂h_t/∂h_{{t−1}} is {size}{where}. It exceeds 1 in "
        f"{share(above.mean())} of the {count}{counted(finite.size, 'Jacobian')}{open_}.{_flow(ds, bool(above.any()))}"
    )


def _flow(ds: xr.Dataset, grows: bool) -> str:
    """Return a sentence on the flow's real parts; `grows`: the radius of Euler's step exceeds 1 somewhere."""
    if "flow_eigenvalue" not in ds:
        return ""
    real, errors = ds["flow_eigenvalue"].values.real, ds["flow_eigenvalue_error"].values
    step = number(schema.settings(ds)["step_size"])
    if not (real < -errors)[np.isfinite(real)].all():
        return f" This is Euler's step, at ε = {step} s, of a flow whose Re λ {ranging(real)} per second."
    error, but = at_most(float(np.nanmax(errors)), 1), f"; Euler's step at ε = {step} s is not" * grows
    return f" Every Re λ is below 0 (error {error} per second): the flow is stable at every step{but}."
