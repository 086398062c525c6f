"""Lyapunov exponents of maps along what drives them, and of flows."""

from contextlib import nullcontext
from typing import Any, cast

import numpy as np
import xarray as xr

from dynlab.arguments import check_positive
from dynlab.diagnostics.lyapunov.estimates import between_samples, estimates, over_samples
from dynlab.diagnostics.lyapunov.exponents import Growth, growth_along, growth_of_flow, jacobian_maps, renewed
from dynlab.diagnostics.lyapunov.orbits import (
    Flags,
    check_asked,
    cut_at,
    driven_orbit,
    ends_of,
    followed,
    inside_of,
    separation,
    why_at_zero,
)
from dynlab.diagnostics.lyapunov.variables import dataset
from dynlab.diagnostics.lyapunov.variational import MOST_VISITED, Loops, Solution, loops_of
from dynlab.errors import UserError
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import random_frame
from dynlab.numerics.statistics import BLOCKS, SHORTEST_BLOCK
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Flow, Map, System
from dynlab.systems.checked import checked
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven
from dynlab.words import over

SECONDS, MOST_SECONDS = 100.0, 10_000.0  # of a flow, and of one whose compiled steps are cheap
CHEAP = 2**25  # steps times n² k: a few seconds of compiled steps
TRANSIENT = 0.1  # of the whole
SHORT = 1000  # driven sequences of fewer steps tell finite-time exponents, whose error is taken between samples
STOPS, FEWEST_STOPS = 256, 64  # running estimates, of as many steps at least where there are so many
ALL_OF = 128  # states, of which all exponents are computed unless k says otherwise; of more, the first `LOOKED_AT`
LOOKED_AT = 10
MORE = 3  # tangent vectors than exponents, where some of several are asked for
FRAMES = 4  # so few steps may not align a frame: what others give says whether they do


