"""Whether ERNN's inner iteration reaches the equilibrium it is named after, and how fast, also in a few sentences."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.ernn import iteration as inner_iteration
from dynlab.diagnostics.ernn.equilibria import (
    CONTINUUM,
    NONE,
    SEVERAL,
    InnerEquilibria,
    InnerFlow,
    inner_equilibria,
)
from dynlab.diagnostics.ernn.iteration import LINEAR, floor_of, measured_rate
from dynlab.errors import UserError
from dynlab.simulation import orbit, prepare
from dynlab.systems import System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.wording import agree, capital, counted, joined, number, share

METHOD = (
    "Equilibria come from Levenberg–Marquardt, and where that fails from pseudo-transient continuation. Both begin at "
    "the iteration's start and end and at random states. The equilibrium nearest to the iteration's end is found "
    "again by scipy.optimize.fsolve (exact Jacobian, xtol 1e-13), and kept as it was where fsolve leaves for another. "
    "The rate is a regression of ln distance over the last third of what lies above rounding. The predicted rate "
    "comes from the eigenvalues of ∇F at the equilibrium. Other equilibria may exist that no start reached."
)
MOST_TIMES = 8  # steps that a verdict lists
DECIDED = 1e-9  # a predicted rate closer to 1 tells nothing
NO_EQUILIBRIUM = "NaN where no equilibrium was found"
REASONS = {
    "distance": f"{NO_EQUILIBRIUM}, or the iteration has left the range of floating-point numbers",
    "rate": f"{NO_EQUILIBRIUM}, or too few distances lie above rounding",
    "predicted_rate": NO_EQUILIBRIUM,
    "speed": "not finite where the iteration has left the range of floating-point numbers",
    "theorem2": "NaN where F is rounding, or the iteration has left the range of floating-point numbers",
    "corollary1": "NaN where the iteration has left the range of floating-point numbers",
    "equilibrium_residual": NO_EQUILIBRIUM,
}


@checked
def ernn_convergence(
    system: System,
    inputs: Any,
    *,
    eta: float | None = None,
    iterations: int = 200,
    times: int = 4,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Distance of ERNN's inner iterates to the equilibrium of its inner flow, along trajectories it really takes.

    At step k the network runs g ← g + η F(g) K times, F(g) = φ(P (U (g + s h_{k−1}) + W x_k + b)) − (g + s h_{k−1}).
    Here the same iteration goes on for `iterations` steps.

    Parameters
    ----------
    system : ERNN
    inputs : array_like, shape (time, input) or (sample, time, input)
    eta : float, optional
        η in seconds; without it the K learned ones of each step, cycled.
    iterations : int
        How many inner steps.
    times : int
        At how many steps k of each sequence, evenly spaced, the last one included.
    dtype, device : str
        Of the network's own trajectory; the inner iteration and its equilibria are computed in float64.
    seed : int
        Of the random states from which other equilibria are sought.

    Returns
    -------
    xarray.Dataset
        ``distance(sample, time, iteration)`` = ‖g⁽ⁱ⁾ − g*‖₂ and ``speed`` = ‖F(g⁽ⁱ⁾)‖₂. ``rate(sample, time)`` and
        ``predicted_rate`` are factors per iteration, and ``settled`` is 1 where the measured one no longer changes.
        ``theorem2(sample, time, iteration)`` = ‖F + η ∇F·F‖₂/‖F‖₂, which Theorem 2 wants below 1. ``corollary1`` = ‖I +
        η ∇F‖₂, which Corollary 1 wants below 1. ``equilibrium_residual`` = ‖F(g*)‖₂, and ``equilibrium_iterations`` is
        the most that a search took. ``equilibria`` says how many were found, and ``equilibrium_status`` of what kind.
        ``outcome`` is what the iteration does.

    Raises
    ------
    UserError
        For a system that is no ERNN, an η that is not positive, sequences longer than its T.

    Notes
    -----
    Near g* the distance falls by ρ(I + η ∇F(g*)) per iteration, for cycled η by ρ(∏(I + η_i ∇F(g*)))^{1/K}.

    References
    ----------
    Kag, Zhang and Saligrama, arXiv 1908.08574, Theorem 2, Corollary 1, section 6.3 and Figure 6. With the paper's
    low-rank ReLU nets, ∇F is singular or has growing directions: equilibria need not exist, and Euler may diverge.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from dynlab.systems import create
    >>> generator = torch.manual_seed(0)
    >>> system = create("ernn", input_size=1, state_size=4, length=5, rank=None, activation="tanh")
    >>> ds = ernn_convergence(system, np.zeros((5, 1)), eta=0.5, iterations=60)
    >>> bool(ds["distance"][0, -1, -1] < 1e-8 * ds["distance"][0, -1, 0])
    True
    """
    if not isinstance(system, ERNN):
        raise UserError(f"Convergence is that of ERNN's inner iteration; {system.name!r} has none: give an ERNN.")
    check_positive(eta=eta)
    check_at_least(1, iterations=iterations, times=times)
    analysed, driving, initial = prepare(system, inputs, None, dtype, device)
    driven = analysed.drive(driving)
    states = orbit(analysed, driven, initial).double().cpu()
    steps = np.unique(np.linspace(driven.shape[1] / min(times, driven.shape[1]), driven.shape[1], times).astype(int))
    flow, start, etas = _points(system, states, driven.double().cpu(), steps, eta)

    reached = inner_iteration.iterates(flow, start, etas, iterations)
    equilibria = inner_equilibria(flow, start, reached[-1], np.random.default_rng(seed))
    shape = (len(states), len(steps))
    variables = _variables(flow, reached, etas, equilibria, shape)
    settings = {
        "eta": eta,
        "iterations": iterations,
        "times": times,
        "inputs": list(driving.shape),
        "dtype": dtype,
        "device": device,
        "seed": seed,
        "config": system.json_config,
    }
    counted = schema.variable((schema.ITERATION,), np.arange(iterations + 1), "inner iteration i", schema.STEP)
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=verdict,
        method=METHOD,
        coords={schema.TIME: schema.time_coordinate(steps), schema.ITERATION: counted},
        flags=schema.not_finite(variables, REASONS),
    )


