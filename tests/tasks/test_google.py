"""Speech Commands in its official form, small, and its log-mel features against the definition, computed directly."""

import dataclasses
import hashlib
import io
import re

import numpy as np
import pytest
import scipy.io.wavfile
from archives import put, tarred

from dynlab.errors import UserError
from dynlab.tasks import create, google, official
from dynlab.tasks.google import WORDS
from dynlab.tasks.log_mel import log_mel

SPEAKERS = 20  # each says each word once
ARCHIVE = "speech_commands_v0.01.tar.gz"
SINGLE = 1e-4  # of a logarithm: sums of some hundred products in single precision


def wav(samples):
    buffer = io.BytesIO()
    scipy.io.wavfile.write(buffer, 16_000, samples.astype("<i2"))
    return buffer.getvalue()


def split_of(name):
    """Which split the set's README puts a clip in: by a hash of its speaker."""
    speaker = re.sub(r"_nohash_.*$", "", name.partition("/")[2])
    place = int(hashlib.sha1(speaker.encode()).hexdigest(), 16) % (2**27) * (100 / (2**27 - 1))
    return "validation" if place < 10 else "testing" if place < 20 else "training"


def spoken(number):
    """What clip `number` sounds like: lengths differ, one has all of a second."""
    generator = np.random.default_rng(number)
    return generator.integers(-2000, 2000, 16_000 if number % 7 == 0 else 2000 + 13 * number)


@pytest.fixture(scope="module")
def clips():
    speakers = [hashlib.sha1(str(i).encode()).hexdigest()[:8] for i in range(SPEAKERS)]
    names = [f"{word}/{one}_nohash_0.wav" for word in WORDS for one in speakers]
    return {name: spoken(number % 100) for number, name in enumerate(names)}


@pytest.fixture(scope="module")
def files(clips):
    found = {"README.md": b"# Speech Commands", "LICENSE": b"CC BY"}
    found |= {name: wav(samples) for name, samples in clips.items()}
    for kind in ("validation", "testing"):
        found[f"{kind}_list.txt"] = "".join(f"{name}\n" for name in clips if split_of(name) == kind).encode()
    noise = np.random.default_rng(0).normal(0, 3000, 20_000)
    found[f"{google.BACKGROUND}/README.md"] = b"noise"
    found[f"{google.BACKGROUND}/white_noise.wav"] = wav(noise)
    found[f"{google.BACKGROUND}/pink_noise.wav"] = wav(np.cumsum(noise) / 100)
    return found


@pytest.fixture(scope="module")
def archive(files):
    return tarred(files, folder="./")


@pytest.fixture(autouse=True)
def small(alone, clips, monkeypatch):
    monkeypatch.setattr(google, "CLIPS", len(clips))


@pytest.fixture
def folder(archive, monkeypatch, tmp_path):
    of = official.DATA_SETS["speech_commands"]
    downloads = {ARCHIVE: (of.downloads[ARCHIVE][0], f"sha256:{hashlib.sha256(archive).hexdigest()}")}
    monkeypatch.setitem(official.DATA_SETS, "speech_commands", dataclasses.replace(of, downloads=downloads))
    return put(tmp_path / "data", {ARCHIVE: archive})


def test_thirty_words_have_the_official_splits_and_features(folder, clips):
    task = create("google30", data_dir=folder)
    assert (task.input_size, task.length, task.output_size) == (32, 99, 30)
    for part, kind in ((task.train, "training"), (task.validation, "validation"), (task.test, "testing")):
        names = sorted(name for name in clips if split_of(name) == kind)
        assert len(part) == len(names) > 0
        assert [WORDS[target] for target in part.targets] == [name.partition("/")[0] for name in names]
        raw = task.scaling.undo(part.inputs[[0, 17]])
        assert np.allclose(raw, [log_mel(clips[names[0]]), log_mel(clips[names[17]])], atol=1e-4)


