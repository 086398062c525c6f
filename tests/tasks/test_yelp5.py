"""Yelp's reviews in the official form, one JSON document a line, in everything that they come packed in."""

import gzip
import json

import numpy as np
import pytest
from archives import put, tarred, zipped

from dynlab.errors import UserError
from dynlab.tasks import create, yelp5

NAME = yelp5.REVIEWS[0]
# stars and text: three reviews train, two test, what comes after is not read
TEXTS = [
    (5.0, "Good food, GOOD people!"),
    (1.0, "Don't go. The food…\n\nis cold"),
    (4.0, "good (very good) café nº 1"),
    (2.0, "people don't know"),
    (3.0, ""),
    (9.0, "not read any more"),
]


def line(stars, text):
    facts = {"review_id": "KU_O5udG6zpxOg-VcAEodg", "user_id": "mh_-eMZ6K5RLWhZyISBhwA", "stars": stars}
    return (json.dumps(facts | {"useful": 0, "text": text, "date": "2018-07-07 22:09:11"}) + "\n").encode()


LINES = b"".join(line(*review) for review in TEXTS)


@pytest.fixture(autouse=True)
def small(alone, monkeypatch):
    monkeypatch.setattr(yelp5, "TRAIN", 3)
    monkeypatch.setattr(yelp5, "TEST", 2)


def packed(lines, mode="w", name=NAME):
    return tarred({"yelp_academic_dataset_business.json": b"{}\n", name: lines}, mode)


FORMS = {
    NAME: lambda lines: lines,
    "review.json.gz": gzip.compress,
    "yelp_dataset.tgz": lambda lines: packed(lines, "w:gz", "dataset/review.json"),
    "Yelp-JSON.zip": lambda lines: zipped({"Agreement.pdf": "x", "yelp_dataset.tar": packed(lines)}, "Yelp JSON/"),
}


def words(reviews, vocabulary):
    return [" ".join(vocabulary[token] for token in review) for review in reviews]


WORDS = ["good food good people", "don't go the food is cold", "good very good café nº 1", "people don't <unknown>", ""]
# by how often they come in the first three, of the same number the first to come first
VOCABULARY = ("good", "food", "people", "don't", "go", "the", "is", "cold", "very", "café", "nº", "1")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(form, tmp_path):
    reviews, stars, vocabulary, source = yelp5.load(put(tmp_path, {f"yelp/{form}": FORMS[form](LINES)}), 300)
    assert vocabulary == ["<padding>", "<unknown>", *VOCABULARY]
    assert words(reviews, vocabulary) == WORDS
    assert stars.tolist() == [5, 1, 4, 2, 3]
    assert source["origin"] == form


def test_only_the_reviews_that_are_asked_for_are_read_and_the_checksum_is_theirs(monkeypatch, tmp_path):
    put(tmp_path / "one", {NAME: LINES})
    put(tmp_path / "other", {NAME: LINES[: -len(line(*TEXTS[-1]))] + b"no review\n"})
    one, other = (yelp5.load(tmp_path / name, 300)[-1]["sha256"] for name in ("one", "other"))
    monkeypatch.setattr(yelp5, "TEST", 1)
    assert one == other != yelp5.load(tmp_path / "one", 300)[-1]["sha256"]
    for count, folder, sentence in ((4, "one", "it has 6 reviews, not 7"), (3, "other", "cannot be read as Yelp")):
        monkeypatch.setattr(yelp5, "TEST", count)
        with pytest.raises(UserError, match=sentence):
            yelp5.load(tmp_path / folder, 300)


def test_the_vocabulary_has_the_most_frequent_words_and_two_tokens_more(monkeypatch, tmp_path):
    monkeypatch.setattr(yelp5, "VOCABULARY", 5)
    reviews, _, vocabulary, _ = yelp5.load(put(tmp_path, {NAME: LINES}), 300)
    assert vocabulary == ["<padding>", "<unknown>", "good", "food", "people"]
    assert words(reviews, vocabulary)[1] == "<unknown> <unknown> <unknown> food <unknown> <unknown>"


@pytest.mark.parametrize("length", [3, 300])
def test_reviews_have_their_first_words_after_padding(length, tmp_path):
    task = create("yelp5", data_dir=put(tmp_path, {NAME: LINES}), length=length, retrain=True)
    _, _, vocabulary, _ = yelp5.load(tmp_path, length)
    assert (len(task.train), len(task.test), task.input_size, task.output_size) == (3, 2, 1, 5)
    shown = [" ".join(vocabulary[int(token)] for token in row[:, 0]) for row in task.train.inputs[:]]
    for text, sentence in zip(shown, WORDS[:3], strict=True):
        first = sentence.split()[:length]
        assert text.split() == ["<padding>"] * (length - len(first)) + first
    assert (task.train.targets.tolist(), task.test.targets.tolist()) == ([4, 0, 3], [1, 2])
    assert np.array_equal(task.test.inputs[1], np.zeros((length, 1)))  # an empty review


def test_a_fifth_of_the_training_reviews_is_held_out_by_the_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(yelp5, "TRAIN", 100)
    put(tmp_path, {NAME: b"".join(line(1 + i % 5, f"word{i}") for i in range(102))})
    one, other = (create("yelp5", data_dir=tmp_path, seed=seed) for seed in (0, 1))
    assert (len(one.train), len(one.validation), len(one.test)) == (80, 20, 2)
    rows = [set(task.validation.inputs.numbers.tolist()) for task in (one, other)]
    assert rows[0] != rows[1]
    assert rows[0] | set(one.train.inputs.numbers.tolist()) == set(range(100))
    assert one.tokens == 102  # of all training reviews, held out or not
