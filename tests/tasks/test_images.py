"""MNIST and CIFAR-10 as sequences, on small fixtures in the official formats; the real ones where they are at hand."""

import dataclasses
import gzip
import hashlib
import lzma
import os
import struct

import numpy as np
import pytest
from archives import put

from dynlab.errors import UserError
from dynlab.tasks import cifar, create, mnist

needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")
COUNTS = {"mnist": (60, 20), "cifar": (50, 10)}  # training and test images of the fixtures
SIDE = {"mnist": 28, "cifar": 32}
TASKS_OF = {"mnist": ["smnist", "pmnist", "noisy-mnist"], "cifar": ["scifar", "noisy-cifar"]}
CASES = [(of, name) for of, names in TASKS_OF.items() for name in names]


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture(scope="module")
def arrays():
    """Pixels (image, channel, row, column) and labels of both sets; one pixel of MNIST never changes."""
    generator = np.random.default_rng(0)
    found = {}
    for of, channels in (("mnist", 1), ("cifar", 3)):
        for split, count in zip(("train", "test"), COUNTS[of], strict=True):
            pixels = generator.integers(0, 256, (count, channels, SIDE[of], SIDE[of]), dtype=np.uint8)
            found[of, split] = pixels, generator.integers(0, 10, count, dtype=np.uint8)
    found["mnist", "train"][0][:, 0, 0, 0] = found["mnist", "test"][0][:, 0, 0, 0] = 7
    return found


@pytest.fixture
def folder(alone, arrays, monkeypatch, tmp_path):
    """Both sets in their official files, and no other copy."""
    digits, batches = {}, {}
    for split, stem, names in (("train", "train", cifar.TRAIN_FILES), ("test", "t10k", (cifar.TEST_FILE,))):
        pixels, labels = arrays["mnist", split]
        digits |= {f"{stem}-images-idx3-ubyte": idx(pixels[:, 0]), f"{stem}-labels-idx1-ubyte": idx(labels)}
        records = [bytes([label]) + image.tobytes() for image, label in zip(*arrays["cifar", split], strict=True)]
        size = len(records) // len(names)
        batches |= {name: b"".join(records[i * size : (i + 1) * size]) for i, name in enumerate(names)}
    put(tmp_path / "mnist", {f"{name}.gz": gzip.compress(data) for name, data in digits.items()})
    put(tmp_path / "cifar10", {f"{name}.xz": lzma.compress(data) for name, data in batches.items()})
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in (digits | batches).items()}
    for module, of, files in ((mnist, "MNIST", mnist.MNIST.files), (cifar, "CIFAR", batches)):
        official = dataclasses.replace(getattr(module, of), files={name: sums[name] for name in files})
        monkeypatch.setattr(module, of, official)
    monkeypatch.setattr(cifar, "RECORDS", COUNTS["cifar"][1])
    return tmp_path


def expected(name, pixels):
    """The sequences in levels 0 to 255, without noise, written out by their definition."""
    count, channels, side, _ = pixels.shape
    if name.startswith("noisy"):
        return pixels.transpose(0, 2, 1, 3).reshape(count, side, channels * side).astype(np.float64)
    flat = pixels.reshape(count, channels, side * side).transpose(0, 2, 1).astype(np.float64)
    return flat[:, np.random.RandomState(92916).permutation(784)] if name == "pmnist" else flat


@pytest.mark.parametrize("of, name", CASES)
def test_sequences_are_the_images_in_their_order_in_the_official_split(of, name, arrays, folder):
    task = create(name, data_dir=folder, retrain=True, standardise="none")
    for split, part in (("train", task.train), ("test", task.test)):
        pixels, labels = arrays[of, split]
        sequences = expected(name, pixels)
        shown = part.inputs[:][:, : sequences.shape[1]]
        assert np.abs(shown * 255 - sequences).max() < 1e-4
        assert np.array_equal(part.targets, labels)
    assert task.train.inputs.dtype == np.float32


def test_the_permutation_is_the_published_one():
    order = np.random.RandomState(mnist.PERMUTATION_SEED).permutation(784)
    assert order[:10].tolist() == [319, 576, 323, 107, 355, 716, 197, 20, 625, 60]


@pytest.mark.parametrize("of, name", [("mnist", "smnist"), ("cifar", "noisy-cifar")])
def test_what_is_held_out_is_drawn_by_the_seed_and_never_trained_on(of, name, arrays, folder):
    one, same, other = (create(name, data_dir=folder, seed=seed, standardise="none") for seed in (1, 1, 2))
    assert np.array_equal(one.train.inputs.numbers, same.train.inputs.numbers)
    assert not np.array_equal(one.train.inputs.numbers, other.train.inputs.numbers)
    assert np.array_equal(one.test.inputs[:3], other.test.inputs[:3])
    assert len(one.validation) == round(COUNTS[of][0] * {"mnist": 1 / 6, "cifar": 0.1}[of])
    together = np.concatenate([one.train.inputs.numbers, one.validation.inputs.numbers])
    assert sorted(together) == list(range(COUNTS[of][0]))
    labels = arrays[of, "train"][1]
    assert np.array_equal(np.concatenate([one.train.targets, one.validation.targets]), labels[together])


