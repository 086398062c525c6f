"""Mikolov's files of the Penn Treebank, on a small fixture in their format; the real ones where they are at hand."""

import gzip
import os

import numpy as np
import pytest
from archives import put

from dynlab.errors import UserError
from dynlab.tasks import create, official, ptb

needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")
TEXTS = {  # the last line of a file has no end in the official ones
    "char": ("a b _ a \n c a _ < u n k > \n b b \n a c", "a b \n z _ a", "c c \n\n a _ b"),
    "word": (" aer banknote <unk> \n mr. <unk> is N \n", " banknote is \n", " mr. aer \n it is \n"),
}
STREAMS = {
    "char": (
        "a b _ a <eos> c a _ < u n k > <eos> b b <eos> a c <eos>",
        "a b <eos> z _ a <eos>",
        "c c <eos> <eos> a _ b <eos>",
    ),
    "word": ("aer banknote <unk> <eos> mr. <unk> is N <eos>", "banknote is <eos>", "mr. aer <eos> it is <eos>"),
}


@pytest.fixture
def folder(declare, tmp_path):
    for level, texts in TEXTS.items():
        files = dict(zip(official.DATA_SETS[f"ptb-{level}"].files, map(str.encode, texts), strict=True))
        declare(f"ptb-{level}", files)
        put(tmp_path / "ptb", {f"{name}.gz": gzip.compress(text) for name, text in files.items()})
    return tmp_path


@pytest.mark.parametrize("level", TEXTS)
def test_streams_are_the_lines_with_their_ends(level, folder):
    vocabulary, streams, _ = ptb.load(level, folder)
    assert tuple(" ".join(vocabulary[number] for number in stream) for stream in streams) == STREAMS[level]
    assert vocabulary == list(dict.fromkeys(" ".join(STREAMS[level]).split()))  # by first appearance


@pytest.mark.parametrize("level, tokens, length", [("char", 11, 1), ("char", 11, 3), ("word", 8, 2)])
def test_windows_follow_each_other_and_ask_for_what_comes_next(level, tokens, length, folder):
    task = create(f"ptb-{level}", data_dir=folder, length=length)
    for stream, part in zip(ptb.load(level, folder)[1], (task.train, task.validation, task.test), strict=True):
        count = (len(stream) - 1) // length * length
        assert np.array_equal(part.inputs[:].ravel(), stream[:count])
        assert np.array_equal(part.targets.ravel(), stream[1 : count + 1])
    assert (task.input_size, task.tokens, task.output_size) == (1, tokens, tokens)


@pytest.mark.parametrize("level, length, most", [("char", 0, 6), ("word", 3, 2)])
def test_a_length_that_a_stream_does_not_have_is_named(level, length, most, folder):
    with pytest.raises(UserError, match=rf"at least 1 and at most {most}, the shortest stream's; got {length}"):
        create(f"ptb-{level}", data_dir=folder, length=length)


@pytest.mark.data
@needs_data
@pytest.mark.parametrize(
    "level, tokens, lengths, shape",
    [
        ("char", 50, [5_017_483, 393_043, 442_424], (33_449, 150, 1)),
        ("word", 10_000, [929_589, 73_760, 82_430], (3_098, 300, 1)),
    ],
)
def test_the_real_files_have_the_published_counts(level, tokens, lengths, shape):
    vocabulary, streams, _ = ptb.load(level, download=False)
    assert list(map(len, streams)) == lengths
    assert set(streams[0].tolist()) == set(range(len(vocabulary)))  # the training stream has every one
    task = create(f"ptb-{level}", download=False)
    assert (task.train.inputs.shape, task.tokens, task.output_size) == (shape, tokens, tokens)
    assert np.array_equal(task.test.inputs[-1][1:, 0], task.test.targets[-1, :-1])
