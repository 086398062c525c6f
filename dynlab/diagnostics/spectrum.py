"""The spectra of the Jacobians ∂h_t/∂h_{t−1} along driven trajectories."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.driven import Driven, chosen_steps, drive
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.eigenvalues import Eigenvalues, eigenvalues
from dynlab.numerics.threads import in_threads
from dynlab.progress import through
from dynlab.systems import Euler, Map, System
from dynlab.systems.checked import checked
from dynlab.wording import at_most, counted, near_one, number, ranging, share, some_of, typically

METHOD = f"{EIGENVALUES}. The rounding of each entry of J is bounded"
METHOD_FLOW = METHOD + "; all of the flow's Jacobian A, whose eigenvalues λ give the map's μ = 1 + ελ"
NOT_COMPUTED = "NaN where the Jacobian is not finite (the trajectory has diverged) or the QR iteration did not converge"

ARRAYS = 3  # of the size of all of its Jacobians that a sample's take
TIMES = 64
WORK = 2.6e10  # the cubes of the sizes of all diagonal blocks: half a minute on two cores
LEAST = 64**3  # of it a Jacobian: what a small one takes beside its eigenvalues

EPS = float(np.finfo(np.float64).eps)
DEFECTIVE = "inf where left and right eigenvectors are orthogonal: a defective eigenvalue"


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
    """Eigenvalues of the one-step Jacobians of a map along what drives it.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Those recorded with the system where there are none (`dynlab.from_module` with a batch).
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    times : int, optional
        How many steps of a sequence are linearised: evenly spaced, the first and the last among them. Where it is not
        given `usual_times`, which the verdict says where they are fewer than 64.
    conditions : bool
        Whether the eigenvalues' conditions and the departures from normality are computed: of large stacks a quarter
        of the time.
    inputs_description : str
        What the inputs are, for the verdict: "16 test sequences of har2".
    dtype, device : str
        Of the trajectory and its Jacobians; eigenvalues are computed in float64 on the CPU.
    seed : int
        The one that drew `inputs`, recorded in the settings; nothing here is random.

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
    )
    chosen = usual_times(system, len(driven.states)) if times is None else times
    steps = chosen_steps(driven.steps, chosen)
    found = _along(driven, steps, conditions)
    ds = schema.dataset(
        _variables(found),
        system=system.name,
        source=system.source,
        settings=driven.settings
        | {
            "times": chosen,
            "conditions": conditions,
            "step_size": system.step_size if isinstance(system, Euler) else None,
        },
        method=METHOD_FLOW if "flow_eigenvalue" in found else METHOD,
        coords={schema.TIME: schema.time_coordinate(steps)},
        flags=_flags(found),
    )
    ds.attrs["verdict"] = _verdict(ds, driven.steps, inputs_description)
    ds.attrs["verdict"] += _fewer_times(ds.sizes[schema.TIME], system, times, driven.steps)
    return ds


def _fewer_times(linearised: int, system: Map, times: int | None, steps: int) -> str:
    """What a verdict says where nobody has asked for as few of the `steps` as have been linearised."""
    if times is not None or linearised == min(TIMES, steps):
        return ""
    return (
        f" The state has {system.state_size:,} dimensions, and so {linearised} of the {steps} steps are "
        f"linearised; a larger --times (in Python times=) takes more."
    )


def usual_times(system: Map, samples: int, steps: int = TIMES) -> int:
    """How many of so many steps are linearised unless told otherwise: all that `WORK` allows, but one."""
    each = sum(size**3 for size in system.blocks)
    if steps > TIMES:
        each = max(each, LEAST)
    return max(1, min(steps, int(WORK / (samples * each))))


def _along(driven: Driven, steps: NDArray[np.int64], conditions: bool) -> dict[str, NDArray[Any]]:
    """The variables' values, the first two dimensions being sample and time."""
    samples, _, n = driven.states.shape
    joined = in_threads(
        lambda some: tuple(_of_samples(driven.of(some), steps, conditions)), samples, 8 * ARRAYS * n * n * len(steps)
    )
    names = ["eigenvalue", "eigenvalue_error", "condition"]
    names += ["flow_eigenvalue", "flow_eigenvalue_error"] if isinstance(driven.system, Euler) else []
    found = dict(zip([*names, "departure_from_normality"], joined, strict=True))
    return found if conditions else {name: found[name] for name in names if name != "condition"}


def _of_samples(driven: Driven, steps: NDArray[np.int64], conditions: bool) -> list[NDArray[Any]]:
    """The values of some samples, whose Jacobians at one step are held at once."""
    flow = driven.system.flow if isinstance(driven.system, Euler) else None
    step_size = driven.system.step_size if isinstance(driven.system, Euler) else None
    of, parts = flow or driven.system, []
    sizes = of.blocks
    for stack, errors in _matrices(driven, of, steps):
        found = eigenvalues(stack, errors, sizes, conditions=conditions)
        of_map = found if step_size is None else _of_map(found, step_size)
        parts.append((*of_map, _departures(stack, step_size, sizes) if conditions else found.values[..., 0].real))
    return [np.concatenate(part, axis=1) for part in zip(*parts, strict=True)]


