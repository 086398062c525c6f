"""No copy of a data set but the one that a test writes."""

import dataclasses
import hashlib

import pytest

from dynlab.tasks import official


@pytest.fixture
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNLAB_DATA", raising=False)
    monkeypatch.setattr(official, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(official.pooch, "retrieve", lambda *_, **__: pytest.fail("a download was tried"))


@pytest.fixture
def declare(alone, monkeypatch):
    """Make small files, by name to content, those of a data set, in its order of names."""

    def make(name, files):
        dataset = official.DATA_SETS[name]
        sums = {one: hashlib.sha256(files[one]).hexdigest() for one in dataset.files}
        monkeypatch.setitem(official.DATA_SETS, name, dataclasses.replace(dataset, files=sums))

    return make
