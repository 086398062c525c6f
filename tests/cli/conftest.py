"""The figures that commands write, so that tests read what is drawn in them."""

import pytest

from dynlab import progress
from dynlab.cli import output

PATIENCE = 3600.0  # seconds


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """What standard error says where something takes long is not said here, however busy the machine is."""
    monkeypatch.setattr(progress, "PATIENCE", PATIENCE)


@pytest.fixture
def pictures(monkeypatch):
    """Every figure that was written, by the name of its file."""
    found, save = {}, output.save_figure

    def kept(figure, path, **options):
        save(figure, path, **options)
        assert path.is_file()
        found[path.name] = figure

    monkeypatch.setattr(output, "save_figure", kept)
    return found
