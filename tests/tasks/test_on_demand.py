"""Sequences made on demand are indexed as the array of all of them would be."""

import numpy as np
import pytest

from dynlab.tasks.on_demand import OnDemand

NUMBERS = np.array([3, 1, 4, 0])


def make(numbers):
    return (100 * numbers[:, None, None] + np.arange(5)[:, None] * 10 + np.arange(2)).astype(np.float32)


@pytest.fixture
def sequences():
    return OnDemand(make, NUMBERS, 5, 2)


@pytest.mark.parametrize(
    "which",
    [
        -1,
        slice(1, 3),
        slice(0, 0),
        np.array([2, 2, 1]),
        np.array([1, 0, 0, 1]) > 0,
    ],
)
def test_every_index_gives_what_the_array_gives(which, sequences):
    dense = make(NUMBERS)
    assert np.array_equal(sequences[which], dense[which])
    assert sequences[which].dtype == np.float32


def test_it_says_what_the_array_says_of_itself(sequences):
    dense = make(NUMBERS)
    assert (sequences.shape, sequences.ndim, sequences.dtype) == (dense.shape, dense.ndim, dense.dtype)
    assert len(sequences) == 4
    assert np.array_equal(np.asarray(sequences), dense)


def test_without_a_width_it_is_what_is_answered_at_each_step():
    classes = OnDemand(lambda numbers: numbers[:, None] + np.arange(5), NUMBERS, 5, dtype=np.dtype(np.int64))
    dense = NUMBERS[:, None] + np.arange(5)
    assert (classes.shape, classes.ndim, classes.dtype) == (dense.shape, 2, dense.dtype)
    assert np.array_equal(classes[[3, 1]], dense[[3, 1]])
    assert np.array_equal(classes[2], dense[2])
