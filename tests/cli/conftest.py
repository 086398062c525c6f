"""A folder of its own for every test of a command, what it refuses, and the figures that it writes."""

import json

import pytest

from dynlab import progress
from dynlab.cli import output
from dynlab.cli.main import run

PATIENCE = 3600.0  # seconds


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """However busy the machine is, nothing is said of what takes long."""
    monkeypatch.setattr(progress, "PATIENCE", PATIENCE)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder, capsys):
    """Run what ends with the exit code 2: one sentence says why, and nothing is printed or written."""

    def check(arguments, sentence):
        before = sorted(folder.rglob("*"))
        assert run(arguments) == 2
        said = capsys.readouterr()
        assert sentence in said.err
        assert len(said.err.strip().splitlines()) == 1
        assert "Traceback" not in said.err
        assert said.out == ""
        assert sorted(folder.rglob("*")) == before

    return check


@pytest.fixture
def printed_json(capsys):
    """Run what prints one strict JSON document, and give that; where it is to be quiet, nothing else is said."""

    def read(arguments):
        assert run(arguments) == 0
        said = capsys.readouterr()
        assert said.err == "" or "--quiet" not in arguments
        return json.loads(said.out, parse_constant=pytest.fail)

    return read


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
