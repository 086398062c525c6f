"""The official files of UCI HAR, on a small fixture in their format; the real ones where they are at hand."""

import hashlib
import io
import os
import zipfile
from importlib import resources

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import create, har, recordings

TRAIN, TEST, STEPS = 3, 2, 128
needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")


def official_number(value):
    """As the official files write it: sixteen characters, three digits of exponent."""
    mantissa, _, exponent = f"{value:.7e}".partition("e")
    return f"{mantissa}e{exponent[0]}{int(exponent[1:]):03d}".rjust(16)


@pytest.fixture
def signals():
    generator = np.random.default_rng(0)
    shapes = {"train": TRAIN, "test": TEST}
    arrays = {}
    for split, samples in shapes.items():
        values = generator.standard_normal((samples, STEPS, 9)) * 10.0 ** generator.integers(-6, 2, (samples, STEPS, 9))
        arrays[f"x_{split}"] = np.vectorize(lambda v: float(f"{v:.7e}"))(values).astype(np.float32)
        arrays[f"y_{split}"] = generator.integers(1, 7, samples)
        arrays[f"subject_{split}"] = generator.integers(1, 31, samples)
    return arrays


@pytest.fixture
def files(signals):
    """The fixture as official text files, by their names in the official folder."""
    arrays = signals
    found = {}
    for split in ("train", "test"):
        for index, name in enumerate(har.CHANNELS):
            rows = ["".join(official_number(float(v)) for v in row) for row in arrays[f"x_{split}"][:, :, index]]
            found[f"{split}/Inertial Signals/{name}_{split}.txt"] = "\n".join(rows) + "\n"
        for stem in ("y", "subject"):
            found[f"{split}/{stem}_{split}.txt"] = "".join(f"{value}\n" for value in arrays[f"{stem}_{split}"])
    return found


@pytest.fixture
def own_checksums(signals, monkeypatch):
    monkeypatch.setattr(har, "SHA256", {name: har.digest(value) for name, value in signals.items()})


def zipped(files, folder=har.DATASET.unpacked):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}", text)
    return buffer.getvalue()


def put(where, form, files):
    if form == "folder":
        for name, text in files.items():
            path = where / har.DATASET.unpacked / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    elif form == "inner":
        (where / har.INNER_ARCHIVE).write_bytes(zipped(files))
    else:
        with zipfile.ZipFile(where / har.ARCHIVE, "w") as archive:
            archive.writestr(har.INNER_ARCHIVE, zipped(files))
            archive.writestr("UCI HAR Dataset.names", "x")


def same(found, arrays):
    return all(np.array_equal(found[name], value) for name, value in arrays.items())


@pytest.mark.parametrize("form", ["folder", "inner", "outer"])
def test_the_official_files_are_read_bit_for_bit(form, files, signals, own_checksums, alone, tmp_path):
    put(tmp_path, form, files)
    found, _ = har.load(tmp_path, download=False)
    assert same(found, signals)
    assert found["x_train"].dtype == np.float32


def test_a_prepared_copy_comes_before_the_archive(signals, own_checksums, alone, tmp_path):
    (tmp_path / "uci_har").mkdir()
    np.savez(tmp_path / "uci_har" / har.PREPARED, **signals)
    (tmp_path / "uci_har" / har.ARCHIVE).write_bytes(b"not even a zip")
    found, origin = har.load(tmp_path, download=False)
    assert same(found, signals)
    assert origin.endswith(har.PREPARED)


def test_a_copy_that_differs_in_one_bit_is_refused(signals, own_checksums, alone, tmp_path):
    arrays = {name: value.copy() for name, value in signals.items()}
    arrays["x_test"].view(np.uint32)[0, 0, 0] ^= 1
    np.savez(tmp_path / har.PREPARED, **arrays)
    with pytest.raises(UserError, match=r"x_test does not have the data set's checksum\); remove it"):
        har.load(tmp_path, download=False)


def test_classes_are_those_of_the_paper():
    names = dict(enumerate(har.ACTIVITIES, start=1))
    one = {names[number] for number in names if har.classes("har2", np.array([number]))[0] == 1}
    assert one == {"STANDING", "WALKING", "WALKING_DOWNSTAIRS"}


@pytest.mark.data
@needs_data
def test_the_real_set_in_six_classes_has_the_published_counts():
    task = create("har6", retrain=True, download=False)
    assert np.bincount(task.train.targets).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert np.bincount(task.test.targets).tolist() == [496, 471, 420, 491, 532, 537]


@pytest.mark.data
@needs_data
def test_the_real_set_has_the_published_counts_and_scaling():
    task = create("har2", retrain=True, download=False)
    assert np.bincount(task.train.targets).tolist() == [3766, 3586]
    assert np.bincount(task.test.targets).tolist() == [1499, 1448]
    inputs = task.train.inputs[:].astype(np.float64)
    assert np.abs(inputs.mean(axis=0)).max() < 1e-5
    assert np.abs(inputs.std(axis=0) - 1).max() < 1e-5
    overall = create("har2", retrain=True, standardise="global", download=False).scaling
    assert (round(float(overall.mean), 5), round(float(overall.deviation), 5)) == (0.10207, 0.40217)


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
        fitted = recordings.fit(signals["x_train"], np.arange(7352), recordings.STANDARDISE[kind])
        assert np.array_equal(scaling.mean, fitted.mean)
        assert np.array_equal(scaling.deviation, fitted.deviation)
    task = create("har2", retrain=True, download=False)
    assert np.array_equal(har.sample("har2").inputs, task.test.inputs[rows])


def test_the_embedded_sample_is_balanced_and_unchanged():
    sample = har.sample("har2")
    assert sample.inputs.shape == (32, 128, 9)
    assert np.bincount(sample.targets).tolist() == [16, 16]
    assert hashlib.sha256(har.embedded()[0].inputs.tobytes()).hexdigest() == SAMPLE_SHA256


SAMPLE_SHA256 = "8e4a9ca3e6f59f8cbadea87e1cdcad8e8c504a8266dfcce71aa54ddf31c73db5"
