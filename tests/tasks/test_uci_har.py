"""The official files of UCI HAR, on a small fixture in their format; the real ones where they are at hand."""

import hashlib
import os
from importlib import resources

import numpy as np
import pytest
from archives import put, zipped

from dynlab.errors import UserError
from dynlab.tasks import create, har, recordings, task

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
    monkeypatch.setattr(har, "SHA256", {name: task.digest(value) for name, value in found.items()})
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


FORMS = {
    "folder": files,
    "inner": lambda arrays: {INNER: zipped(files(arrays))},
    "outer": lambda arrays: {OUTER: zipped({INNER: zipped(files(arrays)), "UCI HAR Dataset.names": "x"})},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_official_files_are_read_bit_for_bit(form, arrays, tmp_path):
    found, _ = har.load(put(tmp_path, FORMS[form](arrays)), download=False)
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
    with pytest.raises(UserError, match=r"x_test does not have the data set's checksum\); remove it"):
        har.load(tmp_path, download=False)


def test_classes_are_those_of_the_paper():
    names = dict(enumerate(har.ACTIVITIES, start=1))
    one = {names[number] for number in names if har.classes("har2", np.array([number]))[0] == 1}
    assert one == {"STANDING", "WALKING", "WALKING_DOWNSTAIRS"}


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
    raw, scalings = har.embedded()
    signals, _ = har.load(download=False)
    file = resources.files("dynlab.tasks") / "samples" / "har2_test_sample.npz"
    with file.open("rb") as stream, np.load(stream) as arrays:
        rows = arrays["rows"]
    assert np.array_equal(raw.inputs, signals["x_test"][rows])
    assert np.array_equal(raw.subjects, signals["subject_test"][rows])
    for kind, scaling in scalings.items():
        fitted = recordings.fit(signals["x_train"], np.arange(7352), kind)
        assert np.array_equal(np.broadcast_to(scaling.mean, (128, 9)), fitted.mean)
        assert np.array_equal(np.broadcast_to(scaling.deviation, (128, 9)), fitted.deviation)
    whole = create("har2", retrain=True, download=False)
    assert np.array_equal(har.sample("har2").inputs, whole.test.inputs[rows])


def test_the_embedded_sample_is_balanced_and_unchanged():
    sample = har.sample("har2")
    assert sample.inputs.shape == (32, 128, 9)
    assert np.bincount(sample.targets).tolist() == [16, 16]
    digest = hashlib.sha256(har.embedded()[0].inputs.tobytes()).hexdigest()
    assert digest == "8e4a9ca3e6f59f8cbadea87e1cdcad8e8c504a8266dfcce71aa54ddf31c73db5"