def _points(
    system: ERNN, states: Tensor, driven: Tensor, steps: NDArray[np.int64], eta: float | None
) -> tuple[InnerFlow, Tensor, Tensor]:
    """The inner flows of every (sample, time) in one row, where they start, and the η (K, point)."""
    exact = frozen(system)
    numbers = torch.as_tensor(steps) - 1  # h_{k−1} is at k − 1, and so is x_k among the inputs
    previous, current = (series[:, numbers].reshape(-1, series.shape[-1]) for series in (states, driven))
    start = exact.inner_start(previous)
    if eta is not None:
        return InnerFlow(exact, previous, current), start, torch.full((1, len(start)), eta, dtype=torch.float64)
    learned = exact.step_etas(numbers).repeat(1, len(states))
    return InnerFlow(exact, previous, current), start, learned


def _variables(
    flow: InnerFlow, reached: Tensor, etas: Tensor, found: InnerEquilibria, shape: tuple[int, int]
) -> dict[str, xr.Variable]:
    targets = torch.as_tensor(found.states)
    distance = (reached - targets).norm(dim=-1).numpy()
    rows = list(zip(distance.T, found.states, found.errors, strict=True))
    rates, settled = zip(
        *(measured_rate(row, floor_of(target, error), len(etas)) for row, target, error in rows), strict=True
    )
    predicted = inner_iteration.predicted_rates(flow, found.states, etas)
    stays = [bool((row[[0, -1]] <= floor_of(target, 0.0)).all()) for row, target, _ in rows]
    outcome = np.where(stays, STAYS, _outcomes(distance, np.array(rates), predicted, found.kinds))
    speed = torch.stack([flow.velocity(g).norm(dim=-1) for g in reached]).numpy()
    point, along = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.ITERATION)

    def each(values: Any, long_name: str) -> xr.Variable:
        return schema.variable(point, np.asarray(values).reshape(shape), long_name)

    def per_iteration(values: NDArray[np.float64], long_name: str) -> xr.Variable:
        return schema.variable(along, values.T.reshape(*shape, len(values)), long_name)

    return {
        "distance": per_iteration(distance, "distance ‖g⁽ⁱ⁾ − g*‖₂ to the equilibrium"),
        "speed": per_iteration(speed, "speed ‖F(g⁽ⁱ⁾)‖₂ of the inner flow"),
        "rate": each(rates, "measured rate per iteration"),
        "predicted_rate": each(predicted, "predicted rate ρ(I + η∇F)"),
        "settled": each(np.array(settled, dtype=np.int8), "1 where the measured rate has settled"),
        "theorem2": per_iteration(inner_iteration.theorem_2(flow, reached, etas), "‖F + η∇F·F‖₂/‖F‖₂"),
        "corollary1": per_iteration(inner_iteration.corollary_1(flow, reached, etas, found.states), "‖I + η∇F‖₂"),
        "equilibrium_residual": each(found.residuals, "residual ‖F(g*)‖₂"),
        "equilibrium_iterations": each(found.iterations, "iterations of the search for equilibria, at most"),
        "equilibria": each(found.counts, "equilibria found"),
        "equilibrium_status": each(found.kinds, "equilibria"),
        "outcome": each(outcome, "what the iteration does"),
    }


