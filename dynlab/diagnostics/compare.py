"""How far the dynamics of two networks are from each other, whatever the basis of their states."""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.driven import drive, in_float64
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.orthogonal_similarity import Similarity, orthogonal_similarity
from dynlab.numerics.principal import principal_components
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.wording import at_least, counted, interval, joined, number

DELAYS = 1
SHARE, MOST = 0.99, 10  # of the variance that is kept, and at most so many coordinates
LEADING = 64  # principal components of the states: delays of more of them would fill the memory
LARGEST_STATE = 1e8  # a network whose states exceed it goes nowhere that could be compared
SMALLEST = 1e-8  # relative size of a coordinate that rounding alone may have made
MOST_RUNS, FEWEST_RUNS = 8, 6  # 128 relabellings; of fewer than 6 runs no share of them is below 0.05
STARTS = 60  # ascents to the stated distance, besides those from matched eigenvectors
RESOLUTION = 1e-3  # a distance below is told as such, and mean distances that differ by a smaller share are alike
BEYOND = 0.05  # the share of relabellings below which networks are told apart
METHOD = (
    "States after the first are projected on their principal components, at most "
    f"{LEADING}, put beside those of the steps before, and made white. The leading coordinates are kept, and the "
    "linear map from each step to the next is fitted by least squares. The distance is the least over orthogonal "
    "changes of basis, found by ascents from matched eigenvectors and at random. The bound from below is that of "
    "ordered eigenvalues and singular values. Maps of runs are compared with every relabelling of them, pair by pair"
)


class _Fitted(NamedTuple):
    whole: Real  # (rank, rank)
    runs: Real  # (run, rank, rank)
    explained: float


