"""The distance between the dynamics of two networks, whatever the basis of their states."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.orthogonal_similarity import orthogonal_similarity
from dynlab.numerics.principal import principal_components
from dynlab.numerics.threads import one_thread_each
from dynlab.systems import Map
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import drive, in_float64
from dynlab.words import at_least, counted, number

SHARE, MOST = 0.99, 10  # of the variance that is kept, and at most so many coordinates
LEADING = 64  # principal components of the states: delays of more of them would fill the memory
LARGEST_STATE = 1e8  # a network whose states exceed it goes nowhere that could be compared
SMALLEST = 1e-8  # relative size of a coordinate that rounding alone may have made
MOST_RUNS, FEWEST_RUNS = 8, 6  # 128 relabellings; of fewer than 6 runs no share of them is below 0.05
STARTS = 60  # ascents to the stated distance, besides those from matched eigenvectors
RESOLUTION = 1e-3  # distances below, and mean distances that differ by a smaller share, are equal
BEYOND = 0.05  # the share of relabellings below which networks are told apart
METHOD = (
    "States after the first are projected on their principal components, at most "
    f"{LEADING}, put beside those of the steps before, and made white. The leading coordinates are kept, and the "
    "linear map from each step to the next is fitted by least squares. The distance is the least over orthogonal "
    "changes of basis, found by ascents from matched eigenvectors and at random. The bound from below is that of "
    "ordered eigenvalues and singular values. Maps of runs are compared with every relabelling of them, pair by pair"
)


@checked
@one_thread_each()
def compare(
    system: Map,
    other: Map,
    inputs: Any = None,
    *,
    other_inputs: Any = None,
    delays: int = 1,
    rank: int | None = None,
    initial_state: Any = None,
    other_initial_state: Any = None,
    inputs_description: str = "",
    other_inputs_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Measure the distance between the dynamics of two networks, and test it against that of two runs of one.

    Parameters
    ----------
    system, other : Map
        Networks of any sizes.
    inputs : array_like, shape (sample, time, input)
        At least 6 sequences that drive both networks.
    other_inputs : array_like, shape (sample, time, input), optional
        Inputs of `other` in their place.
    delays : int
        Number of consecutive steps in one row: more than 1 where the state does not hold the whole memory.
    rank : int, optional
        Number of coordinates. By default as many as hold 99 % of the variance of either network, 10 at most.
    initial_state, other_initial_state : array_like, shape (state,) or (sample, state), optional
        By default what the system has learned to start at, zero for most.
    inputs_description, other_inputs_description : str
        Descriptions of the inputs for the settings: "64 test sequences of har2".
    dtype, device : str
        Type and device of the trajectories.
    seed : int
        Seed of the random starts of the search for the best basis.

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
    check_at_least(1, delays=delays, rank=rank)
    if other_inputs is None:
        other_inputs, other_inputs_description = inputs, inputs_description
    where: dict[str, Any] = {"dtype": dtype, "device": device, "seed": seed}
    driven = [
        drive(system, inputs, initial_state, inputs_description=inputs_description, **where),
        drive(other, other_inputs, other_initial_state, inputs_description=other_inputs_description, **where),
    ]
    given = [one.recorded_inputs if what is None else what for one, what in ((system, inputs), (other, other_inputs))]
    alike = given[0] is given[1] or torch.equal(*(torch.as_tensor(each).cpu().double() for each in given))
    names = [Path(each.source["file"]).stem if each.source else each.name for each in (system, other)]
    names[1] += " (2)" * (names[0] == names[1])
    runs = min(MOST_RUNS, *(len(each.states) for each in driven))
    if runs < FEWEST_RUNS:
        raise UserError(
            f"Runs of a network are compared with each other: give at least {FEWEST_RUNS} sequences (--samples), "
            f"got {runs}."
        )
    states = [in_float64(each.states[:, 1:]).cpu().numpy() for each in driven]
    white = [_white(each, delays, name) for each, name in zip(states, names, strict=True)]
    chosen = _rank(white, runs, rank)
    return schema.result(
        system,
        _table([_fitted(values, chosen, runs) for values, _ in white], chosen, seed),
        settings=driven[0].settings
        | {"delays": delays, "rank": chosen, "runs": runs, "other": other.name, "other_source": other.source}
        | {"other_config": other.json_config, "other_inputs_shape": driven[1].settings["inputs_shape"]}
        | {"other_inputs": other_inputs_description, "same_inputs": alike},
        method=METHOD,
        coords={schema.NETWORK: names},
        verdict=_verdict,
    )


def _white(states: Real, delays: int, name: str) -> tuple[Real, Real]:
    """Return uncorrelated coordinates of variance 1 of states (sample, time, state) seen with delays, and their shares.

    Those of no size are 0.
    """
    samples, times, n = states.shape
    if times < delays + 2 or not np.abs(states).max() < LARGEST_STATE:
        raise UserError(f"The {times} states of {name} diverge, or are too few for {delays} delays: give other inputs.")
    if not np.ptp(states, axis=0).max() > SMALLEST * np.abs(states).max():
        raise UserError(
            f"All {samples:,} sequences lead {name} through the same states: give several that differ, as noise:1.0."
        )
    states = states / np.abs(states).max()  # squares of tiny ones are 0
    components = principal_components(states.reshape(-1, n))
    scores = (states - components.origin) @ components.directions[:LEADING].T
    seen = np.lib.stride_tricks.sliding_window_view(scores, delays, axis=1)
    rows = seen.reshape(samples * seen.shape[1], -1)
    white, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    white = np.where(sizes > SMALLEST * sizes[0], white, 0) * len(rows) ** 0.5
    return white.reshape(samples, seen.shape[1], -1), sizes**2 / (sizes**2).sum()


def _rank(white: list[tuple[Real, Real]], runs: int, asked: int | None) -> int:
    """Return the number of coordinates, at most half the steps of the smallest run."""
    most = min(len(values) // runs * (values.shape[1] - 1) for values, _ in white) // 2
    if most < 1 or (asked is not None and asked > most):
        raise UserError(f"Runs this short bear a rank of {most}: give more or longer sequences, or a smaller rank.")
    return asked or min(MOST, most, max(int(np.searchsorted(shares.cumsum(), SHARE)) + 1 for _, shares in white))


def _fitted(white: Real, rank: int, runs: int) -> tuple[Real, Real, float]:
    """Return the fitted map (rank, rank), those of runs (run, rank, rank), and the share of a step that it explains."""
    kept = white[..., :rank]
    kept = np.concatenate([kept, np.zeros((*kept.shape[:2], rank - kept.shape[2]))], axis=2)

    def fit(values: Real) -> Real:
        before, after = values[:, :-1].reshape(-1, rank), values[:, 1:].reshape(-1, rank)
        return np.asarray(np.linalg.lstsq(before, after)[0].T)

    whole = fit(kept)
    left = kept[:, 1:] - kept[:, :-1] @ whole.T
    explained = 1 - float((left**2).sum() / (kept[:, 1:] ** 2).sum())
    return whole, np.stack([fit(part) for part in np.array_split(kept, runs)]), explained


def _table(fitted: list[tuple[Real, Real, float]], rank: int, seed: int) -> dict[str, tuple[Any, ...]]:
    wholes, each_run, explained = zip(*fitted, strict=True)
    found = orthogonal_similarity(wholes[0], wholes[1], STARTS, seed)
    maps, size = np.concatenate(each_run), rank**0.5
    runs, pairs = len(maps) // 2, np.triu_indices(len(maps), 1)
    table = np.zeros((len(maps), len(maps)))
    table[pairs] = orthogonal_similarity(maps[pairs[0]], maps[pairs[1]], 0).distance / size
    table += table.T
    # two runs that may have had the same inputs are not compared
    apart, mine = ~np.eye(runs, dtype=bool), np.arange(runs)
    swaps = np.array([(0, *rest) for rest in itertools.product((0, 1), repeat=runs - 1)])
    between = np.array([table[np.ix_(mine + runs * swap, mine + runs * (1 - swap))][apart].mean() for swap in swaps])
    within = [table[:runs, :runs][apart].mean(), table[runs:, runs:][apart].mean()]
    clouds = approximate_eigenvalues(np.stack(wholes))
    run_clouds = approximate_eigenvalues(maps).reshape(2, runs, -1)
    each = (schema.NETWORK,)
    return {
        "distance": ((), found.distance / size, "distance of the maps min ‖A − C B Cᵀ‖/√r"),
        "distance_bound": ((), found.distance_bound / size, "bound on the distance from below"),
        "angle": ((), found.angle, "angle between the maps (radians)"),
        "angle_bound": ((), found.angle_bound, "bound on the angle from below (radians)"),
        "eigenvalue": ((*each, schema.MODE), clouds, "eigenvalue of the fitted map"),
        "run_eigenvalue": ((*each, "run", schema.MODE), run_clouds, "eigenvalue of the map of a run"),
        "explained": (each, list(explained), "share of a step that the map explains"),
        "between_runs": ((), between[0], "mean distance between runs of the two networks"),
        "within_runs": (each, within, "mean distance between runs of one network"),
        "relabelled_distance": (("relabelling",), between, "mean distance between relabelled runs"),
        "p_value": ((), (between >= (1 - RESOLUTION) * between[0]).mean(), "share of relabellings as far"),
    }


def _verdict(ds: xr.Dataset) -> str:
    """Say whether the permutation test tells the networks apart, and how far their fitted maps are apart."""
    (one, two), settings = ds[schema.NETWORK].values, schema.settings(ds)
    p, far, bound = (float(ds[name]) for name in ("p_value", "distance", "distance_bound"))
    outcome = f"{one} and {two} differ" if p < BEYOND else "no difference"
    between = number(far, 3) if far > RESOLUTION else f"below {RESOLUTION:g}"
    least = f" (at least {at_least(bound, 3)} in every basis)" if bound > RESOLUTION else ""
    inputs = "" if settings["same_inputs"] else " The networks had different inputs, which may cause a difference."
    return (
        f"Permutation test: p = {number(p, 2)}, {outcome}. The distance of their linear maps, fitted in "
        f"{counted(settings['rank'], 'coordinate')}, is {between}{least}, where a step has size 1.{inputs}"
    )
