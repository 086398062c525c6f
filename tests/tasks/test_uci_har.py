"""The official files of UCI HAR, small in their format, and the real ones; random changes of its signals."""

import hashlib
import os
from importlib import resources

import numpy as np
import pytest
from archives import put, zipped
from scipy.spatial.transform import Rotation

from dynlab.errors import UserError
from dynlab.tasks import Split, Task, create, har, recordings
from dynlab.tasks.har import INERTIAL, rotation
from dynlab.tasks.task import Scaling, digest

OUTER, INNER = "human+activity+recognition+using+smartphones.zip", "UCI HAR Dataset.zip"
needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")


def official_number(value):
    """As the official files write it: sixteen characters, three digits of exponent."""
    mantissa, _, exponent = f"{value:.7e}".partition("e")
    return f"{mantissa}e{exponent[0]}{int(exponent[1:]):03d}".rjust(16)


@pytest.fixture
def arrays(alone, monkeypatch):
    generator = np.random.default_rng(0)
    found = {}
    for split, count in (("train", 3), ("test", 2)):
        shape = (count, 128, 9)
        values = generator.standard_normal(shape) * 10.0 ** generator.integers(-6, 2, shape)
        found[f"x_{split}"] = np.vectorize(lambda v: float(f"{v:.7e}"))(values).astype(np.float32)
        found[f"y_{split}"] = generator.integers(1, 7, count)
        found[f"subject_{split}"] = generator.integers(1, 31, count)
    monkeypatch.setattr(har, "SHA256", {name: digest(value) for name, value in found.items()})
    return found


def files(arrays):
    """The arrays as official text files, by their names."""
    found = {}
    for split in ("train", "test"):
        for index, name in enumerate(har.CHANNELS):
            rows = ["".join(official_number(float(v)) for v in row) for row in arrays[f"x_{split}"][:, :, index]]
            found[f"{split}/Inertial Signals/{name}_{split}.txt"] = "\n".join(rows) + "\n"
        for stem in ("y", "subject"):
            found[f"{split}/{stem}_{split}.txt"] = "".join(f"{value}\n" for value in arrays[f"{stem}_{split}"])
    return {f"UCI HAR Dataset/{name}": text for name, text in found.items()}


@pytest.mark.parametrize("is_unpacked", [True, False])
def test_the_official_files_are_read_bit_for_bit(is_unpacked, arrays, tmp_path):
    whole = {OUTER: zipped({INNER: zipped(files(arrays)), "UCI HAR Dataset.names": "x"})}
    found, _ = har.load(put(tmp_path, files(arrays) if is_unpacked else whole), download=False)
    assert all(np.array_equal(found[name], value) for name, value in arrays.items())
    assert found["x_train"].dtype == np.float32


def test_a_prepared_copy_comes_before_the_archive_and_differs_in_no_bit(arrays, tmp_path):
    put(tmp_path / "uci_har", {OUTER: b"not even a zip"})
    prepared = tmp_path / "uci_har" / har.PREPARED
    np.savez(prepared, **arrays)
    found, origin = har.load(tmp_path, download=False)
    assert origin == har.PREPARED
    assert all(np.array_equal(found[name], value) for name, value in arrays.items())
    arrays["x_test"].view(np.uint32)[0, 0, 0] ^= 1
    np.savez(prepared, **arrays)
    with pytest.raises(UserError, match=r"x_test does not have the data set's checksum; copy it again"):
        har.load(tmp_path, download=False)


def test_classes_are_those_of_the_paper():
    names = dict(enumerate(har.ACTIVITIES, start=1))
    one = {names[number] for number in names if har.classes("har2", np.array([number]))[0] == 1}
    assert one == {"STANDING", "WALKING", "WALKING_DOWNSTAIRS"}


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


def test_scaled_inputs_are_changed_in_raw_units(task):
    scaled = task.scaling.apply(task.train.inputs)
    changed = task.augmented(scaled, task.augmentation(["rotation:1.0"]), np.random.default_rng(1))
    expected = rotation(task.train.inputs, 1.0, np.random.default_rng(1))
    assert changed.dtype == np.float32
    assert np.allclose(task.scaling.undo(changed), expected, atol=1e-5)


@pytest.mark.parametrize("text", ["rotatoin", "rotation:big"])
def test_bad_augmentations_are_named(task, text):
    with pytest.raises(UserError, match=r"did you mean 'rotation'|must be a number"):
        task.augmentation([text])


def shipped():
    """The arrays of the embedded sample."""
    file = resources.files("dynlab.tasks") / "samples" / "har2_test_sample.npz"
    with file.open("rb") as stream, np.load(stream) as arrays:
        return dict(arrays)


@pytest.mark.data
@needs_data
def test_the_real_set_has_the_published_counts_and_scaling():
    six, two = (create(name, retrain=True, download=False) for name in ("har6", "har2"))
    assert np.bincount(six.train.targets).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert np.bincount(six.test.targets).tolist() == [496, 471, 420, 491, 532, 537]
    assert np.bincount(two.train.targets).tolist() == [3766, 3586]
    assert np.bincount(two.test.targets).tolist() == [1499, 1448]
    inputs = two.train.inputs[:].astype(np.float64)
    assert np.abs(inputs.mean(axis=0)).max() < 1e-5
    assert np.abs(inputs.std(axis=0) - 1).max() < 1e-5
    overall = create("har2", retrain=True, standardise="global", download=False).scaling
    assert (round(float(overall.mean[0, 0]), 5), round(float(overall.deviation[0, 0]), 5)) == (0.10207, 0.40217)


@pytest.mark.data
@needs_data
def test_the_embedded_sample_is_the_official_test_split_scaled_by_the_training_split():
    signals, _ = har.load(download=False)
    kept = shipped()
    assert np.array_equal(kept["inputs"], signals["x_test"][kept["rows"]])
    assert np.array_equal(kept["subjects"], signals["subject_test"][kept["rows"]])
    for kind in recordings.STANDARDISE:
        fitted = recordings.fit(signals["x_train"], np.arange(7352), kind)
        assert np.array_equal(np.broadcast_to(kept[f"{kind}_mean"], (128, 9)), fitted.mean)
        assert np.array_equal(np.broadcast_to(kept[f"{kind}_deviation"], (128, 9)), fitted.deviation)
    whole = create("har2", retrain=True, download=False)
    assert np.array_equal(har.sample("har2").inputs, whole.test.inputs[kept["rows"]])


def test_the_embedded_sample_is_balanced_and_unchanged():
    sample = har.sample("har2")
    assert sample.inputs.shape == (32, 128, 9)
    assert np.bincount(sample.targets).tolist() == [16, 16]
    found = hashlib.sha256(shipped()["inputs"].tobytes()).hexdigest()
    assert found == "8e4a9ca3e6f59f8cbadea87e1cdcad8e8c504a8266dfcce71aa54ddf31c73db5"
