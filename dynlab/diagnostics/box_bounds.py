"""Proved bounds on the Jacobian over a whole box of states, in one common norm, with sampled values beside them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.errors import UserError, refuse, require_extra
from dynlab.numerics.arrays import Real
from dynlab.systems import Euler, Map, System, frozen
from dynlab.systems.checked import checked
from dynlab.trajectories.constant_input import under_constant_input
from dynlab.words import at_most, first_that_holds, interval, near_one, number, place

if TYPE_CHECKING:
    from dynlab.proofs.over_box import BoxBound

LARGEST = 256  # states of a system that is taken without being asked: they take a minute, and the time grows as n^2.5
METHOD = (
    "Ball arithmetic (Arb, 64 bits) encloses the Jacobian over the box as M + Σ A_k S_k B_k with diagonal |S_k| ≤ 1, "
    "a term for every activation and product. T is the best of three in floating point: the identity, Perron's "
    "diagonal weights, and factors of Lyapunov's equations. Its bounds are then proved. Sampled states are uniform in "
    "the box, and a quarter are its corners. The bounds are about the step in real numbers with the weights as "
    "stored; a ReLU's slope at its kink is all of 0 to 1."
)
CORNERS = 4  # one sampled state in so many is a corner of the box: a norm is often largest there


@checked
def box_bounds(
    system: System,
    inputs: Any = None,
    *,
    box: float | ArrayLike | None = None,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    samples: int = 256,
    prove: bool = False,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Prove bounds on a common norm of J, and on the real parts of its eigenvalues, over a box of states.

    A spectral radius below 1 at every state proves nothing about orbits. A norm ‖T J T⁻¹‖₂ below 1 with one T for all
    states does: any two orbits that stay in the box approach each other.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs that define the mean input; by default those recorded with the system.
    box : float or array_like, shape (2,) or (2, state), optional
        abs(h_i) ≤ `box`, or the lower and the upper end of every coordinate, or of each. By default the bounds that the
        system gives for its states, such as 1 for tanh.
    at, at_step : as in `dynlab.fixed_points`
        The input and the step that are held.
    samples : int
        Number of sampled states.
    prove : bool
        Prove bounds for a system with more than 256 states too, which takes hours.
    dtype, device : str
        Type and device of the sampled Jacobians; the proofs do not depend on them.
    seed : int
        Seed of the sampled states.

    Returns
    -------
    xarray.Dataset
        ``norm_bound`` is proved: ‖T J T⁻¹‖₂ is at most this over the box, and so is every spectral radius.
        ``sampled_norm(sample)`` and ``sampled_spectral_radius(sample)`` stand beside it. ``abscissa_bound`` is proved
        too: the logarithmic norm, and with it every real part, is at most this. It is of the flow's Jacobian (1/s)
        where the system is an `Euler` step, else of the step's. ``sampled_logarithmic_norm(sample)`` and
        ``sampled_abscissa(sample)`` stand beside it. ``norm_weights(mode, state)`` and
        ``abscissa_weights(mode, state)`` are the two T. ``box_lower(state)``, ``box_upper(state)``, and
        ``maps_into_itself`` (1 proved, 0 not).

    Raises
    ------
    UserError
        For a system that is no map, that has no ball arithmetic or more than 256 states, a box that is none or has no
        default, and without python-flint.

    Examples
    --------
    >>> import torch
    >>> from dynlab.systems import create
    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <torch...>
    >>> ds = box_bounds(create("vanilla", input_size=1, state_size=4))
    >>> ds.attrs["verdict"].startswith("With the input held at zero: over the box |h_i| ≤ 1 ")
    True
    """
    require_extra("flint", "certify")
    from dynlab.proofs.over_box import bound

    refuse(
        {
            "Bounds over a box are of a map's Jacobian: take the step dynlab.Euler(flow, step_size).": (
                not isinstance(system, Map)
            ),
            f"Bounds over a box of {system.state_size:,} states take hours and gigabytes: --prove (prove=True) proves "
            f"them all the same; `dynlab spectrum` samples trajectories.": system.state_size > LARGEST and not prove,
        }
    )
    check_at_least(1, samples=samples)
    held, driven = under_constant_input(system, inputs, at, at_step, dtype, device)
    ends, exact = _box(system, box), frozen(system)
    shares = np.random.default_rng(seed).uniform(size=(samples, system.state_size))
    shares[::CORNERS] = shares[::CORNERS] > 0.5
    states = ends[0] + shares * (ends[1] - ends[0])
    norm = bound(exact, held.system, held.input, held.t, ends, states, logarithmic=False)
    flow, sampling = (each.flow if isinstance(each, Euler) else each for each in (exact, held.system))
    rate = bound(flow, sampling, held.input, held.t, ends, states, logarithmic=True)
    said = _verdict(norm, rate, ends, isinstance(exact, Euler))
    return schema.result(
        system,
        _table(norm, rate, ends, isinstance(exact, Euler)),
        settings={"box": None if box is None else np.asarray(box, dtype=float).tolist(), "input": held.input.tolist()}
        | {"at": at if isinstance(at, str) else "values", "at_step": held.t, "samples": samples, "seed": seed}
        | {"inputs": None if driven is None else list(driven.shape), "dtype": dtype, "device": device},
        verdict=under_input(said, at, system.network_input_size),
        method=METHOD,
    )


