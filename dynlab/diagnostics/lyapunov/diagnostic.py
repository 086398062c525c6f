"""Lyapunov exponents of maps along what drives them, and of flows."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import xarray as xr

from dynlab import schema, simulation
from dynlab.diagnostics.lyapunov import of_flow, of_map
from dynlab.diagnostics.lyapunov.ends import ends_of_flow, ends_of_map, visited_in, visited_states
from dynlab.diagnostics.lyapunov.result import Measured, result
from dynlab.diagnostics.lyapunov.separation import separation
from dynlab.diagnostics.lyapunov.starts import driven_orbit, settled, why_at_zero
from dynlab.driven import Driven
from dynlab.errors import UserError
from dynlab.numerics.frame import Growth
from dynlab.numerics.statistics import BLOCKS, SHORTEST_BLOCK
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Flow, Map, System
from dynlab.systems.checked import checked
from dynlab.wording import over

STEPS = 10_000  # of an orbit that nothing drives
SECONDS = 100.0
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
    """The first k Lyapunov exponents of a map along what drives it, or of a flow.

    Parameters
    ----------
    system : System
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        What drives a map; without it the input is zero for `steps` steps, or what was recorded with the system. The
        exponents of a driven map are conditional: of differences between orbits under the same input.
    k : int, optional
        How many exponents. Where it is not given, all of a state of at most 128 dimensions, and 10 of a larger one.
    steps : int, optional
        Length of an orbit of a map that nothing drives, the transient included; 10,000 where it is not given.
    seconds : float, optional
        The same of a flow; 100 where it is not given.
    transient : float, optional
        How many steps (of a flow: seconds) are discarded at the start, while the orbit approaches its attractor and the
        frame aligns; a tenth of all where it is not given.
    initial_state : array_like, shape (state,) or (sample, state), optional
        Where it is not given, what the system has learned to start at. Where that is 0 and no input changes with time,
        a random state near 0, off the sets of symmetric states that an orbit never leaves. It is 0 itself only where
        the orbit from there leaves `largest_state`.
    largest_state : float
        An orbit is cut where some abs(h_i) exceeds it.
    inputs_description : str
        What the inputs are, for the verdict: "16 test sequences of har2".
    dtype, device : str
        Of a map's trajectory and its Jacobians, which are multiplied in float64; a flow is solved in float64 on cpu.
    seed : int
        Of the first frame, of a random start, and of the second start of the echo-state test.

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
        the same input meet, by the ``shrinkage(sample)`` of their distance. ``separation_rate(sample)`` is how fast
        nearby starts separate, to be held against the largest exponent. ``neighbours_leave(sample)`` is 1 where states
        separate along this orbit, and one that starts 1e-6 beside leaves it and ends where they approach each other.
        They do so at the ``neighbour_rate(sample)``, over the second half of the steps.

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
    n, asked_for = system.state_size, k
    if k is None:
        k = n if n <= ALL_OF else LOOKED_AT
    if not 1 <= k <= system.state_size:
        raise UserError(f"k counts exponents: from 1 to the state's {n:,} dimensions, got {k}.")
    if steps is not None and steps < 1:
        raise UserError(f"steps= is the length of an orbit, a whole number of at least 1; got {steps}.")
    if not largest_state > 0:
        raise UserError(f"largest_state= bounds abs(h_i) and must be positive, got {largest_state}.")
    asked = {"k": k, "largest_state": float(largest_state)}
    left_out = (
        f" Of {n:,} exponents these are the first {k}. All of them: -k {n}, in Python k={n}."
        if k < n and asked_for is None
        else ""
    )
    with one_torch_thread() if n <= ALL_OF else nullcontext():
        if isinstance(system, Flow):
            if inputs is not None or steps is not None or device != "cpu" or dtype != "float64":
                raise UserError(
                    "A flow is solved without input for seconds=, in float64 on cpu; for inputs or steps= take its "
                    "step, dl.Euler(flow, step_size)."
                )
            ds = _of_flow(system, seconds, transient, initial_state, asked, inputs_description, seed)
            return ds.assign_attrs(verdict=ds.attrs["verdict"] + left_out)
        if seconds is not None or not isinstance(system, Map):
            raise UserError("seconds= is for a Flow; for a Map give inputs, or steps= for an orbit without input.")
        if inputs is None and (steps is not None or system.recorded_inputs is None):
            inputs = np.zeros((STEPS if steps is None else steps, system.network_input_size))
        elif steps is not None:
            raise UserError("Give inputs, which say how many steps there are, or steps= for an orbit without input.")
        driven, is_driven, origin = driven_orbit(
            system,
            inputs,
            initial_state,
            largest_state,
            dtype=dtype,
            device=device,
            seed=seed,
            inputs_description=inputs_description,
        )
        ds = _of_map(driven, is_driven, origin, transient, asked, inputs_description, seed)
    return ds.assign_attrs(verdict=ds.attrs["verdict"] + left_out)