@checked
def lyapunov(
    system: System,
    inputs: Any = None,
    *,
    k: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    transient: float | None = None,
    initial_state: Any = None,
    largest_state: float = 1e8,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute the first k Lyapunov exponents of a map along what drives it, or of a flow.

    Parameters
    ----------
    system : System
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Input that drives a map; without it the input is zero for `steps` steps, or what was recorded with the system.
        Sequences of different lengths: a list of arrays (time, input), a PackedSequence, or NaN after their ends. The
        exponents of a driven map are conditional: of differences between orbits under the same input.
    k : int, optional
        Number of exponents. Where it is not given, all of a state of at most 128 dimensions, and 10 of a larger one.
    steps : int, optional
        Length of an orbit of a map that nothing drives, the transient included; 10,000 where it is not given.
    seconds : float, optional
        Length of a flow's orbit; by default 100, and up to 10,000 where compiled code makes these cheap.
    transient : float, optional
        Steps (of a flow: seconds) that are discarded at the start, while the orbit approaches its attractor and the
        frame aligns; a tenth of all where it is not given.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at. Where that is 0 and no input changes with time,
        a random state near 0, off the sets of symmetric states that an orbit never leaves. It is 0 itself only where
        the orbit from there leaves `largest_state`.
    largest_state : float
        An orbit is cut where some abs(h_i) exceeds it.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of a map's trajectory and Jacobians, multiplied in float64; a flow is solved in float64 on cpu.
    seed : int
        Seed of the first frame, of a random start, and of the second start of the echo-state test.

    Returns
    -------
    xarray.Dataset
        ``exponent(sample, mode)`` in nat/step or nat/s, in the order of the frame's columns, which decreases but for
        exponents that the orbit is too short to tell apart. It is called ``finite_time_exponent`` on driven sequences
        of fewer than 1000 steps. ``exponent_error`` is what the sign is held against: 2 of 1,000 exponents may be off
        by more. It counts ``standard_error``, from the means over blocks of the orbit, as often as so few of them need.
        Of finite-time exponents that is the standard deviation between samples. It counts ``rounding_bound``, inf where
        an exponent is an upper bound because the Jacobian is as small as its own error and might be 0. Of finite-time
        exponents it also counts ``alignment_error``, by how much other first frames change them.
        ``mean_exponent(mode)`` with ``mean_exponent_error`` is the mean over samples.
        ``running_exponent(sample, time, mode)``. ``mean_log_det(sample)``, the mean of ln abs(det J), of a flow the
        mean divergence, which the sum of all exponents must equal. It is NaN for some exponents of a map of more than
        128 dimensions. ``kaplan_yorke_dimension(sample)``; ``positive_exponent_sum(sample)``; both with
        ``…_error(sample)``. For driven maps also the echo-state test: ``echo_state(sample)``, whether two starts under
        the same input meet, by the ``shrinkage(sample)`` of their distance and the sign of the largest exponent.

    Raises
    ------
    UserError
        For k outside 1 … n, a transient as long as the orbit, inputs of a flow, and bad inputs.

    Notes
    -----
    Λ_i = lim (1/T) Σ_t ln R_t,ii with J_t Q_{t−1} = Q_t R_t; several J_t are multiplied between two QR where accuracy
    allows it. J_tᵀ in the same order of t would be another product. Growth by fewer than 10 nats over the whole orbit
    decides no sign, since a power of time grows as much. The errors suppose that blocks of the orbit
    forget each other. They are too small for an intermittent orbit that rests as long as it is followed, as near the
    neutral fixed point of h → h + h^z mod 1 with z ≥ 2. The sum of the positive exponents bounds the entropy rate from
    above (Ruelle's inequality), with equality for SRB measures (Pesin's formula).

    References
    ----------
    Benettin, Galgani, Giorgilli and Strelcyn, "Lyapunov characteristic exponents for smooth dynamical systems",
    Meccanica 15 (1980). Kaplan and Yorke, "Chaotic behavior of multidimensional difference equations" (1979). Ruelle,
    "An inequality for the entropy of differentiable maps", Bol. Soc. Bras. Mat. 9 (1978). Jaeger, "The echo state
    approach to analysing and training recurrent neural networks", GMD report 148 (2001).

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = lyapunov(create("henon"), steps=1000, initial_state=[0.1, 0.1])
    >>> bool(abs(ds["exponent"].values.sum() - np.log(0.3)) < 1e-9)
    True
    """
    of_map: dict[str, Any] = {"inputs": inputs, "steps": steps, "dtype": dtype, "device": device}
    check_asked(system, k, largest_state, {"seconds": seconds}, of_map)
    n = system.state_size
    count = (n if n <= ALL_OF else LOOKED_AT) if k is None else k
    asked = {"k": count, "largest_state": float(largest_state)}
    with one_thread_each() if n <= ALL_OF else nullcontext():
        if isinstance(system, Flow):
            ds = _of_flow(system, seconds, transient, initial_state, asked, inputs_description, seed)
        else:
            orbit = driven_orbit(
                cast(Map, system),
                initial_state=initial_state,
                largest_state=largest_state,
                inputs_description=inputs_description,
                seed=seed,
                uneven=True,
                **of_map,
            )
            ds = _of_map(*orbit, transient, asked, inputs_description, seed)
    if count < n and k is None:
        ds.attrs["verdict"] += f" Of {n:,} exponents these are the first {count}: all by -k {n}, in Python k={n}."
    return ds


def _of_map(
    driven: Driven,
    is_driven: bool,
    origin: str,
    transient: float | None,
    asked: dict[str, Any],
    described: str,
    seed: int,
) -> xr.Dataset:
    n, k, largest = driven.system.state_size, asked["k"], asked["largest_state"]
    shortest = int(driven.lengths.min())
    finite_time = is_driven and shortest - _transient(transient, shortest, "steps") < SHORT
    found: list[tuple[Any, ...]] = []

    def along(part: Driven) -> tuple[Any, ...]:
        start = int(_transient(transient, part.steps, "steps"))
        stops = start + _stops(averaged := part.steps - start)
        inside = inside_of(part, largest)
        growth = _growth_of_map(part, start, stops, k, inside, seed, FRAMES if finite_time else 1)
        states = part.states.double().cpu().numpy()
        cut, lost = cut_at(states, inside, largest)
        sizes, ends = part.states.abs().amax(dim=(1, 2)), None
        if not is_driven:
            ends = ends_of(part.system, part.states[:, -2:], sizes, part.inputs[:, 0], growth.log_growth)
        found.append((cut, lost, ends, states[0, max(start, part.steps - MOST_VISITED) :]))
        how: dict[str, Any] = {"k": k, "size": n, "blocks": min(BLOCKS, averaged // SHORTEST_BLOCK), "ends": ends}
        values = estimates(
            growth, np.asarray(stops - start, dtype=np.float64), stops < cut[:, None], finite_time=finite_time, **how
        )
        values |= separation(part, values["exponent"][:, 0], inside[:, -1], seed) if is_driven else {}
        if driven.after:
            values = {name: each for name, each in values.items() if not name.startswith("mean_exponent")}
        return stops, {"running_exponent": values.pop("running_exponent")}, values

    times, values = driven.joined(along)
    if finite_time or driven.after:
        values = between_samples(values, n) if finite_time else over_samples(values)
    start = int(_transient(transient, driven.steps, "steps"))
    cut, lost, ends, visited = zip(*found, strict=True)
    return dataset(
        values,
        times,
        driven.system,
        driven.settings | asked | {"transient": start, "steps": driven.steps},
        finite_time=finite_time,
        ends=ends[0],
        cut=(np.concatenate(cut), np.concatenate(lost)),
        averaged=over(driven.steps - start, described, of=driven.steps) + origin,
        before=why_at_zero(origin, largest),
        after=driven.after,
        visited=None if is_driven else visited[0],
    )


def _stops(averaged: int) -> Index:
    """Return after which of so many steps the running exponents are told."""
    count = min(averaged, max(FEWEST_STOPS, min(STOPS, averaged // SHORTEST_BLOCK)))
    return np.round(np.linspace(0, averaged, count + 1)).astype(np.int64)[1:]


def _growth_of_map(driven: Driven, start: int, stops: Index, k: int, inside: Flags, seed: int, frames: int) -> Growth:
    """Return how frames grow after the transient of `start` steps, which aligns them."""
    (samples, _, n), carried = driven.states.shape, _vectors_for(k, driven.states.shape[-1])
    frame = np.stack([random_frame(samples, n, carried, seed + number) for number in range(frames)])
    if start:
        frame = renewed(growth_along(jacobian_maps(driven, 0, start, carried, inside), frame, stops).columns, seed)
    return growth_along(jacobian_maps(driven, start, driven.steps, carried, inside), frame, stops)


def _of_flow(
    system: Flow,
    seconds: float | None,
    transient: float | None,
    initial_state: Any,
    asked: dict[str, Any],
    described: str,
    seed: int,
) -> xr.Dataset:
    check_positive(seconds=seconds)
    n, k, largest = system.state_size, asked["k"], asked["largest_state"]

    def follow(state: Any) -> tuple[list[Solution], Growth, Real, Real]:
        analysed, initial = simulation.prepare_flow(system, state)
        starts, vectors = initial.numpy(), random_frame(len(initial), n, _vectors_for(k, n), seed)
        loops = loops_of(analysed)
        duration = float(seconds or _cheap_seconds(loops, starts, vectors, largest))
        start = _transient(transient, duration, "seconds")
        stops = start + np.linspace(0, duration - start, STOPS + 1)[1:]
        stops[-1] = duration
        solutions = [Solution(loops, *each, duration, largest) for each in zip(starts, vectors.copy(), strict=True)]
        return solutions, growth_of_flow(solutions, start, stops), starts, stops

    (solutions, growth, initial, stops), origin = followed(
        system, initial_state, False, seed, follow, lambda found: bool(np.isinf([each.cut for each in found[0]]).any())
    )
    cut, lost, sizes = (np.array([getattr(each, name) for each in solutions]) for name in ("cut", "lost", "scale"))
    last = np.stack([each.visited()[[max(-2, -each.count - 1), -1]] for each in solutions])
    duration = float(stops[-1])
    start = _transient(transient, duration, "seconds")
    settings = {"seconds": duration, "transient": start, "initial_state": initial.tolist(), "seed": seed}
    ends = ends_of(system, last, sizes, np.zeros((len(cut), system.input_size)), growth.log_growth)
    discarded = f"the last {duration - start:,g} of " if start else ""
    return dataset(
        estimates(growth, stops - start, stops < cut[:, None], k=k, size=n, blocks=BLOCKS, ends=ends),
        stops,
        system,
        asked | settings | {"dtype": "float64", "device": "cpu"},
        finite_time=False,
        ends=ends,
        cut=(cut, lost),
        averaged=f"{discarded}{duration:,g} s{f' of {described}' if described else ''}{origin}",
        before=why_at_zero(origin, largest),
        after="",
        visited=solutions[0].visited() if np.isinf(cut[0]) else None,
    )


def _cheap_seconds(loops: Loops, starts: Real, vectors: Real, largest: float) -> float:
    """Return how long a flow is followed that is not told: longer where its steps are compiled, and few."""
    if loops.numbers is None:
        return SECONDS
    probe = Solution(loops, starts[0], vectors[0].copy(), SECONDS, largest)
    probe.to(SECONDS)
    each = max(1, probe.count) * vectors.size * starts.shape[1]
    return min(MOST_SECONDS, SECONDS * max(1, CHEAP // each))


def _vectors_for(k: int, n: int) -> int:
    """Return how many tangent vectors are carried for k exponents: of several a few more, as the last have no order."""
    return k if k == 1 else min(n, k + MORE)


def _transient(asked: float | None, whole: float, units: str) -> float:
    found = asked if asked is not None else TRANSIENT * whole if units == "seconds" else int(TRANSIENT * whole)
    if not 0 <= found < whole or (units == "steps" and found != int(found)):
        raise UserError(f"The transient must leave some of the {whole:g} {units}: from 0 to below that, got {found:g}.")
    return found
