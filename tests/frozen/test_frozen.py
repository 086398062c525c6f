"""Three of the systems of numbers.json, and that the comparison can fail."""

import copy
import io
import json

import compare
import make
import pytest

KEPT = json.loads(make.NUMBERS.read_text())
SLOW = {"bifurcation", "phase_plane", "energy", "lyapunov_function", "box_bounds", "compare", "ernn_convergence"}


@pytest.mark.parametrize("name", ["W_diff", "rnn-har2-tanh", "ernn-har2-k1"])
def test_no_number_changed(name):
    out = io.StringIO()
    only = [option for one in KEPT[name] if one not in SLOW for option in ("--diagnostic", one)]
    assert compare.main(["--only", name, *only], out) == 0, out.getvalue()


def test_every_kind_of_change_is_seen():
    then = KEPT["henon"]["fixed_points"]["numbers"]
    now = copy.deepcopy(then)
    now["points"][0]["eigenvalue"]["values"][0] += 1e-6
    now["points"][1]["kind"] = "stable node"
    assert [text.split(":")[1].split()[-1] for text in compare.changed(then, now)[0]] == ["eigenvalue", "kind"]
    assert compare.changed(then, {"points": then["points"][:1]})[0] == ["points: point 1 (saddle) is missing"]
    exponents = KEPT["henon"]["lyapunov"]["numbers"]
    moved = copy.deepcopy(exponents)
    moved["exponent"]["values"][1] += 0.02  # within the errors of both
    assert compare.changed(exponents, moved)[0] == []
    moved["exponent"]["values"][1] += 0.1
    assert len(compare.changed(exponents, moved)[0]) == 1


def test_statuses():
    then = {"counts": {"stable node": 3, "undecided": 1}}
    assert compare.counts_changed(then, {"counts": {"stable node": 2, "undecided": 2}})[0] == []
    assert compare.counts_changed(then, {"counts": {"stable node": 3, "saddle": 1}})[0] == []
    assert len(compare.counts_changed(then, {"counts": {"stable node": 2, "saddle": 2}})[0]) == 1
