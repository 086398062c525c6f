"""`dynlab systems`: every system of the table, with what is true of it."""

import json

import pytest

from dynlab.cli.main import run
from dynlab.systems import SYSTEMS


@pytest.fixture
def listed(capsys):
    assert run(["systems", "--json", "--inputs", "9", "--units", "80"]) == 0
    return {one["name"]: one for one in json.loads(capsys.readouterr().out, parse_constant=pytest.fail)}


def test_every_system_is_listed_in_its_order(listed):
    assert list(listed) == list(SYSTEMS)
    assert [one["what"] for one in listed.values() if not one["what"]] == []


@pytest.mark.parametrize(
    "name, kind, parameters",
    # torch's own counts: n (m + n + 2) for each of 1, 4 and 3 gates; a skew matrix, V and b of the AntisymmetricRNN
    [
        ("rnn", "map", 80 * 91),
        ("lstm", "map", 4 * 80 * 91),
        ("gru", "map", 3 * 80 * 91),
        ("antisymmetric", "map", 80 * 79 // 2 + 80 * 9 + 80),
        ("lorenz", "flow", 0),
    ],
)
def test_kinds_and_counts_are_those_of_the_formulas(listed, name, kind, parameters):
    assert (listed[name]["kind"], listed[name]["parameters"]) == (kind, parameters)


def test_what_is_bounded_and_what_is_a_setting(listed):
    assert [name for name in ("rnn", "gru", "lorenz", "feedback") if listed[name]["bounded"]] == ["rnn", "gru"]
    assert listed["henon"]["settings"] == {"a": 1.4, "b": 0.3}
    assert listed["gru"]["settings"]["hidden_size"] is None
    assert listed["kru"]["parameters"] is None  # no power of two


def test_the_table_has_a_row_for_each(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")
    assert run(["systems"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[2 : 2 + len(SYSTEMS)]] == list(SYSTEMS)
