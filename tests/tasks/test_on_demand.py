"""Sequences made on demand are indexed as the array of all of them would be."""

import numpy as np
import pytest

from dynlab.tasks.on_demand import OnDemand

NUMBERS = np.array([3, 1, 4, 0])


def sequences(numbers):
    return (100 * numbers[:, None, None] + np.arange(5)[:, None] * 10 + np.arange(2)).astype(np.float32)


def classes(numbers):
    return numbers[:, None] + np.arange(5)


FORMS = [(sequences, OnDemand(sequences, NUMBERS, 5, 2)), (classes, OnDemand(classes, NUMBERS, 5, dtype=np.dtype(int)))]


@pytest.mark.parametrize("make, found", FORMS, ids=["inputs", "targets"])
def test_it_is_and_gives_what_the_array_is_and_gives(make, found):
    dense = make(NUMBERS)
    assert (found.shape, found.ndim, found.dtype, len(found)) == (dense.shape, dense.ndim, dense.dtype, 4)
    assert np.array_equal(np.asarray(found), dense)
    for which in (-1, slice(1, 3), slice(0, 0), np.array([2, 2, 1]), np.array([1, 0, 0, 1]) > 0):
        assert np.array_equal(found[which], dense[which])
        assert found[which].dtype == dense.dtype
