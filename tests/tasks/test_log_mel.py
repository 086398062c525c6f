"""Log-mel features against the definition, computed directly."""

import sys

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import log_mel as module
from dynlab.tasks.log_mel import log_mel

SINGLE = 1e-4  # of a logarithm: sums of some hundred products in single precision


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


def test_silence_is_the_floor():
    samples = np.random.default_rng(2).normal(0, 1000, 1600)  # the last tenth of the second
    quiet = np.isclose(log_mel(samples), np.log(1e-10)).all(axis=1)
    assert quiet.tolist() == [True] * 88 + [False] * 11


def test_without_the_library_the_extra_is_named(monkeypatch):
    module._options.cache_clear()
    monkeypatch.setitem(sys.modules, "kaldi_native_fbank", None)
    with pytest.raises(UserError, match=r'needs kaldi_native_fbank, .*pip install "\.\[speech\]"'):
        log_mel(np.zeros(16_000))