@pytest.mark.parametrize("name", ["pmnist", "scifar"])
@pytest.mark.parametrize("kind, axes", [("feature", (0,)), ("channel", (0, 1)), ("global", (0, 1, 2))])
def test_training_examples_are_standardised_over_what_is_said_and_others_likewise(name, kind, axes, folder):
    task = create(name, data_dir=folder, standardise=kind)
    inputs = task.train.inputs[:].astype(np.float64)
    varied = np.ptp(inputs, axis=axes, keepdims=True) > 0
    assert np.abs(inputs.mean(axis=axes)).max() < 1e-5
    assert np.abs(inputs.std(axis=axes, keepdims=True)[varied] - 1).max() < 1e-5
    assert varied.sum() == varied.size - (kind == "feature" and name != "scifar")  # the pixel that never changes is 0
    raw = create(name, data_dir=folder, standardise="none").test.inputs[:] * 255
    assert np.abs(task.scaling.undo(task.test.inputs[:]) - raw).max() < 1e-3


NOISY = pytest.mark.parametrize("of, name", [case for case in CASES if case[1].startswith("noisy")])


@NOISY
def test_the_noise_is_white_and_standard_normal_and_independent_between_images(of, name, folder):
    task = create(name, data_dir=folder, length=200)
    parts = (task.train, task.validation, task.test)
    noise = np.concatenate([part.inputs[:][:, SIDE[of] :] for part in parts])
    flat = noise.reshape(len(noise), -1).astype(np.float64)
    error = 4 / np.sqrt(flat.size)
    assert abs(flat.mean()) < error
    assert abs(flat.var() - 1) < error * np.sqrt(2)
    assert abs(np.mean(flat**4) - 3) < error * np.sqrt(96)
    assert abs(np.mean(noise[:, 1:] * noise[:, :-1])) < error
    between = np.corrcoef(flat)[np.triu_indices(len(flat), 1)]  # some 2,000 to 3,000 pairs
    assert np.abs(between).max() < 5 / np.sqrt(flat.shape[1])


@NOISY
def test_an_image_comes_first_and_keeps_its_noise_however_it_is_asked_for(of, name, folder):
    side = SIDE[of]
    one, other = (create(name, data_dir=folder, length=90, seed=seed) for seed in (1, 2))
    everything = one.train.inputs[:]
    backwards = np.arange(len(everything))[::-1]
    assert np.array_equal(one.train.inputs[backwards], everything[::-1])
    assert np.array_equal(one.train.inputs[5], everything[5])
    shared = np.intersect1d(one.train.inputs.numbers, other.train.inputs.numbers, return_indices=True)[1:]
    noise = [task.train.inputs[rows][:, side:] for task, rows in zip((one, other), shared, strict=True)]
    assert np.array_equal(*noise)
    for length in (50, side):  # a shorter sequence is a beginning
        shorter = create(name, data_dir=folder, length=length, seed=1).test.inputs[:]
        assert np.array_equal(one.test.inputs[:][:, :length], shorter)
    with pytest.raises(UserError, match=rf"at least {side}, the rows of an image; got {side - 1}"):
        create(name, data_dir=folder, length=side - 1)


@pytest.mark.data
@needs_data
def test_the_real_mnist_has_the_published_counts_and_scaling():
    task = create("smnist", retrain=True, standardise="global", download=False)
    assert np.bincount(task.train.targets).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(task.test.targets).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    scale = float(task.scaling.mean[0, 0]) / 255, float(task.scaling.deviation[0, 0]) / 255
    assert scale == pytest.approx((0.1307, 0.3081), abs=5e-5)


@pytest.mark.data
@pytest.mark.slow
@needs_data
def test_the_real_cifar_has_the_published_counts_and_scaling():
    loaded = cifar.load(download=False)
    assert (np.bincount(loaded.y_train) == 5000).all()
    assert (np.bincount(loaded.y_test) == 1000).all()
    pixels = loaded.x_train[::10] / 255.0  # a tenth, whose means err by 0.002
    assert pixels.mean(axis=(0, 2, 3)) == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.006)
    assert pixels.std(axis=(0, 2, 3)) == pytest.approx([0.2470, 0.2435, 0.2616], abs=0.006)