def test_the_real_count_is_the_sources():
    """Of the 2,567 test clips of the ten commands FastGRNN and ERNN report 3,081 examples."""
    names = [*(f"yes/{n}.wav" for n in range(2567)), *(f"bed/{n}.wav" for n in range(2000))]
    assert len(google._twelve(names, dict.fromkeys(names), [np.ones(20_000)], 0)) == 3081


def test_other_words_are_clips_of_their_split_and_silence_is_a_piece_of_the_noise(folder, clips):
    task = create("google12", data_dir=folder)
    raw = task.scaling.undo(task.test.inputs[:])
    others = [log_mel(clips[name]) for name in clips if split_of(name) == "testing" and name[:2] != "go"]
    for features in raw[task.test.targets == google.UNKNOWN]:
        assert min(np.abs(features - one).max() for one in others) < 1e-3
    *_, (*_, names), noises, _ = google.load(folder)
    generator = np.random.default_rng([google.FIXED_SEED, 2])
    generator.permutation(sum(WORDS.index(name.partition("/")[0]) >= 10 for name in names))
    silences = raw[task.test.targets == google.SILENCE]
    assert np.allclose(silences, [log_mel(google.piece(noises, generator)) for _ in silences], atol=1e-3)


def test_a_piece_is_a_second_of_noise_at_a_volume_up_to_1():
    ramp = np.arange(20_000.0)
    pieces = [google.piece([ramp], np.random.default_rng(seed)) for seed in range(20)]
    volumes = np.array([np.diff(piece) for piece in pieces])
    assert np.ptp(volumes, axis=1).max() < 1e-9
    assert (volumes >= 0).all()
    assert (volumes <= 1).all()
    assert {len(piece) for piece in pieces} == {16_000}


def test_the_unpacked_folder_is_read_alike(folder, files, tmp_path):
    one = create("google12", data_dir=folder)
    unpacked = {f"speech_commands/speech_commands_v0.01/{name}": content for name, content in files.items()}
    other = create("google12", data_dir=put(tmp_path / "unpacked", unpacked))
    assert np.array_equal(one.train.inputs[:], other.train.inputs[:])
    assert one.source["sha256"] == other.source["sha256"]


def test_another_archive_is_refused(archive, tmp_path):
    put(tmp_path, {ARCHIVE: archive})
    with pytest.raises(UserError, match=r"tar.gz cannot be read as Speech Commands: it does not have its official"):
        create("google30", data_dir=tmp_path)


def mel(hertz):
    return 2595 * np.log10(1 + hertz / 700)


def hertz(mels):
    return 700 * (10 ** (mels / 2595) - 1)


def triangles():
    """The filters, shape (filter, place): their 34 corners are those of python_speech_features."""
    corners = np.floor(513 * hertz(np.linspace(0, mel(8000), 34)) / 16_000)
    low, top, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    places = np.arange(257)
    return np.clip(np.minimum((places - low) / (top - low), (high - places) / (high - top)), 0, None)


def directly(samples):
    """By the definition in double precision: no FFT, no library."""
    sound = np.concatenate([np.zeros(16_000 - len(samples)), samples])
    sound = np.append(sound[0], sound[1:] - 0.97 * sound[:-1])
    sound = np.concatenate([sound, np.zeros(80)])
    windows = np.array([sound[start : start + 400] for start in range(0, 99 * 160, 160)])
    hamming = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(400) / 399)
    transform = np.exp(-2j * np.pi * np.outer(np.arange(400), np.arange(257)) / 512)
    powers = np.abs((windows * hamming) @ transform) ** 2 / 512
    return np.log(powers @ triangles().T + 1e-10)


@pytest.mark.parametrize("length", [16_000, 12_345, 200])
def test_features_are_those_of_the_definition(length):
    samples = np.random.default_rng(length).normal(0, 1000, length)
    assert np.abs(log_mel(samples) - directly(samples)).max() < SINGLE