def _matrices(
    driven: Driven, of: System, steps: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.float64], list[NDArray[np.float64]]]]:
    """Jacobians, and the errors of their diagonal blocks, which are those whose errors are known, to the last bit."""
    whole = driven.blocks(of, steps) if len(of.blocks) > 1 else None
    for diagonal in driven.diagonal_blocks(of, steps):
        stack = diagonal[0][0] if whole is None else np.array(next(whole).cpu().numpy(), np.float64)
        for part, (block, _) in zip(parts_of(of.blocks), diagonal, strict=True):
            stack[..., part, part] = block
        yield stack, [np.nan_to_num(wrong, nan=np.inf) for _, wrong in diagonal]


def _of_map(found: Eigenvalues, step_size: float) -> tuple[NDArray[Any], ...]:
    """Eigenvalues μ = 1 + ελ in their order, their errors and conditions, and the flow's λ and their errors."""
    values: NDArray[Any] = 1 + step_size * found.values
    sorts = order(values)
    values, rates, errors, conditions = (
        np.take_along_axis(part, sorts, axis=-1) for part in (values, found.values, found.errors, found.conditions)
    )
    # the product and the sum round too
    return values, step_size * errors + 2 * EPS * np.abs(values), conditions, rates, errors


def _departures(matrices: NDArray[np.float64], step_size: float | None, sizes: Sequence[int]) -> NDArray[np.float64]:
    """Of each map from normality, shape (...), from its Jacobian or its flow's."""
    n = matrices.shape[-1]
    flat = matrices.reshape(-1, n, n)

    def work(some: slice) -> tuple[NDArray[np.float64]]:
        maps = (each if step_size is None else np.eye(n) + step_size * each for each in flat[some])
        return (
            np.array([_departure_from_normality(each, parts_of(sizes)) for each in through(maps, len(flat[some]))]),
        )

    (found,) = in_threads(work, len(flat))
    return np.asarray(found.reshape(matrices.shape[:-2]))


def _departure_from_normality(matrix: NDArray[np.float64], parts: list[slice]) -> float:
    """‖J Jᵀ − Jᵀ J‖_F/‖J‖_F² of a lower block triangular matrix, by the blocks of that difference, which is symmetric.

    Its block i ≥ j has Σ_{k≤j} J_ik J_jkᵀ and Σ_{k≥i} J_kiᵀ J_kj: of three blocks 20 products in place of 54.
    """
    size = np.abs(matrix).max()
    if not 0 < size < np.inf:
        return float("nan")
    scaled = matrix / size
    total = 0.0
    for index, i in enumerate(parts):
        for j in parts[: index + 1]:
            block = scaled[i, : j.stop] @ scaled[j, : j.stop].T - scaled[i.start :, i].T @ scaled[i.start :, j]
            total += (1 if i == j else 2) * float(np.linalg.norm(block)) ** 2
    return float(np.sqrt(total) / np.linalg.norm(scaled) ** 2)


def _variables(found: dict[str, NDArray[Any]]) -> dict[str, xr.Variable]:
    each, mode = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE)
    sizes, errors = np.abs(found["eigenvalue"]), found["eigenvalue_error"]
    radius = sizes.max(axis=-1)
    off = np.maximum((sizes + errors).max(axis=-1) - radius, radius - (sizes - errors).max(axis=-1))
    variables = {
        "eigenvalue": schema.variable(mode, found["eigenvalue"], "eigenvalue μ of ∂h_t/∂h_{t−1}"),
        "eigenvalue_error": schema.variable(mode, found["eigenvalue_error"], "bound on the error of μ"),
        "spectral_radius": schema.variable(each, radius, "spectral radius of ∂h_t/∂h_{t−1}"),
        "spectral_radius_error": schema.variable(each, off, "bound on the error of the spectral radius"),
    }
    if "condition" in found:
        departures = found["departure_from_normality"]
        variables |= {
            "condition": schema.variable(mode, found["condition"], "condition of the eigenvalue"),
            "departure_from_normality": schema.variable(each, departures, "departure from normality of ∂h_t/∂h_{t−1}"),
        }
    if "flow_eigenvalue" in found:
        rates = found["flow_eigenvalue"]
        variables |= {
            "flow_eigenvalue": schema.variable(mode, rates, "eigenvalue of the flow's Jacobian", schema.PER_SECOND),
            "flow_eigenvalue_error": schema.variable(
                mode, found["flow_eigenvalue_error"], "bound on the error of the flow's eigenvalue", schema.PER_SECOND
            ),
            "spectral_abscissa": schema.variable(
                each, rates.real.max(axis=-1), "spectral abscissa of the flow's Jacobian", schema.PER_SECOND
            ),
        }
    return variables


def _flags(found: dict[str, NDArray[Any]]) -> dict[str, str]:
    flags = {}
    if not np.isfinite(found["eigenvalue"]).all():
        names = [*(name for name in found if name != "departure_from_normality"), "spectral_radius"]
        names += ["spectral_abscissa"] if "flow_eigenvalue" in found else []
        flags = dict.fromkeys(names, NOT_COMPUTED)
    if "condition" not in found:
        return flags
    if np.isinf(found["condition"]).any():
        reasons = [DEFECTIVE, flags.get("condition", "")]
        flags["condition"] = "; ".join(reason for reason in reasons if reason)
    if not np.isfinite(found["departure_from_normality"]).all():
        flags["departure_from_normality"] = "NaN where the Jacobian is zero or not finite"
    return flags