@checked
@one_thread_each()
def compare(
    system: Map,
    other: Map,
    inputs: Any = None,
    *,
    other_inputs: Any = None,
    delays: int = DELAYS,
    rank: int | None = None,
    initial_state: Any = None,
    other_initial_state: Any = None,
    inputs_description: str = "",
    other_inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """The distance between the dynamics of two networks, and whether it exceeds that of two runs of one network.

    Parameters
    ----------
    system, other : Map
        Of any sizes.
    inputs : array_like, shape (sample, time, input)
        At least 6 sequences; both networks are driven by them.
    other_inputs : array_like, shape (sample, time, input), optional
        What drives `other` in their place.
    delays : int
        How many steps that follow each other are seen together: more than 1 where the state is not all there is.
    rank : int, optional
        How many coordinates are kept. Where it is not given, as many as hold 99 % of the variance of either network, 10
        at most.
    initial_state, other_initial_state : array_like, shape (state,) or (sample, state), optional
        Where they are not given, what the system has learned to start at, zero for most.
    inputs_description, other_inputs_description : str
        What the inputs are, for the settings and the verdict: "64 test sequences of har2".
    dtype, device : str
        Of the trajectories.
    seed : int
        Of the random starts of the search for the best basis.

    Returns
    -------
    xarray.Dataset
        ``distance`` and ``angle`` with bounds from below, ``distance_bound`` and ``angle_bound``.
        ``eigenvalue(network, mode)`` of the fitted maps, and ``run_eigenvalue(network, run, mode)`` of those of runs.
        ``explained(network)`` is the share of a step that the fitted map tells. ``between_runs`` and
        ``within_runs(network)`` are mean distances, between runs of the two networks and of one.
        ``relabelled_distance(relabelling)`` and ``p_value`` are those of the test.

    Raises
    ------
    UserError
        For systems that are no maps, fewer than 6 sequences, sequences that are too short or all alike, and states that
        diverge.

    Notes
    -----
    With white coordinates z of A and B, z_{t+1} ≈ A z_t, the distance is min_C ‖A − C B Cᵀ‖_F/√r over orthogonal C. It
    is 0 for networks whose states are linear images of each other, and 1 where a step differs by its own size. A run is
    a share of the sequences. If the networks were the same, swapping the i-th runs of the two would change nothing in
    law. The p-value is the share of all such relabellings with a mean distance between networks at least as large.

    References
    ----------
    Ostrow, Eisen, Kozachkov and Fiete, "Beyond Geometry: Comparing the Temporal Structure of Computation in Neural
    Circuits with Dynamical Similarity Analysis", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np, torch, dynlab as dl
    >>> one, other = (dl.from_function(lambda h, x, a=a: a * h + x, 1, 1) for a in (0.5, 0.9))
    >>> noise = np.random.default_rng(0).normal(size=(8, 500, 1))
    >>> bool(dl.compare(one, other, noise).p_value < 0.01)
    True
    """
    if delays < 1 or (rank is not None and rank < 1):
        raise UserError(f"delays and rank must be at least 1, got {delays} and {rank}.")
    where: dict[str, Any] = {"dtype": dtype, "device": device, "seed": seed}
    if other_inputs is None:
        other_inputs, other_inputs_description = inputs, inputs_description
    driven = [
        drive(system, inputs, initial_state, inputs_description=inputs_description, **where),
        drive(other, other_inputs, other_initial_state, inputs_description=other_inputs_description, **where),
    ]
    given = [one.recorded_inputs if what is None else what for one, what in ((system, inputs), (other, other_inputs))]
    alike = given[0] is given[1] or torch.equal(*(torch.as_tensor(each).cpu().double() for each in given))
    names = _names(system, other)
    runs = min(MOST_RUNS, *(len(each.states) for each in driven))
    if runs < FEWEST_RUNS:
        raise UserError(
            f"Runs of a network are compared with each other: give at least {FEWEST_RUNS} sequences (--samples), "
            f"got {runs}."
        )
    white = [
        _white(in_float64(each.states[:, 1:]).cpu().numpy(), delays, name)
        for each, name in zip(driven, names, strict=True)
    ]
    chosen = _rank(white, runs, rank)
    one, two = fitted = [_fitted(values, chosen, runs) for values, _ in white]
    found = orthogonal_similarity(one.whole, two.whole, STARTS, seed)
    return schema.dataset(
        _variables(found, fitted, chosen),
        system=system.name,
        source=system.source,
        settings=driven[0].settings
        | {"delays": delays, "rank": chosen, "runs": runs, "other": other.name, "other_source": other.source}
        | {"other_config": other.json_config, "other_inputs_shape": driven[1].settings["inputs_shape"]}
        | {"other_inputs": other_inputs_description, "same_inputs": alike},
        method=METHOD,
        coords={schema.NETWORK: names},
        verdict=_verdict,
    )


def _names(system: Map, other: Map) -> list[str]:
    names = [Path(each.source["file"]).stem if each.source else each.name for each in (system, other)]
    return names if names[0] != names[1] else [names[0], f"{names[1]} (2)"]


def _white(states: Real, delays: int, name: str) -> tuple[Real, Real]:
    """Uncorrelated coordinates of variance 1 of states (sample, time, state) seen with delays, and their shares.

    Those of no size are 0.
    """
    samples, times, n = states.shape
    if not np.abs(states).max() < LARGEST_STATE:
        raise UserError(f"The states of {name} diverge: give other inputs, or fewer --steps.")
    if not np.ptp(states, axis=0).max() > SMALLEST * np.abs(states).max():
        raise UserError(
            f"All {samples:,} sequences lead {name} through the same states: give several that differ, as noise:1.0."
        )
    if times < delays + 2:
        raise UserError(f"Sequences of {times} steps are too short for {delays} delays: give longer ones.")
    states = states / np.abs(states).max()  # squares of tiny ones are 0
    components = principal_components(states.reshape(-1, n))
    scores = (states - components.origin) @ components.directions[:LEADING].T
    seen = np.lib.stride_tricks.sliding_window_view(scores, delays, axis=1)
    rows = seen.reshape(samples * seen.shape[1], -1)
    white, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    white = np.where(sizes > SMALLEST * sizes[0], white, 0) * len(rows) ** 0.5
    return white.reshape(samples, seen.shape[1], -1), sizes**2 / (sizes**2).sum()


def _rank(white: list[tuple[Real, Real]], runs: int, asked: int | None) -> int:
    """How many coordinates are kept: no more than half the steps of the smallest run."""
    most = min(len(values) // runs * (values.shape[1] - 1) for values, _ in white) // 2
    if most < 1 or (asked is not None and asked > most):
        raise UserError(f"Runs this short bear a rank of {most}: give more or longer sequences, or a smaller rank.")
    return asked or min(MOST, most, max(int(np.searchsorted(shares.cumsum(), SHARE)) + 1 for _, shares in white))


def _fitted(white: Real, rank: int, runs: int) -> _Fitted:
    kept = white[..., :rank]
    kept = np.concatenate([kept, np.zeros((*kept.shape[:2], rank - kept.shape[2]))], axis=2)

    def fit(values: Real) -> Real:
        before, after = values[:, :-1].reshape(-1, rank), values[:, 1:].reshape(-1, rank)
        return np.asarray(np.linalg.lstsq(before, after)[0].T)

    whole = fit(kept)
    left = kept[:, 1:] - kept[:, :-1] @ whole.T
    explained = 1 - float((left**2).sum() / (kept[:, 1:] ** 2).sum())
    return _Fitted(whole, np.stack([fit(part) for part in np.array_split(kept, runs)]), explained)


def _variables(found: Similarity, fitted: list[_Fitted], rank: int) -> dict[str, xr.Variable]:
    maps = np.concatenate([each.runs for each in fitted])
    runs, size = len(maps) // 2, rank**0.5
    places = np.array(list(itertools.combinations(range(len(maps)), 2)))
    table = np.zeros((len(maps), len(maps)))
    table[*places.T] = orthogonal_similarity(maps[places[:, 0]], maps[places[:, 1]], 0).distance / size
    table += table.T
    apart = ~np.eye(runs, dtype=bool)  # two runs that may have had the same inputs are not compared
    mine = np.arange(runs)
    swaps = np.array([(0, *rest) for rest in itertools.product((0, 1), repeat=runs - 1)])
    between = np.array([table[np.ix_(mine + runs * swap, mine + runs * (1 - swap))][apart].mean() for swap in swaps])
    within = [table[:runs, :runs][apart].mean(), table[runs:, runs:][apart].mean()]
    clouds = [approximate_eigenvalues(each) for each in (np.stack([one.whole for one in fitted]), maps)]
    of_network = (schema.NETWORK,)
    return {
        "distance": schema.variable((), found.distance / size, "distance of the maps min ‖A − C B Cᵀ‖/√r"),
        "distance_bound": schema.variable((), found.distance_bound / size, "bound on the distance from below"),
        "angle": schema.variable((), found.angle, "angle between the maps (radians)"),
        "angle_bound": schema.variable((), found.angle_bound, "bound on the angle from below (radians)"),
        "eigenvalue": schema.variable((*of_network, schema.MODE), clouds[0], "eigenvalue of the fitted map"),
        "run_eigenvalue": schema.variable(
            (*of_network, schema.RUN, schema.MODE), clouds[1].reshape(2, runs, -1), "eigenvalue of the map of a run"
        ),
        "explained": schema.variable(of_network, [one.explained for one in fitted], "share of a step that is told"),
        "between_runs": schema.variable((), between[0], "mean distance between runs of the two networks"),
        "within_runs": schema.variable(of_network, within, "mean distance between runs of one network"),
        "relabelled_distance": schema.variable((schema.RELABELLING,), between, "mean distance between relabelled runs"),
        "p_value": schema.variable(
            (), (between >= (1 - RESOLUTION) * between[0]).mean(), "share of relabellings as far"
        ),
    }


def _verdict(ds: xr.Dataset) -> str:
    one, two = ds[schema.NETWORK].values
    p, exchanges = float(ds["p_value"]), ds.sizes[schema.RELABELLING]
    as_far = round(p * exchanges)
    settings = schema.settings(ds)
    samples = [settings[name][-3] for name in ("inputs_shape", "other_inputs_shape")]
    sizes = [len(part) for total in samples for part in np.array_split(np.arange(total), settings["runs"])]
    each = counted(min(sizes), "sequence") if min(sizes) == max(sizes) else f"{interval(sizes, 0)} sequences"
    shown, below = ("A", "is") if p < BEYOND else ("No", "is not")
    return (
        f"{shown} difference between {one} and {two} is shown: p = {number(p, 2)} {below} below {BEYOND}. "
        f"{_of_inputs(settings, one, two)}To each run of {each} a linear map from one step to the next is fitted, in "
        f"{counted(settings['rank'], 'coordinate')} of each network. {_of_runs(ds)} {_of_exchanges(ds, as_far)} "
        f"{_of_steps(ds)}"
    )


def _of_inputs(settings: dict[str, Any], one: str, two: str) -> str:
    """What follows where the two networks were driven by different inputs."""
    if settings["same_inputs"]:
        return ""
    told = settings["inputs"], settings["other_inputs"]
    each = f" ({one} by {told[0]}, {two} by {told[1]})" if all(told) else ""
    return (
        f"The two were driven by different inputs{each}: a part of the difference may be that of the inputs, and not "
        f"of the networks. "
    )


def _of_exchanges(ds: xr.Dataset, as_far: int) -> str:
    """How many exchanges there are, how far apart they leave the two, and what p that gives."""
    (one, two), runs = ds[schema.NETWORK].values, schema.settings(ds)["runs"]
    exchanges = ds.sizes[schema.RELABELLING]
    found = f"p = {as_far}/{exchanges} = {number(as_far / exchanges, 2)}"
    left = (
        f". It is at least as large as without an exchange in {as_far} of the {exchanges} ways, that without one "
        f"included: {found}"
    )
    if as_far == 1:
        left = f", always smaller: {found}, the smallest p that {runs} runs can show"
    apart = interval(ds["relabelled_distance"].values[1:])
    return (
        f"The {runs} runs of {one} are paired with the {runs} of {two}, and each pair can be exchanged or left. To "
        f"exchange all is the same as to exchange none, so that there are 2^{runs - 1} = {exchanges} ways. In the "
        f"other {exchanges - 1} ways the mean distance is {apart}{left}."
    )


def _of_runs(ds: xr.Dataset) -> str:
    """How far apart runs are, of the two networks, exchanged between them, and of each; which vary by themselves."""
    one, two = ds[schema.NETWORK].values
    between, within = float(ds["between_runs"]), ds["within_runs"].values
    first, second = (number(value, 3) for value in within)
    vary = [str(name) for name, own in zip((one, two), within, strict=True) if own > between * (1 + RESOLUTION)]
    return (
        f"The mean distance between the map of a run of {one} and that of one of {two} is {number(between, 3)}, where "
        f"1 is the size of a step. Between two runs of {one} it is {first}, and between two of {two} {second}."
        + (f" Runs of {joined(vary)} are farther from each other than from the other network's." if vary else "")
    )


def _of_steps(ds: xr.Dataset) -> str:
    """By how much a step of one network differs from one of the other in the best basis that was found."""
    one, two = ds[schema.NETWORK].values
    far, bound = float(ds["distance"]), float(ds["distance_bound"])
    text = f"Fitted to all sequences, the maps of {one} and {two} are at a distance of "
    if far <= RESOLUTION:
        return f"{text}less than {number(RESOLUTION)} in the best change of basis that was found."
    none = f" In every change of basis it is at least {at_least(bound, 3)}." if bound > 0 else ""
    return f"{text}{number(far, 3)} in the best change of basis that was found.{none}"