def _of_map(
    driven: Driven,
    is_driven: bool,
    origin: str,
    transient: float | None,
    asked: dict[str, Any],
    described: str,
    seed: int,
) -> xr.Dataset:
    skipped = _transient(transient, driven.steps, "steps")
    start = int(skipped)
    if start != skipped:
        raise UserError(f"The transient of a map is a whole number of steps, got {transient}.")
    averaged = driven.steps - start
    count = min(averaged, max(FEWEST_STOPS, min(STOPS, averaged // SHORTEST_BLOCK)))
    stops = start + np.round(np.linspace(0, averaged, count + 1)).astype(np.int64)[1:]
    finite_time = is_driven and averaged < SHORT
    frames = FRAMES if finite_time else 1
    growth = of_map.growth_of_map(
        driven, _carried(asked["k"], driven.system.state_size), start, stops, asked["largest_state"], seed, frames
    )
    extra = {} if is_driven else visited_states(driven.states[0, start:].double().cpu().numpy())
    if is_driven:
        test = separation(driven, start, np.isinf(growth.cut), seed)
        each, words = (schema.SAMPLE,), "of two starts under the same input"
        extra = {
            "echo_state": schema.variable(each, test.outcome, f"what becomes {words}"),
            "shrinkage": schema.variable(each, test.shrinkage, f"ln of the last over the first distance {words}"),
            "separation_rate": schema.variable(each, test.rate, f"separation rate {words}", schema.NAT_PER_STEP),
            "neighbour_rate": schema.variable(
                each, test.neighbour_rate, "separation rate along an orbit beside, second half", schema.NAT_PER_STEP
            ),
            "neighbours_leave": schema.variable(each, test.left, "1: orbits beside this one leave it"),
        }
    measured = Measured(
        growth=growth,
        stops=stops,
        transient=start,
        blocks=min(BLOCKS, averaged // SHORTEST_BLOCK),
        finite_time=finite_time,
        ends=None if is_driven else ends_of_map(driven, not origin, seed),
        units=schema.STEP,
        tolerance=of_map.TOLERANCE,
        epsilon="n 2.2e-16 for each factor J",
        k=asked["k"],
        averaged=over(averaged, described, of=driven.steps) + origin,
        before=why_at_zero(origin, asked["largest_state"]),
    )
    settings = driven.settings | asked | {"transient": start, "steps": driven.steps}
    return result(measured, driven.system, settings, extra)


def _of_flow(
    system: Flow,
    seconds: float | None,
    transient: float | None,
    initial_state: Any,
    asked: dict[str, Any],
    described: str,
    seed: int,
) -> xr.Dataset:
    duration = SECONDS if seconds is None else float(seconds)
    if not 0 < duration < np.inf:
        raise UserError(f"seconds= is the length of an orbit and must be positive, got {seconds}.")
    start = _transient(transient, duration, "seconds")
    stops = start + np.linspace(0, duration - start, STOPS + 1)[1:]
    largest = asked["largest_state"]

    def follow(state: Any) -> tuple[torch.Tensor, Growth]:
        analysed, initial = simulation.prepare_flow(system, state)
        carried = _carried(asked["k"], system.state_size)
        return initial, of_flow.growth_of_flow(analysed, initial, carried, start, stops, largest, seed)

    def stays(found: tuple[torch.Tensor, Growth]) -> bool:
        return bool(np.isinf(found[1].cut).any())

    (initial, growth), origin = settled(system, initial_state, False, largest, seed, follow, stays)
    measured = Measured(
        growth=growth,
        stops=stops,
        transient=start,
        blocks=BLOCKS,
        finite_time=False,
        ends=ends_of_flow(system, growth.visited, duration - start, not origin, seed),
        units=schema.SECOND,
        tolerance=of_flow.TOLERANCE,
        epsilon=f"{of_flow.RELATIVE_TOLERANCE:g}, the tolerance of DOP853, which solves the variational equation",
        k=asked["k"],
        averaged=f"{f'the last {duration - start:g} of ' if start else ''}{duration:g} s"
        f"{f' of {described}' if described else ''}{origin}",
        before=why_at_zero(origin, largest),
    )
    settings = asked | {
        "seconds": duration,
        "transient": start,
        "initial_state": initial.tolist(),
        "dtype": "float64",
        "device": "cpu",
        "seed": seed,
        "config": system.json_config,
    }
    orbit = visited_in(system, growth.visited[0, -1], duration - start)
    return result(measured, system, settings, orbit)


def _carried(k: int, n: int) -> int:
    """How many tangent vectors are carried for k exponents: of several a few more, since the last are in no order."""
    return k if k == 1 else min(n, k + MORE)


def _transient(asked: float | None, whole: float, units: str) -> float:
    found = TRANSIENT * whole if asked is None else asked
    found = int(found) if asked is None and units == "steps" else found
    if not 0 <= found < whole:
        raise UserError(f"The transient must leave some of the {whole:g} {units}: from 0 to below that, got {found:g}.")
    return found
