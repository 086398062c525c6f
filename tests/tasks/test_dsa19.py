"""The official files of Daily and Sports Activities: all 9,120 of them of a few rows, some of their full length."""

import itertools

import numpy as np
import pytest
from archives import put, zipped

from dynlab.errors import UserError
from dynlab.tasks import create, dsa19

ROWS = ",".join(["{}"] + [f"{0.25 * channel:.5g}" for channel in range(1, 45)])
INNER, OUTER = "data.zip", "daily+and+sports+activities.zip"
pytestmark = pytest.mark.usefixtures("alone")


def first_value(activity, subject, segment, step):
    """What the first channel says, so that a segment in the wrong place is seen."""
    return 100 * activity + 10 * subject + 0.125 * segment - step


def files(activities, segments, steps=125):
    return {
        f"a{activity:02d}/p{subject}/s{segment:02d}.txt": "".join(
            ROWS.format(first_value(activity, subject, segment, step)) + "\n" for step in range(steps)
        )
        for activity, subject, segment in itertools.product(
            range(1, activities + 1), range(1, 9), range(1, segments + 1)
        )
    }


@pytest.fixture
def few(monkeypatch):
    """A set of 2 activities, 8 subjects and 3 segments in the official format."""
    monkeypatch.setattr(dsa19, "ACTIVITIES", 2)
    monkeypatch.setattr(dsa19, "SEGMENTS", 3)
    return files(2, 3)


def test_the_whole_set_is_split_by_subjects(monkeypatch, tmp_path):
    monkeypatch.setattr(dsa19, "STEPS", 2)
    put(tmp_path, {INNER: zipped(files(19, 60, 2), "data/")})
    task = create("dsa19", data_dir=tmp_path, retrain=True)
    for part, subjects in ((task.train, {1, 2, 3, 4}), (task.test, {5, 6, 7, 8})):
        assert part.inputs.shape == (4560, 2, 45)
        assert np.bincount(part.targets).tolist() == [240] * 19
        assert set(part.subjects) == subjects
    # activity 7, subject 6, segment 31: 240 tests of each activity, 60 of each subject
    row = 6 * 240 + 60 + 30
    raw = task.scaling.undo(task.test.inputs[row])
    assert (task.test.targets[row], task.test.subjects[row]) == (6, 6)
    assert np.allclose(raw[:, 0], first_value(7, 6, 31, np.arange(2)), atol=1e-3)
    assert np.allclose(raw[:, 1:], 0.25 * np.arange(1, 45), atol=1e-4)


def test_the_archive_in_the_archive_is_read(few, tmp_path):
    put(tmp_path / "daily_sports", {OUTER: zipped({INNER: zipped(few, "data/")})})
    *found, _ = dsa19.load(tmp_path, download=False)
    for part, subjects in zip(found, (range(1, 5), range(5, 9)), strict=True):
        expected = [first_value(a, p, s, np.arange(125)) for a in (1, 2) for p in subjects for s in (1, 2, 3)]
        assert np.array_equal(part.inputs[:, :, 0], np.array(expected, np.float32))
        assert np.array_equal(part.targets, np.repeat([0, 1], 12))
        assert np.array_equal(part.subjects, np.tile(np.repeat(subjects, 3), 2))


def test_a_segment_that_is_missing_or_short_is_named(few, tmp_path):
    last = few.pop("a02/p8/s03.txt")
    for files, words in (
        (few, "it lacks a02/p8/s03.txt"),
        (few | {"a02/p8/s03.txt": "\n".join(last.splitlines()[:-1])}, "s03.txt has"),
    ):
        put(tmp_path, {INNER: zipped(files, "data/")})
        with pytest.raises(UserError, match=words):
            dsa19.load(tmp_path)


def test_one_subject_is_held_out_and_the_scaling_does_not_know_it(few, tmp_path):
    put(tmp_path, {INNER: zipped(few, "data/")})
    task = create("dsa19", data_dir=tmp_path, seed=2)
    assert len(set(task.validation.subjects)) == 1
    assert set(task.train.subjects) == {1, 2, 3, 4} - set(task.validation.subjects)
    shown = task.train.inputs[:].astype(np.float64)
    assert np.abs(shown.mean(axis=0)).max() < 1e-5
    assert np.allclose(shown[:, :, 0].std(axis=0), 1, atol=1e-5)
    assert np.array_equal(shown[:, :, 1:], np.zeros_like(shown[:, :, 1:]))  # these channels never change
