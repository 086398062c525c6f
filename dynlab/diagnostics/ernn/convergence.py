"""ERNN's inner iteration against the equilibrium it is named after: distance, rate, and the paper's conditions."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.ernn.inner_flow import (
    DEGENERATE,
    LINEAR,
    NONE,
    SEVERAL,
    InnerFlow,
    corollary_1,
    floor_of,
    inner_equilibria,
    iterates,
    measured_rate,
    predicted_rates,
    theorem_2,
)
from dynlab.errors import UserError
from dynlab.systems import System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.trajectories.driven import drive, in_float64
from dynlab.words import counted, joined, number, share

METHOD = (
    "Equilibria come from Levenberg–Marquardt, and where that fails from pseudo-transient continuation. Both begin at "
    "the iteration's start and end and at random states. The rate is a regression of ln distance over the last third "
    "of what lies above rounding. The predicted rate comes from the eigenvalues of ∇F at the equilibrium. Other "
    "equilibria may exist that no start reached."
)
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
    inputs: Any = None,
    *,
    eta: float | None = None,
    iterations: int = 200,
    times: int = 4,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Measure the distance of ERNN's inner iterates to the equilibrium of its inner flow along its trajectories.

    At step k the network runs g ← g + η F(g) K times, F(g) = φ(P (U (g + s h_{k−1}) + W x_k + b)) − (g + s h_{k−1}).
    Here the same iteration goes on for `iterations` steps.

    Parameters
    ----------
    system : ERNN
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system.
    eta : float, optional
        η in seconds; without it the K learned ones of each step, cycled.
    iterations : int
        Number of inner steps.
    times : int
        Number of steps k of each sequence, evenly spaced, the last one included.
    dtype, device : str
        Type and device of the network's own trajectory; the inner iteration and its equilibria are computed in float64.
    seed : int
        Seed of the random states from which other equilibria are sought.

    Returns
    -------
    xarray.Dataset
        ``distance(sample, time, iteration)`` = ‖g⁽ⁱ⁾ − g*‖₂ and ``speed`` = ‖F(g⁽ⁱ⁾)‖₂. ``rate(sample, time)`` and
        ``predicted_rate`` are factors per iteration, and ``settled`` is 1 where the measured one no longer changes.
        ``theorem2(sample, time, iteration)`` = ‖F + η ∇F·F‖₂/‖F‖₂, which Theorem 2 wants below 1. ``corollary1`` = ‖I +
        η ∇F‖₂, which Corollary 1 wants below 1. ``equilibrium_residual`` = ‖F(g*)‖₂.
        ``equilibria`` says how many were found, and ``equilibrium_status`` of what kind.
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
    driven = drive(system, inputs, None, dtype=dtype, device=device, seed=seed, inputs_description="")
    samples, last = len(driven.states), driven.steps
    steps = np.unique(np.linspace(last / min(times, last), last, times).astype(int))
    # the inner flows of every (sample, time) in one row; h_{k−1} is at k − 1, and so is x_k among the inputs
    exact, before = frozen(system), torch.as_tensor(steps) - 1
    given = (in_float64(part).cpu()[:, before] for part in (driven.states, driven.inputs))
    flow = InnerFlow(exact, *(part.flatten(0, 1) for part in given))
    etas = (
        exact.step_etas(before).repeat(1, samples)
        if eta is None
        else torch.full((1, len(flow.state)), eta, dtype=torch.float64)
    )
    return schema.result(
        system,
        _table(flow, etas, iterations, np.random.default_rng(seed), (samples, len(steps))),
        settings={"eta": eta, "iterations": iterations, "times": times, "inputs": driven.settings["inputs_shape"]}
        | {"dtype": dtype, "device": device, "seed": seed},
        verdict=verdict,
        method=METHOD,
        coords={
            schema.TIME: schema.time_coordinate(steps),
            schema.ITERATION: schema.variable(
                (schema.ITERATION,), np.arange(iterations + 1), "inner iteration i", schema.STEP
            ),
        },
        reasons=REASONS,
    )


def _table(
    flow: InnerFlow, etas: Tensor, iterations: int, generator: np.random.Generator, shape: tuple[int, int]
) -> dict[str, tuple[Any, ...]]:
    start = flow.system.inner_start(flow.state)
    reached = iterates(flow, start, etas, iterations)
    found = inner_equilibria(flow, start, reached[-1], generator)
    distance = (reached - torch.as_tensor(found.states)).norm(dim=-1).numpy()
    floors = [floor_of(*each) for each in zip(found.states, found.errors, strict=True)]
    measured = [measured_rate(*each, len(etas)) for each in zip(distance.T, floors, strict=True)]
    rates, settled = np.array(measured, dtype=float).T
    predicted = predicted_rates(flow, found.states, etas)
    stays = (distance[[0, -1]] <= [floor_of(state, 0.0) for state in found.states]).all(axis=0)
    of_points = {
        "rate": (rates, "measured rate per iteration"),
        "predicted_rate": (predicted, "predicted rate ρ(I + η∇F)"),
        "settled": (settled.astype(np.int8), "1 where the measured rate has settled"),
        "equilibrium_residual": (found.residuals, "residual ‖F(g*)‖₂"),
        "equilibria": (found.counts, "equilibria found"),
        "equilibrium_status": (found.kinds, "equilibria"),
        "outcome": (
            np.where(stays, STAYS, _outcomes(distance, rates, predicted, found.kinds)),
            "what the iteration does",
        ),
    }
    of_iterates = {
        "distance": (distance, "distance ‖g⁽ⁱ⁾ − g*‖₂ to the equilibrium"),
        "speed": (flow.velocity(reached).norm(dim=-1).numpy(), "speed ‖F(g⁽ⁱ⁾)‖₂ of the inner flow"),
        "theorem2": (theorem_2(flow, reached, etas), "‖F + η∇F·F‖₂/‖F‖₂"),
        "corollary1": (corollary_1(flow, reached, etas), "‖I + η∇F‖₂"),
    }
    point, along = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.ITERATION)
    return {name: (along, values.T.reshape(*shape, -1), words) for name, (values, words) in of_iterates.items()} | {
        name: (point, values.reshape(shape), words) for name, (values, words) in of_points.items()
    }


def _outcomes(
    distance: NDArray[np.float64], rates: NDArray[np.float64], predicted: NDArray[np.float64], kinds: NDArray[np.str_]
) -> NDArray[np.str_]:
    """Classify the iteration at each point; it does not converge to an equilibrium that repels, however near it comes.

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
CHOICES = {
    SEVERAL: "there are several equilibria, of which the nearest counts",
    DEGENERATE: "an equilibrium is degenerate",
}
CONDITIONS = {"theorem2": "Theorem 2's ‖F + η∇F·F‖ < ‖F‖", "corollary1": "Corollary 1's ‖I + η∇F‖ < 1"}
CASES = {
    STAYS: "it starts at the equilibrium and stays there",
    APPROACHES: "the distance keeps falling",
    NOT_YET: "the distance does not fall yet",
    FAILS: "the equilibrium repels or the iteration overflows",
    NOWHERE: "no equilibrium was found",
}


