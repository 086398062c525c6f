"""The official files of Daily and Sports Activities: all 9,120 of them of a few rows, some of their full length."""

import io
import itertools
import tracemalloc
import zipfile

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import create, daily_sports, official, recordings
from dynlab.tasks.official import NotAtHand
from dynlab.tasks.on_demand import OnDemand

ROWS = ",".join(["{}"] + [f"{0.25 * channel:.5g}" for channel in range(1, 45)])


def name(activity, subject, segment):
    return f"a{activity:02d}/p{subject}/s{segment:02d}.txt"


def first_value(activity, subject, segment, step):
    """What the first channel says, so that a segment in the wrong place is seen."""
    return 100 * activity + 10 * subject + 0.125 * segment - step


def text(activity, subject, segment, steps=125):
    return "\n".join(ROWS.format(first_value(activity, subject, segment, t)) for t in range(steps)) + "\n"


def files(activities, segments, steps=125):
    places = itertools.product(range(1, activities + 1), range(1, 9), range(1, segments + 1))
    return {name(*place): text(*place, steps) for place in places}


def zipped(files, folder="data/"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(folder, "")
        for path, content in files.items():
            archive.writestr(f"{folder}{path}", content)
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def no_other_copy(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNLAB_DATA", raising=False)
    monkeypatch.setattr(official, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(official.pooch, "retrieve", lambda *_, **__: pytest.fail("a download was tried"))


@pytest.fixture
def few(monkeypatch):
    """A set of 2 activities, 8 subjects and 3 segments in the official format."""
    monkeypatch.setattr(daily_sports, "ACTIVITIES", 2)
    monkeypatch.setattr(daily_sports, "SEGMENTS", 3)
    return files(2, 3)


def put(where, form, files):
    where.mkdir(parents=True, exist_ok=True)
    if form == "folder":
        for path, content in files.items():
            (where / "data" / path).parent.mkdir(parents=True, exist_ok=True)
            (where / "data" / path).write_text(content)
    elif form == "inner":
        (where / daily_sports.INNER_ARCHIVE).write_bytes(zipped(files))
    elif form == "direct":
        (where / daily_sports.ARCHIVE).write_bytes(zipped(files))
    else:
        with zipfile.ZipFile(where / daily_sports.ARCHIVE, "w") as outer:
            outer.writestr("data.zip", zipped(files))


def test_the_whole_set_is_split_by_subjects(monkeypatch, tmp_path):
    monkeypatch.setattr(daily_sports, "STEPS", 5)
    put(tmp_path, "inner", files(19, 60, 5))
    task = create("dsa19", data_dir=tmp_path, retrain=True)
    assert (task.train.inputs.shape, task.test.inputs.shape) == ((4560, 5, 45), (4560, 5, 45))
    assert np.bincount(task.train.targets).tolist() == [240] * 19
    assert np.bincount(task.test.targets).tolist() == [240] * 19
    assert set(task.train.subjects) == {1, 2, 3, 4}
    assert set(task.test.subjects) == {5, 6, 7, 8}
    # activity 7, subject 6, segment 31: 240 tests of each activity, 60 of each subject
    row = 6 * 240 + 60 + 30
    raw = task.scaling.undo(task.test.inputs[row])
    assert (task.test.targets[row], task.test.subjects[row]) == (6, 6)
    assert np.allclose(raw[:, 0], first_value(7, 6, 31, np.arange(5)), atol=1e-3)
    assert np.allclose(raw[:, 1:], 0.25 * np.arange(1, 45), atol=1e-4)


def test_memory_never_holds_twice_the_set(monkeypatch, tmp_path):
    monkeypatch.setattr(daily_sports, "ACTIVITIES", 1)
    put(tmp_path, "folder", files(1, 60))
    create("dsa19", data_dir=tmp_path)  # what is imported on the way is not counted
    tracemalloc.start()
    try:
        create("dsa19", data_dir=tmp_path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2 * 480 * 125 * 45 * 4


@pytest.mark.parametrize("form", ["folder", "inner", "direct", "outer"])
@pytest.mark.parametrize("place", ["", "daily_sports"])
def test_every_form_is_read_alike(form, place, few, tmp_path):
    put(tmp_path / place, form, few)
    found = daily_sports.load(tmp_path, download=False)
    steps = np.arange(125)
    expected = [first_value(a, p, s, steps) for a in (1, 2) for p in range(1, 9) for s in (1, 2, 3)]
    assert np.array_equal(found.inputs[:, :, 0], np.array(expected, np.float32))
    assert np.array_equal(found.activities, np.repeat([1, 2], 24))
    assert np.array_equal(found.subjects, np.tile(np.repeat(np.arange(1, 9), 3), 2))


def test_one_subject_is_held_out_and_the_scaling_does_not_know_it(few, tmp_path):
    put(tmp_path, "inner", few)
    task = create("dsa19", data_dir=tmp_path, seed=2)
    assert len(set(task.validation.subjects)) == 1
    assert set(task.validation.subjects) | set(task.train.subjects) == {1, 2, 3, 4}
    assert not set(task.validation.subjects) & set(task.train.subjects)
    shown = task.train.inputs[:].astype(np.float64)
    assert np.abs(shown.mean(axis=0)).max() < 1e-5
    assert np.allclose(shown[:, :, 0].std(axis=0), 1, atol=1e-5)
    assert np.array_equal(shown[:, :, 1:], np.zeros_like(shown[:, :, 1:]))  # these channels never change


@pytest.mark.parametrize("standardise, axes", recordings.STANDARDISE.items())
def test_moments_are_those_of_the_chosen_rows(standardise, axes):
    generator = np.random.default_rng(0)
    raw = generator.normal(5, 3, (600, 4, 2)).astype(np.float32)
    numbers = generator.permutation(600)[:450]
    scaling = recordings.fit(raw, numbers, axes)
    chosen = raw[numbers].astype(np.float64)
    assert np.allclose(scaling.mean, chosen.mean(axis=axes), atol=1e-6)
    assert np.allclose(scaling.deviation, chosen.std(axis=axes), atol=1e-6)


def test_sequences_are_scaled_when_they_are_asked_for(few, tmp_path):
    put(tmp_path, "inner", few)
    task = create("dsa19", data_dir=tmp_path, retrain=True, standardise="global")
    raw = daily_sports.load(tmp_path).inputs
    assert isinstance(task.train.inputs, OnDemand)
    moments = raw[task.train.inputs.numbers].astype(np.float64)
    assert np.allclose(task.train.inputs[3:5], (raw[3:5] - moments.mean()) / moments.std(), atol=1e-5)


def test_an_unknown_way_to_standardise_is_named(few, tmp_path):
    put(tmp_path, "inner", few)
    with pytest.raises(UserError, match=r"Unknown way to standardise 'features': .*did you mean 'feature'"):
        create("dsa19", data_dir=tmp_path, standardise="features")


DAMAGED = {
    "it lacks a02/p3/s01.txt, one of 1 of 48 segments": {name(2, 3, 1): None},
    r"a01/p1/s01.txt has \(124, 45\), not 125 rows of 45": {name(1, 1, 1): text(1, 1, 1).partition("\n")[2]},
    r"a01/p1/s02.txt has \(125, 45\), not .* finite": {name(1, 1, 2): text(1, 1, 2).replace(",0.25,", ",nan,")},
    "could not convert string 'x'": {name(1, 1, 3): text(1, 1, 3).replace(",0.25,", ",x,")},
    "s01.txt has 5,000,000 bytes, more than the 180,000": {name(1, 1, 1): " " * 5_000_000},
    "a03/p1/s01.txt is none of its segments": {name(3, 1, 1): text(3, 1, 1)},
}


@pytest.mark.parametrize("message, change", DAMAGED.items())
@pytest.mark.parametrize("form", ["folder", "inner"])
def test_what_is_wrong_with_a_copy_is_said(message, change, form, few, tmp_path):
    put(tmp_path, form, {path: content for path, content in (few | change).items() if content is not None})
    with pytest.raises(UserError, match=rf"cannot be read as Daily and Sports Activities \(.*{message}.*get it anew"):
        create("dsa19", data_dir=tmp_path)


@pytest.mark.parametrize("damage", ["empty", "no zip", "cut off"])
def test_a_damaged_zip_is_named(damage, tmp_path):
    content = {"empty": b"", "no zip": b"no zip", "cut off": zipped({"a01/p1/s01.txt": "1\n"})[:60]}[damage]
    (tmp_path / daily_sports.ARCHIVE).write_bytes(content)
    with pytest.raises(UserError, match=r"activities.zip cannot be read as .*remove it and get it anew from https"):
        create("dsa19", data_dir=tmp_path)


def test_nothing_at_hand_says_what_to_get_and_where_to_put_it():
    message = r"is not at hand: put daily\+and\+sports\+activities.zip, from https://archive.*DYNLAB_DATA.*cache"
    with pytest.raises(NotAtHand, match=message):
        create("dsa19", download=False)


def test_offline_the_error_names_the_file_to_place_by_hand(monkeypatch):
    def offline(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(official.pooch, "retrieve", offline)
    with pytest.raises(UserError, match=r"could not be downloaded \(no route to host\): start again, or put daily"):
        create("dsa19")


def test_a_data_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UserError, match="There is no data folder"):
        create("dsa19", data_dir=tmp_path / "nowhere")
