"""The tasks that need no files, against their definitions; their sequences drawn once, or new in every epoch."""

import math
from pathlib import Path

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import TASKS, adding, copying, create, flipflop, walk
from dynlab.tasks.copying import baseline
from dynlab.training import Settings
from dynlab.training.batches import Batches

SMALL = {
    "copying": {"symbols": 3, "delay": 5, "train_size": 40, "test_size": 10},
    "adding": {"length": 7, "train_size": 40, "test_size": 10},
    "digits": {},
    "sine": {},
    "flipflop": {"length": 9, "train_size": 40, "test_size": 10},
    "walk": {"length": 9, "delay": 2, "train_size": 40, "test_size": 10},
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


@pytest.mark.parametrize("delay, published", [(200, 0.09452), (2000, 0.010294)])
def test_the_memoryless_baseline_of_copying_is_the_published_one(delay, published):
    assert baseline(10, delay) == pytest.approx(published, abs=5e-6)


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


def test_sine_windows_are_the_wave_shown_and_continued():
    task = create("sine", retrain=True)
    assert (len(task.train), len(task.test)) == (50, 4)
    shown = np.concatenate([task.train.inputs, task.test.inputs])
    assert np.array_equal(shown * np.eye(6), shown)  # step t comes in on input t alone
    asked = np.concatenate([task.train.targets, task.test.targets])
    found = np.hstack([shown.diagonal(axis1=1, axis2=2), asked])
    expected = np.sin(4 * np.pi / 67 * (np.arange(54)[:, None] + np.arange(14)))
    distances = np.abs(found[:, None] - expected).max(axis=2)
    assert distances.min(axis=1).max() < 1e-6
    assert sorted(distances.argmin(axis=1)) == list(range(54))


def test_the_flipflop_holds_what_the_last_pulse_set():
    task = create("flipflop", bits=2, length=30, pulse_probability=0.2, train_size=500, test_size=10, retrain=True)
    pulses, held = task.train.inputs, task.train.targets
    state = np.zeros((500, 2))
    for t in range(30):
        state = np.where(pulses[:, t] == 0, state, pulses[:, t])
        assert np.array_equal(held[:, t], state)
    assert (np.abs(held) == 1).all()
    assert np.abs(pulses[:, 1:]).mean() == pytest.approx(0.2, abs=4 * math.sqrt(0.2 * 0.8 / (500 * 29 * 2)))
    assert pulses.sum() / np.abs(pulses).sum() == pytest.approx(0, abs=4 / math.sqrt(np.abs(pulses).sum()))


def test_the_walk_is_one_and_its_past_is_asked_for():
    task = create("walk", length=40, delay=7, variance=2.5, train_size=4000, test_size=10, retrain=True)
    places, asked = task.train.inputs[..., 0], task.train.targets[..., 0]
    increments = np.diff(places, axis=1, prepend=0).astype(np.float64)
    assert increments.var() == pytest.approx(2.5, rel=4 * math.sqrt(2 / increments.size))
    assert abs(np.mean(increments[:, 1:] * increments[:, :-1])) < 4 * 2.5 / math.sqrt(increments[:, 1:].size)
    assert (asked[:, :7] == 0).all()
    assert np.array_equal(asked[:, 7:], places[:, :-7])


def test_the_memoryless_baseline_of_the_walk_is_the_error_of_regression_on_its_place():
    split = walk.sequences(20_000, 20, 2.5, 6, np.random.default_rng(0))
    places, asked = split.inputs[..., 0].astype(np.float64), split.targets[..., 0].astype(np.float64)
    slopes = (places * asked).sum(axis=0) / (places**2).sum(axis=0)
    error = np.mean((asked - slopes * places) ** 2)
    assert error == pytest.approx(walk.baseline(20, 2.5, 6), rel=0.02)  # 20,000 correlated squares


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_what_is_trained_on_and_never_what_is_tested_on(name):
    one, same, other = (create(name, seed=seed, **SMALL[name]) for seed in (1, 1, 2))
    whole = create(name, seed=1, retrain=True, **SMALL[name])
    assert np.array_equal(one.train.inputs, same.train.inputs)
    assert not np.array_equal(one.train.inputs, other.train.inputs)
    assert np.array_equal(one.test.inputs, other.test.inputs)
    assert whole.validation is None
    together = np.concatenate([one.train.inputs, one.validation.inputs])
    assert sorted(map(bytes, together)) == sorted(map(bytes, whole.train.inputs))
    assert len(one.validation) == round(0.2 * len(whole.train))


# One sequence of each, by the task's own definition of many.
ONE = {
    "copying": lambda generator: copying.sequences(1, 3, 5, "overlap", generator),
    "adding": lambda generator: adding.sequences(1, 7, generator),
    "flipflop": lambda generator: flipflop.sequences(1, 9, 3, 0.5, generator),
    "walk": lambda generator: walk.sequences(1, 9, 0.01, 2, generator),
}


def fresh(name, **more):
    return create(name, **SMALL[name] | {"train_size": 20, "test_size": 4, "seed": 3, "fresh": True} | more)


@pytest.mark.parametrize("part", ["inputs", "targets"])
@pytest.mark.parametrize("name", ONE)
def test_a_new_sequence_is_a_function_of_the_seed_and_its_number(name, part):
    task = fresh(name)
    for epoch, which in ((0, [0, 7, 19]), (4, [2, 1])):
        found = getattr(task.renew(epoch), part)[np.array(which)]
        for row, sequence in zip(which, found, strict=True):
            expected = getattr(ONE[name](np.random.default_rng([3, 2, 20 * epoch + row])), part)[0]
            assert np.array_equal(sequence, expected)
            assert sequence.dtype == expected.dtype
    whole = getattr(task.renew(4), part)
    assert whole.shape == np.asarray(whole).shape
    for which in (-1, slice(1, 3), np.array([2, 2, 1]), np.arange(20) > 17):
        assert np.array_equal(whole[which], np.asarray(whole)[which])


@pytest.mark.parametrize("name", ["adding", "flipflop", "walk"])
def test_no_batch_of_any_epoch_has_a_sequence_again(name):
    task = fresh(name)
    batches = Batches(task, Settings(batch_size=8))
    rows = [row.tobytes() for _ in range(3) for batch in batches for row in batch[0].numpy()]
    every = rows + [row.tobytes() for part in (task.validation, task.test) for row in part.inputs[:]]
    assert len(set(every)) == len(every) == 60 + 4 + 4


@pytest.mark.parametrize("name", ONE)
def test_the_seed_decides_on_new_sequences_and_never_what_is_tested_on(name):
    one, same, other = (fresh(name, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.test.inputs, other.test.inputs)
    assert one.source == same.source != other.source
    assert np.array_equal(one.test.inputs, fresh(name, fresh=False).test.inputs)


@pytest.mark.parametrize(
    "name, settings, message",
    [
        ("copying", {"delay": 0}, "delay must be at least 1, got 0"),
        ("copying", {"convention": "mine"}, "must be 'overlap' or 'after', got 'mine'"),
        ("adding", {"length": 1}, "must be at least 2"),
        ("flipflop", {"bits": 0}, "bits must be at least 1, got 0"),
        ("flipflop", {"pulse_probability": 0}, "must be above 0 and at most 1, got 0"),
        ("walk", {"variance": 0}, "variance must be a positive number, got 0"),
        ("walk", {"length": 5, "delay": 5}, "below the length, 5; got 5"),
        ("adding", {"lenght": 9}, "unexpected keyword argument 'lenght'; it takes length"),
        ("adin", {}, "Unknown task 'adin': .*did you mean 'adding'"),
    ],
)
def test_bad_settings_are_named(name, settings, message):
    with pytest.raises(UserError, match=message):
        create(name, **settings)


def test_every_task_is_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    first = "".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| "))
    assert not [name for name in TASKS if f"`{name}`" not in first]