def verdict(ds: xr.Dataset) -> str:
    """Say where the iteration converges, how fast, and where the paper's conditions hold."""
    outcomes, kinds = ds["outcome"].values, ds["equilibrium_status"].values
    within = counted(ds.sizes[schema.ITERATION] - 1, "iteration")
    cases = [f"at {(outcomes == each).sum():,} {words}" for each, words in CASES.items() if (outcomes == each).any()]
    cases += [f"at {(kinds == each).sum():,} {words}" for each, words in CHOICES.items() if (kinds == each).any()]
    where = f"{(outcomes == CONVERGES).sum():,} of {counted(outcomes.size, 'step')} within {within}"
    first = f"ERNN's inner iteration converges at {where}{': ' * bool(cases)}{joined(cases)}."
    held = [
        f"{words} at {share(float((ds[name].values[np.isfinite(ds[name].values)] < 1).mean()))}"
        for name, words in CONDITIONS.items()
        if np.isfinite(ds[name].values).any()
    ]
    last = f"The ERNN paper's conditions hold: {joined(held)} of the iterates." if held else ""
    return " ".join(filter(None, [first, _rates(ds, np.isin(outcomes, (CONVERGES, APPROACHES))), last]))


def _rates(ds: xr.Dataset, nearing: NDArray[np.bool_]) -> str:
    """Return the measured and the predicted factor per iteration, medians over the steps where they are known."""
    settled = nearing & (ds["settled"].values == 1)
    if not nearing.any():
        return ""
    if not settled.any():
        predicted = np.median(ds["predicted_rate"].values[nearing])
        return f"The predicted rate is {number(predicted)} per iteration (median); the measured one has not settled."
    measured, predicted = (np.median(ds[name].values[settled]) for name in ("rate", "predicted_rate"))
    return (
        f"One iteration multiplies the distance by {number(measured)}, where {number(predicted)} is predicted "
        f"(medians of {counted(int(settled.sum()), 'step')})."
    )
