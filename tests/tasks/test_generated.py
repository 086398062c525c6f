"""Copying memory, the adding problem and the digits, against their definitions."""

import math

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import TASKS, create
from dynlab.tasks.copying import baseline

SMALL = {
    "copying": {"symbols": 3, "delay": 5, "train_size": 40, "test_size": 10},
    "adding": {"length": 7, "train_size": 40, "test_size": 10},
    "digits": {},
}


@pytest.mark.parametrize("convention, marker", [("overlap", 3 + 5), ("after", 3 + 5 - 1)])
def test_copying_has_the_convention_of_its_source(convention, marker):
    task = create("copying", convention=convention, **SMALL["copying"])
    shown = task.train.inputs.argmax(axis=-1)
    assert np.array_equal(task.train.inputs.sum(axis=-1), np.ones_like(shown))
    assert shown.shape[1] == 5 + 2 * 3
    assert (shown[:, marker] == 9).all()
    assert (np.delete(shown[:, 3:], marker - 3, axis=1) == 0).all()
    assert ((shown[:, :3] >= 1) & (shown[:, :3] <= 8)).all()
    assert np.array_equal(task.train.targets[:, -3:], shown[:, :3])
    assert (task.train.targets[:, :-3] == 0).all()
    first_answer = task.length - 3
    assert first_answer == marker + (convention == "after")


@pytest.mark.parametrize("delay, published", [(200, 0.09452), (1000, 0.020387), (2000, 0.010294)])
def test_the_memoryless_baseline_of_copying_is_the_published_one(delay, published):
    assert baseline(10, delay) == pytest.approx(published, abs=5e-6)


def test_the_baseline_is_the_cross_entropy_of_guessing_the_symbols():
    task = create("copying", **SMALL["copying"])
    probabilities = np.zeros((task.length, 9))
    probabilities[:-3, 0] = 1
    probabilities[-3:, 1:] = 1 / 8
    chosen = probabilities[np.arange(task.length), task.test.targets]
    assert -np.log(chosen).mean() == pytest.approx(baseline(3, 5), rel=1e-12)


def test_adding_asks_for_the_sum_of_the_marked_numbers_one_of_each_half():
    task = create("adding", length=9, train_size=2000, test_size=10, retrain=True)
    numbers, marks = task.train.inputs[..., 0], task.train.inputs[..., 1]
    assert (marks[:, :4].sum(axis=1) == 1).all()
    assert (marks[:, 4:].sum(axis=1) == 1).all()
    assert np.allclose((numbers * marks).sum(axis=1, keepdims=True), task.train.targets, atol=1e-6)
    error = np.mean((task.train.targets - 1) ** 2)
    assert error == pytest.approx(1 / 6, abs=4 * math.sqrt(7 / 180 / 2000))  # the deviation of that mean square


def test_digits_are_the_images_in_their_order_of_pixels():
    from sklearn.datasets import load_digits

    task = create("digits")
    images = {image.tobytes(): label for image, label in zip(*load_digits(return_X_y=True), strict=True)}
    everything = [task.train, task.validation, task.test]
    assert sum(map(len, everything)) == len(images) == 1797
    for split in everything:
        restored = split.inputs[:, :, 0].astype(np.float64) * 16
        assert [images[image.tobytes()] for image in restored] == split.targets.tolist()


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_what_is_trained_on_and_never_what_is_tested_on(name):
    one, same, other = (create(name, seed=seed, **SMALL[name]) for seed in (1, 1, 2))
    assert np.array_equal(one.train.inputs, same.train.inputs)
    assert not np.array_equal(one.train.inputs, other.train.inputs)
    assert np.array_equal(one.test.inputs, other.test.inputs)


@pytest.mark.parametrize("name", SMALL)
def test_retraining_trains_on_what_was_held_out_too(name):
    held, whole = (create(name, retrain=retrain, **SMALL[name]) for retrain in (False, True))
    assert whole.validation is None
    together = np.concatenate([held.train.inputs, held.validation.inputs])
    assert sorted(map(bytes, together)) == sorted(map(bytes, whole.train.inputs))
    assert len(held.validation) == round(0.2 * len(whole.train))


@pytest.mark.parametrize(
    "name, settings, message",
    [
        ("copying", {"delay": 0}, "delay must be at least 1, got 0"),
        ("copying", {"convention": "mine"}, "must be 'overlap' or 'after', got 'mine'"),
        ("adding", {"length": 1}, "must be at least 2"),
        ("adding", {"test_size": 0}, "test_size must be at least 1"),
        ("adding", {"lenght": 9}, "takes no setting 'lenght'; it takes length"),
        ("adin", {}, "Unknown task 'adin': .*did you mean 'adding'"),
    ],
)
def test_bad_settings_are_named(name, settings, message):
    with pytest.raises(UserError, match=message):
        create(name, **settings)


def test_the_table_is_tested():
    assert set(SMALL) | {"har2"} == set(TASKS)
