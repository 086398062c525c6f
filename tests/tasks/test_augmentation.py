"""Random changes of inertial signals: what each leaves as it was."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynlab.errors import UserError
from dynlab.tasks import Split, Task
from dynlab.tasks.har import INERTIAL, rotation, scale, shift
from dynlab.tasks.task import Scaling

RAW = np.random.default_rng(0).standard_normal((5, 20, 9))


@pytest.fixture
def task():
    split = Split(RAW.astype(np.float32), np.zeros(5, dtype=np.int64))
    scaling = Scaling(np.full((20, 9), 0.5, np.float32), np.full((20, 9), 2.0, np.float32))
    return Task("t", {}, split, None, split, 2, "cross-entropy", False, "", {}, scaling, INERTIAL)


def test_a_rotation_is_proper_the_same_for_all_sensors_and_times_and_has_the_deviation_asked_for():
    turned = rotation(RAW, 2.0, np.random.default_rng(1))
    before, after = (one @ one.transpose(0, 2, 1) for one in (RAW.reshape(5, 60, 3), turned.reshape(5, 60, 3)))
    assert np.abs(after - before).max() < 1e-12
    assert np.abs(turned - RAW).max() > 0.1
    turned = rotation(np.tile(np.eye(3), (4000, 1, 3)), 0.2, np.random.default_rng(1))
    matrices = turned.reshape(4000, 3, 3, 3)[:, :, 0].transpose(0, 2, 1)
    vectors = Rotation.from_matrix(matrices).as_rotvec()  # which takes a proper one alone
    assert np.allclose(vectors.std(axis=0), 0.2, rtol=0.05)  # the deviation of 4,000 draws is right to 1.1 %
    assert np.abs(vectors.mean(axis=0)).max() < 0.015


def test_scale_multiplies_each_sensor_by_one_positive_factor():
    ratio = (scale(RAW, 0.3, np.random.default_rng(1)) / RAW).reshape(5, 20, 3, 3)
    assert (ratio > 0).all()
    assert np.abs(ratio - ratio[:, :1, :, :1]).max() < 1e-12
    assert np.ptp(ratio[:, 0, :, 0]) > 0.1


def test_shift_moves_the_whole_sequence_and_repeats_its_edge():
    ramp = np.tile(np.arange(20.0)[None, :, None], (300, 1, 9))
    moved = shift(ramp, 4, np.random.default_rng(1))
    offsets = moved[:, 10, 0] - 10
    assert set(offsets) == set(range(-4, 5))
    expected = np.clip(np.arange(20)[None, :, None] + offsets[:, None, None], 0, 19)
    assert np.array_equal(moved, np.broadcast_to(expected, moved.shape))


def test_scaled_inputs_are_changed_in_raw_units(task):
    scaled = task.scaling.apply(task.train.inputs)
    changed = task.augmented(scaled, task.augmentation(["rotation:1.0"]), np.random.default_rng(1))
    expected = rotation(task.train.inputs, 1.0, np.random.default_rng(1))
    assert changed.dtype == np.float32
    assert np.allclose(task.scaling.undo(changed), expected, atol=1e-5)


@pytest.mark.parametrize("text", ["rotatoin", "scale:big", "scale:-1", "scale:inf"])
def test_bad_augmentations_are_named(task, text):
    with pytest.raises(UserError, match=r"did you mean 'rotation'|must be a number|finite and not negative"):
        task.augmentation([text])
