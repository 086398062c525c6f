"""Mikolov's files of the Penn Treebank, on a small fixture in their format; the real ones where they are at hand."""

import dataclasses
import gzip
import hashlib
import os

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import create, ptb

needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="DYNLAB_DATA names no folder")
CHARACTERS = {  # the last line of a file has no end in the official ones
    "ptb.char.train.txt": "a b _ a \n c a _ < u n k > \n b b \n a c",
    "ptb.char.valid.txt": "a b \n z _ a",
    "ptb.char.test.txt": "c c \n\n a _ b",
}
WORDS = {
    "ptb.train.txt": " aer banknote <unk> \n mr. <unk> is N \n",
    "ptb.valid.txt": " banknote is \n",
    "ptb.test.txt": " mr. aer \n it is \n",
}


@pytest.fixture
def folder(alone, monkeypatch, tmp_path):
    (tmp_path / "ptb").mkdir()
    for level, texts in (("char", CHARACTERS), ("word", WORDS)):
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        monkeypatch.setitem(ptb.PTB, level, dataclasses.replace(ptb.PTB[level], files=sums))
        for name, text in texts.items():
            (tmp_path / "ptb" / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def words(corpus, stream):
    return " ".join(corpus.vocabulary[number] for number in stream)


def test_streams_are_the_lines_with_their_ends(folder):
    corpus = ptb.load("char", folder)
    assert words(corpus, corpus.train) == "a b _ a <eos> c a _ < u n k > <eos> b b <eos> a c <eos>"
    assert words(corpus, corpus.validation) == "a b <eos> z _ a <eos>"
    assert words(corpus, corpus.test) == "c c <eos> <eos> a _ b <eos>"
    assert corpus.vocabulary == ("a", "b", "_", "<eos>", "c", "<", "u", "n", "k", ">", "z")
    corpus = ptb.load("word", folder)
    assert words(corpus, corpus.train) == "aer banknote <unk> <eos> mr. <unk> is N <eos>"
    assert words(corpus, corpus.validation) == "banknote is <eos>"
    assert words(corpus, corpus.test) == "mr. aer <eos> it is <eos>"
    assert len(set(corpus.vocabulary)) == len(corpus.vocabulary) == 8


@pytest.mark.parametrize("level, tokens, length", [("char", 11, 1), ("char", 11, 3), ("word", 8, 2)])
def test_windows_follow_each_other_and_ask_for_what_comes_next(level, tokens, length, folder):
    corpus = ptb.load(level, folder)
    task = create(f"ptb-{level}", data_dir=folder, length=length)
    for stream, part in ((corpus.train, task.train), (corpus.validation, task.validation), (corpus.test, task.test)):
        count = (len(stream) - 1) // length * length
        assert np.array_equal(part.inputs[:].ravel(), stream[:count])
        assert np.array_equal(part.targets.ravel(), stream[1 : count + 1])
    assert (task.input_size, task.tokens, task.output_size) == (1, tokens, tokens)


@pytest.mark.parametrize("level, length, most", [("char", 0, 6), ("word", 3, 2)])
def test_a_length_that_a_stream_does_not_have_is_named(level, length, most, folder):
    with pytest.raises(UserError, match=rf"at least 1 and at most {most}, the shortest stream's; got {length}"):
        create(f"ptb-{level}", data_dir=folder, length=length)


COUNTS = {
    "char": (50, [5_017_483, 393_043, 442_424], (33_449, 150, 1)),
    "word": (10_000, [929_589, 73_760, 82_430], (3_098, 300, 1)),
}


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("level", COUNTS)
def test_the_real_files_have_the_published_counts(level):
    tokens, lengths, shape = COUNTS[level]
    corpus = ptb.load(level, download=False)
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == lengths
    assert set(corpus.train.tolist()) == set(range(len(corpus.vocabulary)))  # the training stream has every one
    task = create(f"ptb-{level}", download=False)
    assert (task.train.inputs.shape, task.tokens, task.output_size) == (shape, tokens, tokens)
    assert np.array_equal(task.test.inputs[-1][1:, 0], task.test.targets[-1, :-1])
