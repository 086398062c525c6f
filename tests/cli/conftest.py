"""The figures that commands write, so that tests read what is drawn in them."""

import pytest

from dynlab.cli import output


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
