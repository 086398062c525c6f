"""No copy of a data set but the one that a test writes."""

import pytest

from dynlab.tasks import official


@pytest.fixture
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNLAB_DATA", raising=False)
    monkeypatch.setattr(official, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(official.pooch, "retrieve", lambda *_, **__: pytest.fail("a download was tried"))