def _open(above: NDArray[np.bool_], below: NDArray[np.bool_], known: NDArray[np.bool_]) -> str:
    """In how many of the Jacobians whose radius is known it is told neither above 1 nor below."""
    count = int((known & ~above & ~below).sum())
    others = "the other " if above.any() and (above | (known & ~below)).all() else ""
    return f"; in {others}{'one' if count == 1 else f'{count:,}'} it is not told from 1" if count else ""


ROUNDED = 1e-10  # a radius as near to 1 as its error and as this is told as 1
AS_ONE = 1e-12  # and any as near as this, beside how many exceed 1 by how much
BARELY = 1e-9  # a radius that exceeds 1 by less does so as rounding leaves it: by how much is told
COARSE = 5e-4  # of the radius: an error that changes what is printed of it
STORED = EPS  # times the size of J: an orthogonal matrix as it is stored is no nearer to one
NOT_KNOWN = "not known, as where a unit is at a kink or a jump of its activation, or J is nearly defective"


def _verdict(ds: xr.Dataset, steps: int, described: str) -> str:
    radius, wrong = ds["spectral_radius"].values, ds["spectral_radius_error"].values
    finite = np.isfinite(radius)
    stored = 0.0 if "flow_eigenvalue" in ds else STORED * ds.sizes[schema.MODE]  # of Euler's I + εA the I is exact
    looked = some_of(radius.shape[1], steps, described)
    if not finite.any():
        return f"No Jacobian of {looked} is finite: the trajectories diverge."
    sizes, errors = np.abs(ds["eigenvalue"].values[finite]), np.maximum(ds["eigenvalue_error"].values[finite], stored)
    above, below = (sizes > 1 + errors).any(axis=-1), (sizes < 1 - errors).all(axis=-1)
    open_ = float((~above & ~below).mean())
    known = schema.known(ds, "spectral_radius").values
    some = "" if finite.all() else f"{above.size:,} finite ones of "
    where = f"the {some}{counted(finite.size, 'Jacobian')}"
    size = ds.sizes[schema.MODE]
    text = f"The state's Jacobian ∂h_t/∂h_{{t−1}} ({size:,} × {size:,}) was taken at {looked}. Its spectral radius "
    if known.any():
        most = float(wrong[known].max())
        coarse = f", with errors of up to {at_most(most, 2)}" if most > COARSE * float(radius[known].max()) else ""
        of_one = np.abs(radius - 1) <= np.clip(wrong, AS_ONE, ROUNDED)
        text += f"{typically(np.where(of_one, 1, radius)[known], 4, near_one)}{coarse}. "
    else:
        text += f"is {NOT_KNOWN}. "
    lost = float((finite & ~known).sum() / finite.sum())
    text += f"At {share(lost)} of the Jacobians it is {NOT_KNOWN}. " if known.any() and lost else ""
    exceeds = f"The radius exceeds 1 in {share(above.mean())} of {where}"
    if above.any() and (excess := float(sizes.max()) - 1) < BARELY:
        exceeds += f", by {number(excess, 1)} at most"
    text += (
        exceeds + _open(above, below, known[finite])
        if open_ < 1
        else f"Whether the radius exceeds 1 is undecided for {where}"
    )
    text += "."
    if "departure_from_normality" in ds:
        text += _of_departure(ds["departure_from_normality"].values, stored)
    if "flow_eigenvalue" in ds:
        text += _of_flow(ds, bool(above.any()))
    return text


def _of_departure(values: NDArray[np.float64], stored: float) -> str:
    """How far the Jacobians are from normal ones, where `stored` and less is what rounding leaves of one."""
    rounded = (values > 0) & (values <= stored)
    zero = ", where 0 stands for what rounding leaves" * bool(rounded.any())
    return (
        f" The departure from normality {typically(np.where(rounded, 0, values))}{zero}. It "
        f"would be 0 with orthogonal eigenvectors, and is at most √2."
    )


def _of_flow(ds: xr.Dataset, grows: bool) -> str:
    """The real parts of the flow's eigenvalues; `grows` is whether the radius of Euler's step exceeds 1 anywhere."""
    real, errors = ds["flow_eigenvalue"].values.real, ds["flow_eigenvalue_error"].values
    step = number(schema.settings(ds)["step_size"])
    text = f" This is Euler's step, at ε = {step} s, of a flow with eigenvalues λ. Re λ {ranging(real)} per second"
    calm = grows and (real < -errors)[np.isfinite(real)].all()
    if not calm:
        return f"{text}."
    most = at_most(float(np.nanmax(errors)), 1)
    return (
        f"{text}. Its error is {most} per second at most, and Re λ is farther below 0 everywhere. With state and input "
        f"frozen at any of these steps, small changes would decay under the flow. Euler's step lets some of them grow."
    )
