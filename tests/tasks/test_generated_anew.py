"""Sequences that are new in every epoch: functions of (seed, number) alone, never stored, and of their task."""

import numpy as np
import pytest

from dynlab.tasks import adding, copying, create, flipflop, walk
from dynlab.training import Settings
from dynlab.training.batches import Batches

SMALL = {
    "copying": {"symbols": 5, "delay": 3},
    "adding": {"length": 7},
    "flipflop": {"length": 9, "bits": 2, "pulse_probability": 0.3},
    "walk": {"length": 9, "delay": 2, "variance": 2.5},
}
# One sequence of each, by hand from the task's own definition of many.
ONE = {
    "copying": lambda generator: copying.sequences(1, 5, 3, "overlap", generator),
    "adding": lambda generator: adding.sequences(1, 7, generator),
    "flipflop": lambda generator: flipflop.sequences(1, 9, 2, 0.3, generator),
    "walk": lambda generator: walk.sequences(1, 9, 2.5, 2, generator),
}


def fresh(name, train_size=20, seed=3, **more):
    return create(name, **SMALL[name] | {"train_size": train_size, "test_size": 4, "seed": seed, "fresh": True} | more)


@pytest.mark.parametrize("part", ["inputs", "targets"])
@pytest.mark.parametrize("name", SMALL)
def test_a_sequence_is_a_function_of_the_seed_and_its_number(name, part):
    task = fresh(name)
    for epoch, which in ((0, [0, 7, 19]), (4, [2, 1])):
        found = getattr(task.renew(epoch), part)[np.array(which)]
        for row, sequence in zip(which, found, strict=True):
            expected = getattr(ONE[name](np.random.default_rng([3, 2, 20 * epoch + row])), part)[0]
            assert np.array_equal(sequence, expected)
            assert sequence.dtype == expected.dtype
    whole = getattr(fresh(name, train_size=100).train, part)
    assert np.array_equal(whole[80:], getattr(task.renew(4), part)[:])
    assert np.array_equal(getattr(task.train, part)[:], whole[:20])


@pytest.mark.parametrize("name", SMALL)
def test_no_batch_of_any_epoch_has_a_sequence_again(name):
    task = fresh(name, seed=5)
    batches = Batches(task, Settings(batch_size=8))
    rows = [row.tobytes() for _ in range(3) for batch in batches for row in batch[0].numpy()]
    held = [row.tobytes() for row in task.validation.inputs[:]]
    tested = [row.tobytes() for row in task.test.inputs]
    assert (len(rows), len(held)) == (60, 4)
    every = rows + held + tested
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_what_is_trained_on_and_never_what_is_tested_on(name):
    one, same, other = (fresh(name, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.test.inputs, other.test.inputs)
    assert one.source == same.source != other.source
    assert np.array_equal(one.test.inputs, fresh(name, fresh=False).test.inputs)
