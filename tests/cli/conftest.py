"""A folder of its own for every test of a command, and what it refuses."""

import json

import pytest

from dynlab.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder, capsys):
    """Run what ends with the exit code 2: a sentence says why, and nothing is printed or written."""

    def check(arguments, sentence):
        before = sorted(folder.rglob("*"))
        assert run(arguments) == 2
        said = capsys.readouterr()
        assert sentence in said.err
        assert "Traceback" not in said.err
        assert said.out == ""
        assert sorted(folder.rglob("*")) == before

    return check


@pytest.fixture
def printed_json(capsys):
    """Run what prints one strict JSON document, and give that."""

    def read(arguments, code=0):
        assert run(arguments) == code
        said = capsys.readouterr()
        assert said.err == "" or "--quiet" not in arguments
        return json.loads(said.out, parse_constant=pytest.fail)

    return read
