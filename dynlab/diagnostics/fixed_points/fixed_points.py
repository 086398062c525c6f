"""Find the fixed points of a network's step with the input held, verify them and classify them."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.fixed_points import proofs
from dynlab.diagnostics.fixed_points.layers import Search, search
from dynlab.diagnostics.fixed_points.slow_points import with_slow_points
from dynlab.diagnostics.fixed_points.starting_states import driven_states, usual_starts
from dynlab.diagnostics.fixed_points.verdict import incomplete, under_input, verdict
from dynlab.diagnostics.fixed_points.verification import (
    INCOMPLETE,
    REASONS,
    Record,
    of_points,
    of_starts,
    order,
    records,
)
from dynlab.errors import UserError
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Map, System
from dynlab.systems.autonomous import Held, held_settings, number_type
from dynlab.systems.checked import checked
from dynlab.trajectories.constant_input import under_constant_input

LARGEST_START = 1e100  # whose squares are still numbers
METHOD = (
    "An affine map's fixed points come from linear algebra. Of any other map damped Newton steps on exact Jacobians "
    "begin at every start; Levenberg–Marquardt follows where they stop. Starts "
    "come in rounds until one finds nothing new and the index sum does not say that points are missing. They are "
    "states along trajectories and random ones, later also states away from known points by deflation, and at the ends "
    "of homotopies. A stack is searched layer by layer, an LSTM without its memory, which "
    "is a function of the rest at a fixed point. Roots within ten of Newton's errors are one. Each is verified by "
    "scipy.optimize.fsolve, started beside it with the exact Jacobian and xtol 1e-13. Errors of eigenvalues bound what "
    "rounding and the root's position change. Other fixed points may exist that no start reached."
)


@checked
@one_thread_each()
def fixed_points(
    system: System,
    inputs: Any = None,
    *,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    starts: int | ArrayLike | None = None,
    slow_points: float | None = None,
    certify: bool = False,
    certificates: str | Path | None = None,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Find fixed points h = step(h, x) of a map, or equilibria velocity(h, x) = 0 of a flow, and classify them.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs that drive a map, by default those recorded with it: half of the starts are states along its
        trajectories, the others random. Without any these are orbits from random states under the held input.
    at : "zero", "rest", "mean" or array_like, shape (input,)
        The input x that is held: zero, what the model around a layer makes of a zero input, the mean of `inputs` over
        samples and time, or these values.
    at_step : int
        The step t whose parameters are held where parameters change with time; −1 is the last.
    starts : int or array_like, shape (sample, state), optional
        Number of starts of a round of a search, or the starts themselves. By default 256, and fewer where a layer of a
        stack, or another map, has more than 128 dimensions.
    slow_points : float, optional
        Largest q of slow points that are kept too: local minima of q = ½ ‖step(h, x) − h‖₂². A start near one that is
        led on to a fixed point is counted there.
    certify : bool
        Prove in ball arithmetic that each exists and where its eigenvalues lie (extra ``certify``).
    certificates : str or Path, optional
        A folder for the proofs as files, which `dynlab.certificate_check` checks on its own; implies `certify`.
    dtype, device : str
        Type and device of the search; the roots are always finished, verified and classified in float64.
    seed : int
        Seed of the random starts and of the direction in which fsolve starts off the root.

    Returns
    -------
    xarray.Dataset
        For each point ``fixed_point_state(fixed_point, state)``, ``residual`` = ‖step(h, x) − h‖₂, ``fsolve_residual``,
        ``fsolve_distance``, ``kind``, ``starts`` and ``status``. ``stable`` is 1 stable, 0 unstable or −1 undecided,
        beside ``unstable_directions`` and ``undecided_directions``. ``eigenvalue(fixed_point, mode)`` of the Jacobian
        with ``eigenvalue_error``: μ of a map, λ in 1/s of a flow. Of each start ``converged(sample)``,
        ``assignment(sample)``, ``outcome(sample)``, ``origin(sample)``, ``iterations(sample)`` and
        ``end_residual(sample)``. ``index_sum`` is Σ sign det(I − J) of a map that leads a bounded convex set into
        itself: 1 if no point is missing, and any other number proves that points are missing.

        With `certify` each has more. ``certified`` is 1 where exactly one fixed point is proved to lie within
        ``certificate_radius`` of ``fixed_point_state`` in the maximum norm, else 0.
        ``eigenvalue_radius(fixed_point, mode)`` is that of a disc about ``eigenvalue`` that surely holds it.
        ``proved_stable`` is 1, 0, or −1 undecided, beside ``proved_unstable_directions`` and
        ``proved_stable_directions``. ``certificate_precision`` is in bits, and ``certificate_reason`` is "proved", or
        why not. They are about the step in real numbers with the weights as stored.

        `status` is "fixed point", or one of four others. "degenerate": I − J is singular within its error, as on a
        line of fixed points or at a multiple one, and ``dimension`` eigenvalues are 1 within their errors; one point
        stands for all of these. "at a kink" of an activation, where J is that of one side and stability is
        undecided. "unverified": fsolve ends at another root or at
        none. "slow point": no root.

    Raises
    ------
    UserError
        For inputs of a flow, an input or starts of the wrong width, a step that has no parameters.

    Notes
    -----
    An eigenvalue's error is its condition number times what J is wrong by, and what is of second order
    (`dynlab.numerics.eigenvalues`). J is wrong by the rounding of its entries, and by its change over the uncertainty
    of the root's position.

    References
    ----------
    Sussillo and Barak, Neural Computation 25 (2013); Katz and Reggia, IEEE Transactions on Neural Networks and Learning
    Systems 29 (2018), on how optimisers of q mistake slow points for fixed ones.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = fixed_points(from_function(lambda h, x: torch.tanh(2 * h), state_size=1), starts=32)
    >>> ds["fixed_point_state"].values[:, 0].round(4).tolist(), ds["stable"].values.tolist()
    ([-0.9575, 0.9575, 0.0], [1, 1, 0])
    """
    certify = certify or certificates is not None
    check_positive(slow_points=slow_points)
    count = starts if isinstance(starts, int) else usual_starts(system)
    check_at_least(1, starts=count)
    if certificates is not None:
        proofs.check_folder(certificates)  # before the search, which takes longer
    held, driven = under_constant_input(system, inputs, at, at_step)
    given = None if starts is None or isinstance(starts, int) else given_starts(held, starts)
    visited = driven_states(held.system, driven) if driven is not None and isinstance(held.system, Map) else None
    found = search(held, count=count, given=given, visited=visited, dtype=number_type(dtype), device=device, seed=seed)
    if slow_points is not None:
        found = with_slow_points(held, found, given, visited, count, slow_points, seed)
    rows = _in_order(held, found, certify, seed)
    variables = of_points(rows, found, system.state_size, held.is_flow) | of_starts(found, held.is_flow)
    said = under_input(verdict(rows, found, system), at, system.network_input_size)
    if certify:
        variables |= proofs.of_certificates(rows, system.state_size)
        said += proofs.verdict(rows)
    if certificates is not None:
        proofs.write_certificates(held, rows, certificates)
    ds = schema.result(
        system,
        variables,
        settings=held_settings(system, at, held)
        | {"starts": count if given is None else len(given), "given_starts": given is not None, "certify": certify}
        | {"inputs": None if driven is None else list(driven.shape), "slow_points": slow_points}
        | {"dtype": dtype, "device": device, "seed": seed},
        verdict=said,
        method=METHOD + proofs.METHOD * certify,
        reasons=REASONS,
    )
    return ds.assign_attrs({INCOMPLETE: incomplete(found)} if incomplete(found) else {})


def _in_order(held: Held, found: Search, certify: bool, seed: int) -> list[Record]:
    """Return the points' records in order, and number the points that starts have led to likewise."""
    direction = np.random.default_rng(seed).standard_normal(held.system.state_size)
    rows = records(held, found.points, direction / np.linalg.norm(direction))
    rows = proofs.proved(held, rows) if certify else rows
    arranged = order(rows)
    found.starts["assignment"] = np.append(np.argsort(arranged), -1)[found.starts["assignment"]]
    return [rows[index] for index in arranged]


def given_starts(held: Held, starts: ArrayLike) -> Tensor:
    """Return the starts that a user gives, shape (start, n), or raise the error for what is no such array."""
    given = torch.as_tensor(np.asarray(starts, dtype=float)).to(held.input)
    size = held.system.state_size
    if given.ndim != 2 or given.shape[1] != size or len(given) == 0 or not (given.abs() <= LARGEST_START).all():
        raise UserError(
            f"The starts must be finite numbers of at most {LARGEST_START:g}, of shape (sample, {size}), got shape "
            f"{tuple(given.shape)}."
        )
    return given
