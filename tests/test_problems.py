"""Ask every question of the table in problems.py, and compare with the truth."""

import numpy as np
import pytest

import dynlab as dl
from problems import PROBLEMS

STATUSES = ("stable", "kind", "status", "flow_kind", "map_kind", "flow_stable", "map_stable", "fate", "outcome")
UNDECIDED = ("-1", "undecided", "unverified", "unknown")


def undecided(ds):
    """Return the names of the statuses of a Dataset that are undecided somewhere."""
    words = {
        name: ds[name].values.astype(str).ravel() for name in STATUSES if name in ds and "sample" not in ds[name].dims
    }
    return [name for name, values in words.items() if any(str(one).startswith(UNDECIDED) for one in values)]


def deviation(found, truth):
    """Return the differences of numbers, and whether texts differ."""
    if isinstance(truth, str) or (isinstance(truth, list) and isinstance(truth[0], str)):
        return float(list(np.atleast_1d(found)) != list(np.atleast_1d(truth)))
    found, truth = np.asarray(found), np.asarray(truth)
    assert truth.ndim == 0 or found.shape == truth.shape, f"{found.shape} values where {truth.shape} are true"
    same = found == truth  # infinities too
    return np.where(same, 0.0, np.abs(np.where(same, 0, found) - np.where(same, 0, truth)))


@pytest.mark.parametrize(
    "problem", [pytest.param(one, id=one.name, marks=[pytest.mark.slow] * one.slow) for one in PROBLEMS]
)
def test_the_answer_is_the_truth(problem):
    system = dl.create(problem.system) if isinstance(problem.system, str) else problem.system()
    ask = getattr(dl, problem.diagnostic) if isinstance(problem.diagnostic, str) else problem.diagnostic
    ds = ask(system, **problem.arguments)
    truth = problem.truth(system) if callable(problem.truth) else problem.truth
    error = problem.error(ds) if callable(problem.error) else problem.error
    found = ds[problem.read].values if isinstance(problem.read, str) else problem.read(ds)
    assert np.all(deviation(found, truth) <= np.minimum(error, problem.cap)), (
        f"{found} where {truth} is true ({problem.source})"
    )
    if problem.decided:
        assert undecided(ds) == []