def _outcomes(
    distance: NDArray[np.float64], rates: NDArray[np.float64], predicted: NDArray[np.float64], kinds: NDArray[np.str_]
) -> NDArray[np.str_]:
    """What the iteration does at each point: an equilibrium that repels is not converged to, however near it comes.

    One that attracts may still be converged to by an iterate that has not come nearer yet, but not after overflow.
    """
    near = (distance[-1] <= LINEAR * distance[0]) & (predicted < 1)
    nearer = (distance[-1] < distance[0]) & (rates < 1) & (predicted < 1)
    never = (predicted > 1 + DECIDED) | ~np.isfinite(distance[-1])
    at_rest = np.where(near, CONVERGES, np.where(nearer, APPROACHES, np.where(never, FAILS, NOT_YET)))
    return np.where(kinds == NONE, NOWHERE, at_rest)


STAYS = "stays at the equilibrium"  # where it begins, whether that attracts or not
CONVERGES, APPROACHES, FAILS = "converges", "still approaching", "does not converge"
NOT_YET = "has not come nearer yet"  # although the equilibrium attracts what is near it: undecided
NOWHERE = "no equilibrium to converge to"


def verdict(ds: xr.Dataset) -> str:
    """The sentences for a Dataset of `dynlab.ernn_convergence`."""
    outcomes = ds["outcome"].values
    nearing = np.isin(outcomes, (CONVERGES, APPROACHES))
    sentences = [_reached(ds, outcomes), *_cases(ds, outcomes)]
    sentences += [_rates(ds, nearing)] if nearing.any() else []
    return " ".join([*sentences, _conditions(ds, bool((outcomes == CONVERGES).any()))])


def _reached(ds: xr.Dataset, outcomes: np.ndarray) -> str:
    """At how many steps it converges within how many iterations, and which steps these are."""
    last, times = ds.sizes[schema.ITERATION] - 1, ds[schema.TIME].values
    own = schema.settings(ds)["config"].get("inner_steps")  # K, of a network made by name
    within = f"within {counted(last, 'iteration')}" + (f"; the network takes {own:,} at each" if own else "")
    count, size = int((outcomes == CONVERGES).sum()), outcomes.size
    verb, where = "converges to", f"at {count or 'none'} of {size:,} steps"
    if (outcomes == STAYS).all():
        verb, count, within = "starts, and stays, at", size, within.replace("within", "for", 1)
    if size == 1:
        verb, where = (verb if count else "does not converge to"), "at the one step"
    elif count == size:
        where = f"at all {size:,} steps"
    listed = joined([f"{time:,}" for time in times]) if len(times) <= MOST_TIMES else f"{times[0]:,} to {times[-1]:,}"
    looked = f"{'Step' if len(times) == 1 else 'Steps'} {listed} of {counted(ds.sizes[schema.SAMPLE], 'sequence')}"
    return (
        f"ERNN's inner iteration g ← g + ηF(g) {verb} an equilibrium (F = 0) {where} {within}. {looked} "
        f"{agree(size)} looked at."
    )


