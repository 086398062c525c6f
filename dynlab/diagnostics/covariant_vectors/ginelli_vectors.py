"""Covariant Lyapunov vectors, along which an orbit's neighbours grow and decay, and the angles between."""

from typing import Any, cast

import numpy as np
import xarray as xr

from dynlab.arguments import check_positive
from dynlab.diagnostics.covariant_vectors.ginelli import Passes, TangentSteps, steps_of_flow, steps_of_map
from dynlab.diagnostics.covariant_vectors.variables import dataset, measured
from dynlab.diagnostics.lyapunov.orbits import check_asked, driven_orbit, followed, why_at_zero
from dynlab.diagnostics.lyapunov.variational import matrix_of
from dynlab.errors import UserError
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Flow, Map, System
from dynlab.systems.checked import checked
from dynlab.trajectories import simulation
from dynlab.words import over

SECONDS = 100.0
TRANSIENT = 0.2  # of the whole, at each end
TIME_SCALES = 3.0  # of a flow's Jacobian at the start, between two orthonormalisations


@checked
@one_thread_each()
def covariant_vectors(
    system: System,
    inputs: Any = None,
    *,
    k: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    interval: float | None = None,
    transient: int | None = None,
    backward_transient: int | None = None,
    times: int = 256,
    initial_state: Any = None,
    largest_state: float = 1e8,
    max_memory: float = 256 * 2**20,
    inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute covariant Lyapunov vectors of a map along what drives it, or of a flow, by Ginelli's method.

    Parameters
    ----------
    system : System
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Input that drives a map; without it the input is zero for `steps` steps, or what was recorded with the system.
    k : int, optional
        Number of vectors, those of the largest exponents; all of them where it is not given.
    steps : int, optional
        Length of an orbit of a map that nothing drives, both transients included; 10,000 where it is not given.
    seconds : float, optional
        Length of a flow's orbit; by default 100.
    interval : float, optional
        Seconds between two orthonormalisations of a flow, its steps from there on; three over the norm of
        its Jacobian at the start where it is not given.
    transient, backward_transient : int, optional
        Number of steps discarded at the start, while frames align and the orbit comes to its attractor. The second
        is how many are at the end, while coefficients carried backward align. Each is a fifth of all where it is not
        given.
    times : int
        Number of steps of the rest at which vectors and rates are kept at most; extremes are sought at all of them.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at, or a random state near 0, as of `lyapunov`.
    largest_state : float
        An orbit is cut where some abs(h_i) exceeds it: no vectors are known of it.
    max_memory : float
        Bytes: what of the pass forward does not fit is computed once more on the way back.
    inputs_description : str
        Description of the inputs for the verdict: "16 test sequences of har2".
    dtype, device : str
        Type and device of a map's trajectory and Jacobians, multiplied in float64; a flow is solved in float64 on cpu.
    seed : int
        Seed of the random frames and coefficients.

    Returns
    -------
    xarray.Dataset
        ``vector(sample, time, mode, state)``, of length 1, v_i(t) at h_t, which is ``trajectory(sample, time, state)``.
        ``local_rate(sample, time, mode)`` = ln ‖J_t v_i(t − 1)‖. Both are NaN where the vector is not
        ``determined(sample, mode)``. ``start_difference`` is the largest angle between those of two runs from other
        random starts. ``exponent(sample, mode)`` with ``standard_error``, and ``mean_local_rate``, which must equal it.
        ``covariance_residual`` = max_t ‖J v(t − 1)/‖·‖ − v(t)‖. ``angle(sample, time)``, in radians, is the smallest
        principal angle between the unstable and the stable subspace, of dimensions ``unstable_dimension(sample)`` and
        ``stable_dimension``. ``angle_error(sample, time)`` is its difference between both runs, and
        ``angle_difference(sample)`` the largest of these. ``smallest_angle(sample)``, ``smallest_angle_time`` and
        ``median_angle`` are over all steps.

    Raises
    ------
    UserError
        For k outside 1 … n, transients that leave no step, inputs of a flow, and bad inputs.

    Notes
    -----
    With J_t Q_{t−1} = Q_t R_t, v_i(t) = Q_t c_i(t), where c_i has i entries and c_i(t − 1) ∝ R_t⁻¹ c_i(t). Carried
    back, all upper triangular C come to the same where the gaps between exponents tell the vectors apart. A frame's
    own columns are not covariant but for the first. Neighbours along v_i grow at Λ_i forward, and shrink at it
    backward.

    References
    ----------
    Ginelli et al., "Characterizing dynamics with covariant Lyapunov vectors", Phys. Rev. Lett. 99 (2007).

    Examples
    --------
    >>> from dynlab.systems.textbook import LinearMap
    >>> ds = covariant_vectors(LinearMap([[2.0, 3.0], [0.0, 0.5]]), steps=200)
    >>> bool(np.allclose(np.abs(ds["vector"][0, -1, 1]), np.array([2.0, 1.0]) / 5**0.5))
    True
    """
    of_map: dict[str, Any] = {"inputs": inputs, "steps": steps, "dtype": dtype, "device": device}
    check_asked(system, k, largest_state, {"seconds": seconds, "interval": interval}, of_map)
    check_positive(max_memory=max_memory, times=times)
    count = k or system.state_size
    if isinstance(system, Flow):
        tangent, settings, origin = _of_flow(system, initial_state, largest_state, seconds, interval, seed)
    else:
        driven, _, origin = driven_orbit(
            cast(Map, system),
            initial_state=initial_state,
            largest_state=largest_state,
            inputs_description=inputs_description,
            seed=seed,
            **of_map,
        )
        tangent, settings = steps_of_map(driven, largest_state), driven.settings
    first, last = _window(tangent.count, transient, backward_transient)
    kept, values = measured(tangent, Passes(tangent, count, first, last, max_memory, seed), first, last, times)
    words = f"{last - first:,} intervals" if isinstance(system, Flow) else over(last - first, inputs_description)
    return dataset(
        tangent,
        kept,
        values,
        system,
        settings
        | {"k": count, "largest_state": largest_state, "times": times, "steps": tangent.count}
        | {"transient": first, "backward_transient": tangent.count - last},
        averaged=f"{words} between the transients{origin}",
        before=why_at_zero(origin, largest_state),
    )


def _of_flow(
    system: Flow, initial_state: Any, largest_state: float, seconds: float | None, interval: float | None, seed: int
) -> tuple[TangentSteps, dict[str, Any], str]:
    """Return the steps from a state that the flow stays bounded from, their settings, and words for another start."""
    duration = SECONDS if seconds is None else seconds

    def follow(state: Any) -> tuple[TangentSteps, dict[str, Any]]:
        analysed, initial = simulation.prepare_flow(system, state)
        size = max(float(np.linalg.norm(matrix_of(analysed, start))) for start in initial.numpy())
        length = TIME_SCALES / max(1e-6, size) if interval is None else interval
        if not 0 < length <= duration < np.inf:
            raise UserError(
                f"seconds= and interval= must be positive, and hold one interval; got {duration} and {length}."
            )
        count = max(1, round(duration / length))
        return steps_of_flow(analysed, initial.numpy(), count, duration / count, largest_state), {
            "seconds": duration,
            "interval": duration / count,
            "initial_state": initial.tolist(),
            "seed": seed,
            "dtype": "float64",
            "device": "cpu",
        }

    (tangent, settings), origin = followed(
        system, initial_state, False, seed, follow, lambda found: bool(np.isinf(found[0].cuts()[0]).any())
    )
    return tangent, settings, origin


def _window(count: int, transient: int | None, backward: int | None) -> tuple[int, int]:
    """Return the first and the last step between the transients; vectors are told after each step between them."""
    start, end = (int(TRANSIENT * count) if each is None else each for each in (transient, backward))
    if not (start >= 0 and end >= 0 and start + end < count):
        raise UserError(
            f"The transients must leave some of the {count} steps, got {start} at the start and {end} at the end."
        )
    return start, count - end
