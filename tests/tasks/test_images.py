"""MNIST and CIFAR-10 as sequences, on small fixtures in the official formats; the real ones where they are at hand."""

import gzip
import lzma
import os
import struct

import numpy as np
import pytest
from archives import put

from dynlab.errors import UserError
from dynlab.tasks import create, images, official

needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")
SETS = {"mnist": (60, 20, 1, 28), "cifar": (50, 10, 3, 32)}  # training and test images, channels, side
CASES = [
    ("mnist", "smnist"),
    ("mnist", "pmnist"),
    ("mnist", "noisy-mnist"),
    ("cifar", "scifar"),
    ("cifar", "noisy-cifar"),
]
NOISY = pytest.mark.parametrize("of, name", [CASES[2], CASES[4]])


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def records(pixels, labels):
    return b"".join(bytes([label]) + image.tobytes() for image, label in zip(pixels, labels, strict=True))


@pytest.fixture(scope="module")
def arrays():
    """Pixels (image, channel, row, column) and labels of both sets; one pixel of MNIST never changes."""
    generator = np.random.default_rng(0)
    found = {}
    for of, (*counts, channels, side) in SETS.items():
        for split, count in zip(("train", "test"), counts, strict=True):
            pixels = generator.integers(0, 256, (count, channels, side, side), dtype=np.uint8)
            found[of, split] = pixels, generator.integers(0, 10, count, dtype=np.uint8)
    found["mnist", "train"][0][:, 0, 0, 0] = found["mnist", "test"][0][:, 0, 0, 0] = 7
    return found


@pytest.fixture
def folder(declare, arrays, tmp_path):
    """Both sets in their official files, and no other copy."""
    (pixels, labels), (test_pixels, test_labels) = arrays["cifar", "train"], arrays["cifar", "test"]
    parts = zip(np.split(pixels, 5), np.split(labels, 5), strict=True)
    batches = [*(records(*part) for part in parts), records(test_pixels, test_labels)]
    digits = [
        idx(part)
        for split in ("train", "test")
        for part in (arrays["mnist", split][0][:, 0], arrays["mnist", split][1])
    ]
    for name, contents, pack, suffix in (("mnist", digits, gzip, "gz"), ("cifar", batches, lzma, "xz")):
        files = dict(zip(official.DATA_SETS[name].files, contents, strict=True))
        declare(name, files)
        packed = {f"{file}.{suffix}": pack.compress(content) for file, content in files.items()}
        put(tmp_path / official.DATA_SETS[name].folder, packed)
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


@pytest.mark.parametrize("of, name, share", [("mnist", "smnist", 1 / 6), ("cifar", "noisy-cifar", 0.1)])
def test_what_is_held_out_is_drawn_by_the_seed_and_never_trained_on(of, name, share, arrays, folder):
    one, same, other = (create(name, data_dir=folder, seed=seed, standardise="none") for seed in (1, 1, 2))
    assert np.array_equal(one.train.inputs.numbers, same.train.inputs.numbers)
    assert not np.array_equal(one.train.inputs.numbers, other.train.inputs.numbers)
    assert np.array_equal(one.test.inputs[:3], other.test.inputs[:3])
    together = np.concatenate([one.train.inputs.numbers, one.validation.inputs.numbers])
    assert len(one.validation) == round(len(together) * share)
    assert sorted(together) == list(range(SETS[of][0]))
    labels = arrays[of, "train"][1]
    assert np.array_equal(np.concatenate([one.train.targets, one.validation.targets]), labels[together])


WAYS = {"feature": (0,), "channel": (0, 1, 3), "global": (0, 1, 2, 3)}


@pytest.mark.parametrize("name, channels", [("pmnist", 1), ("scifar", 3), ("noisy-cifar", 3)])
@pytest.mark.parametrize("kind", WAYS)
def test_training_examples_are_standardised_over_what_is_said_and_others_likewise(name, channels, kind, folder):
    rows = {"length": 32} if name.startswith("noisy") else {}  # without noise
    task = create(name, data_dir=folder, standardise=kind, **rows)
    inputs = task.train.inputs[:].astype(np.float64)
    inputs = inputs.reshape(*inputs.shape[:2], channels, -1)
    varied = np.ptp(inputs, axis=WAYS[kind], keepdims=True) > 0
    assert np.abs(inputs.mean(axis=WAYS[kind])).max() < 1e-5
    assert np.abs(inputs.std(axis=WAYS[kind], keepdims=True)[varied] - 1).max() < 1e-5
    assert varied.sum() == varied.size - (kind == "feature" and name == "pmnist")  # the pixel that never changes is 0
    if not rows:
        raw = create(name, data_dir=folder, standardise="none").test.inputs[:] * 255
        assert np.abs(task.scaling.undo(task.test.inputs[:]) - raw).max() < 1e-3


@NOISY
def test_the_noise_is_white_and_standard_normal_and_independent_between_images(of, name, folder):
    task = create(name, data_dir=folder, length=200)
    parts = (task.train, task.validation, task.test)
    noise = np.concatenate([part.inputs[:][:, SETS[of][3] :] for part in parts])
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
    side = SETS[of][3]
    one, other = (create(name, data_dir=folder, length=90, seed=seed) for seed in (1, 2))
    everything = one.train.inputs[:]
    backwards = np.arange(len(everything))[::-1]
    assert np.array_equal(one.train.inputs[backwards], everything[::-1])
    shared = np.intersect1d(one.train.inputs.numbers, other.train.inputs.numbers, return_indices=True)[1:]
    noise = [task.train.inputs[rows][:, side:] for task, rows in zip((one, other), shared, strict=True)]
    assert np.array_equal(*noise)
    shorter = create(name, data_dir=folder, length=50, seed=1).test.inputs[:]
    assert np.array_equal(one.test.inputs[:][:, :50], shorter)  # a shorter sequence is a beginning
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
    train, test, _ = images.cifar(download=False)
    assert (np.bincount(train.targets) == 5000).all()
    assert (np.bincount(test.targets) == 1000).all()
    pixels = train.inputs[::10] / 255.0  # a tenth, whose means err by 0.002
    assert pixels.mean(axis=(0, 2, 3)) == pytest.approx([0.4914, 0.4822, 0.4465], abs=0.006)
    assert pixels.std(axis=(0, 2, 3)) == pytest.approx([0.2470, 0.2435, 0.2616], abs=0.006)