def _cases(ds: xr.Dataset, outcomes: np.ndarray) -> list[str]:
    """What the iteration does at how many steps, each step in one case; and where there was a choice of equilibria."""
    kinds, distance = ds["equilibrium_status"].values, ds["distance"].transpose(..., schema.ITERATION).values

    def at(which: np.ndarray) -> str:
        count = int(which.sum())
        return f"at all {count:,}" if count == which.size > 1 else f"at {counted(count, 'step')}"

    overflows = (outcomes == FAILS) & ~np.isfinite(distance[..., -1])
    repels = (outcomes == FAILS) & ~overflows
    nearer, those = int((repels & (distance[..., -1] < distance[..., 0])).sum()), int(repels.sum())
    these = f" at {'all' if nearer == those else nearer} of these" * (those > 1)
    although = f", although it ends nearer{these}" * (nearer > 0)
    cases = [
        (outcomes == STAYS, "it starts at an equilibrium and stays there"),
        (outcomes == APPROACHES, "the distance to the equilibrium keeps falling"),
        (outcomes == NOT_YET, "the equilibrium attracts what is near it, but the distance does not keep falling"),
        (repels, f"the equilibrium repels what is near it, so that the iteration cannot converge to it{although}"),
        (overflows, "the iteration overflows"),
    ]
    said = [f"{capital(at(which))} {words}." for which, words in cases if which.any()]
    said = [] if (outcomes == STAYS).all() else said
    if (outcomes == NOWHERE).any():
        said.append(f"{capital(at(outcomes == NOWHERE))} no equilibrium was found{_astray(ds, outcomes == NOWHERE)}.")
    if SEVERAL in kinds:
        which = "the one nearest to the last iterate counts"
        said.append(f"Where several equilibria were found, {at(kinds == SEVERAL)}, {which}.")
    if CONTINUUM in kinds:
        said.append(f"A continuum of equilibria was found {at(kinds == CONTINUUM)}.")
    return said


def _astray(ds: xr.Dataset, nowhere: np.ndarray) -> str:
    """What the iteration does where it has no equilibrium."""
    speed = ds["speed"].values[nowhere]
    first = float(np.median(speed[:, 0]))
    finite = np.where(np.isfinite(speed), speed, np.inf)[:, -1]
    last = float(np.median(finite))
    behaviour = "has not come to rest" if np.isfinite(last) else "diverges"
    end = number(last, 3) if np.isfinite(last) else "beyond the largest number"
    return f"; there the iteration {behaviour}, and the median speed ‖F‖ goes from {number(first, 3)} to {end}"


def _rates(ds: xr.Dataset, converges: np.ndarray) -> str:
    settled = converges & (ds["settled"].values == 1)
    if not settled.any():
        predicted = np.median(ds["predicted_rate"].values[converges])
        return (
            f"Where the distance keeps falling, an iteration multiplies it by {number(predicted)} (median) close to "
            f"the equilibrium, as the eigenvalues there say. The measured factor has not settled, and is not compared."
        )
    measured, predicted = ds["rate"].values[settled], ds["predicted_rate"].values[settled]
    worst = np.max(np.abs(measured / predicted - 1))
    return (
        f"One iteration multiplies the distance by {number(np.median(measured))}; predicted is "
        f"{number(np.median(predicted))} (medians of {settled.sum()} factors that have settled; they differ by at "
        f"most {number(100 * worst, 1)} %)."
    )


def _conditions(ds: xr.Dataset, converges: bool) -> str:
    parts = []
    for name, words in (
        ("theorem2", "The ERNN paper's Theorem 2 promises local convergence where ‖F + η∇F·F‖ < ‖F‖: that holds"),
        ("corollary1", "Its Corollary 1 promises stability and convergence where ‖I + η∇F‖ < 1: that holds"),
    ):
        values = ds[name].values[np.isfinite(ds[name].values)]
        part = float((values < 1).mean()) if values.size else 0.0
        but = ", but the iteration converges at none of the steps" if part and not converges else ""
        parts.append(f"{words} at {share(part)} of the iterates{but}.")
    return " ".join(parts)