def _table(norm: "BoxBound", rate: "BoxBound", ends: tuple[Real, Real], of_flow: bool) -> dict[str, tuple[Any, ...]]:
    sample, state, matrix = (schema.SAMPLE,), (schema.STATE,), (schema.MODE, schema.STATE)
    symbol, per = ("λ", schema.PER_SECOND) if of_flow else ("μ", schema.ONE)
    return {
        "norm_bound": ((), norm.value, "proved bound on ‖T J T⁻¹‖₂"),
        "sampled_norm": (sample, norm.sampled, "‖T J T⁻¹‖₂"),
        "sampled_spectral_radius": (sample, norm.eigenvalues, "spectral radius ρ(J)"),
        "norm_weights": (matrix, norm.weights, "T of the norm"),
        "abscissa_bound": ((), rate.value, f"proved bound on Re {symbol}", per),
        "sampled_logarithmic_norm": (sample, rate.sampled, "logarithmic norm of T J T⁻¹", per),
        "sampled_abscissa": (sample, rate.eigenvalues, f"spectral abscissa max Re {symbol}", per),
        "abscissa_weights": (matrix, rate.weights, "T of the logarithmic norm"),
        "box_lower": (state, ends[0], "lower end of the box"),
        "box_upper": (state, ends[1], "upper end of the box"),
        "maps_into_itself": ((), np.int8(norm.inside), "1: the step maps the box into itself, proved; 0: not proved"),
    }


def _verdict(norm: "BoxBound", rate: "BoxBound", ends: tuple[Real, Real], of_flow: bool) -> str:
    """Say whether the step contracts over the box, and which bounds on J are proved."""
    cases = {
        "contracts and maps the box into itself: every start ends at one fixed point": norm.value < 1 and norm.inside,
        "contracts: orbits that stay in the box approach each other": norm.value < 1,
        "does not contract in any norm": norm.surely > 1,
        "is not proved to contract": True,
    }
    J, real, unit = ("the flow's Jacobian", "Re λ", " per second") if of_flow else ("J", "Re μ", "")
    approach = ", so its solutions in the box approach each other" if of_flow and rate.value < 0 else ""
    return (
        f"Over the box {_in_words(*ends)} the step {first_that_holds(cases)}. Proved: ‖T J T⁻¹‖₂ ≤ "
        f"{at_most(norm.value)} with one T for all states, and {real} ≤ "
        f"{at_most(rate.value)}{unit} for {J}{approach}. Samples reach a norm of {number(norm.sampled.max())}, a "
        f"spectral radius of {near_one(float(norm.eigenvalues.max()))} and a {real} of "
        f"{number(rate.eigenvalues.max())}{unit}."
    )


def _in_words(lower: Real, upper: Real) -> str:
    """Return the box in words: "|h_i| ≤ 1", or how wide it is and around what."""
    if np.ptp(upper) == 0 and (lower == -upper).all():
        return f"|h_i| ≤ {number(upper[0])}"
    return f"with sides of {interval(upper - lower)} around {place((lower + upper) / 2)}"


def _box(system: System, box: float | ArrayLike | None) -> tuple[Real, Real]:
    n, given = system.state_size, system.state_bound() if box is None else None
    if given is not None and bool(given.isfinite().all()):
        box = given.detach().double().cpu().numpy() * np.array([[-1.0], [1.0]])
    values = np.asarray(np.nan if box is None else box, dtype=float)
    values = np.stack([-values, values]) if values.ndim == 0 else values
    if values.shape not in ((2,), (2, n)) or not np.isfinite(values).all() or not (values[0] < values[1]).all():
        raise UserError(
            f"The states of {system.name!r} need a box: one positive number (--box 1), a lower and an upper end (--box "
            f"-1,2), or {n} of each, finite and in this order; got {np.asarray(box).tolist()}."
        )
    lower, upper = (np.broadcast_to(end, (n,)).copy() for end in values)
    return lower, upper
