"""Speech Commands in its official form, small: a tar.gz of folders of wav files, with its two lists."""

import hashlib
import io
import re
import sys
import wave

import numpy as np
import pytest
from archives import put, tarred

from dynlab.errors import UserError
from dynlab.tasks import create, google, speech_commands
from dynlab.tasks.log_mel import log_mel
from dynlab.tasks.speech_commands import WORDS

SPEAKERS = 20  # each says each word once


def wav(samples):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(samples.astype("<i2").tobytes())
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
    found[f"{speech_commands.BACKGROUND}/README.md"] = b"noise"
    found[f"{speech_commands.BACKGROUND}/white_noise.wav"] = wav(noise)
    found[f"{speech_commands.BACKGROUND}/pink_noise.wav"] = wav(np.cumsum(noise) / 100)
    return found


@pytest.fixture(scope="module")
def archive(files):
    return tarred(files, folder="./")


@pytest.fixture(autouse=True)
def small(alone, clips, monkeypatch):
    monkeypatch.setattr(speech_commands, "CLIPS", len(clips))


@pytest.fixture
def folder(archive, monkeypatch, tmp_path):
    monkeypatch.setattr(speech_commands, "ARCHIVE_SHA256", hashlib.sha256(archive).hexdigest())
    return put(tmp_path / "data", {speech_commands.ARCHIVE: archive})


def test_thirty_words_have_the_official_splits_and_features(folder, clips):
    task = create("google30", data_dir=folder)
    assert (task.input_size, task.length, task.output_size) == (32, 99, 30)
    for part, kind in ((task.train, "training"), (task.validation, "validation"), (task.test, "testing")):
        names = sorted(name for name in clips if split_of(name) == kind)
        assert len(part) == len(names) > 0
        assert [WORDS[target] for target in part.targets] == [name.partition("/")[0] for name in names]
        raw = task.scaling.undo(part.inputs[[0, 17]])
        assert np.allclose(raw, [log_mel(clips[names[0]]), log_mel(clips[names[17]])], atol=1e-4)


@pytest.mark.parametrize("commands, all_of_them", [(2_567, 3_081)])
def test_the_real_counts_are_the_sources(commands, all_of_them):
    """The clips of the ten commands in the official splits, and the examples that FastGRNN and ERNN report."""
    names = tuple(f"yes/{number}.wav" for number in range(commands)) + tuple(f"bed/{n}.wav" for n in range(2000))
    assert len(google._twelve(names, (np.zeros(20_000),), 0)) == all_of_them


def test_other_words_are_clips_of_their_split_and_silence_is_a_piece_of_the_noise(folder, clips, files):
    task = create("google12", data_dir=folder)
    raw = task.scaling.undo(task.test.inputs[:])
    others = [log_mel(clips[name]) for name in clips if split_of(name) == "testing" and name[:2] != "go"]
    for features in raw[task.test.targets == google.UNKNOWN]:
        assert min(np.abs(features - one).max() for one in others) < 1e-3
    found = speech_commands.catalogue(folder)
    pieces = [what for what, target in google._twelve(found.test, found.noises, 2) if target == google.SILENCE]
    expected = [log_mel(one.volume * found.noises[one.noise][one.start :][:16_000]) for one in pieces]
    assert np.allclose(raw[task.test.targets == google.SILENCE], expected, atol=1e-3)
    assert all(0 <= one.volume <= 1 for one in pieces)


def test_the_unpacked_folder_is_read_alike(folder, files, tmp_path):
    one = create("google12", data_dir=folder)
    unpacked = {f"speech_commands/speech_commands_v0.01/{name}": content for name, content in files.items()}
    other = create("google12", data_dir=put(tmp_path / "unpacked", unpacked))
    assert np.array_equal(one.train.inputs[:], other.train.inputs[:])
    assert one.source["sha256"] == other.source["sha256"]


def test_another_archive_is_refused(folder, monkeypatch):
    monkeypatch.setattr(speech_commands, "ARCHIVE_SHA256", "0" * 64)
    with pytest.raises(UserError, match=r"tar.gz cannot be read as Speech Commands \(it does not have its official"):
        create("google30", data_dir=folder)


def test_without_the_library_nothing_is_fetched(monkeypatch):
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(UserError, match=r'pip install "\.\[speech\]"'):
        create("google12")
