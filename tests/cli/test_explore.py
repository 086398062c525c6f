"""`dynlab explore`: the page that it writes, and how it ends on bad input."""

import pytest

from dynlab.cli.main import run
from dynlab.explore import explorer_page
from dynlab.explore.states import planar_fragment


def test_it_writes_the_page(folder, capsys):
    assert run(["explore"]) == 0
    assert (folder / "figures/explore-phase-plane.html").read_text(encoding="utf-8") == explorer_page()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Page: figures/explore-phase-plane.html\n")


def test_it_opens_with_what_is_named(folder, printed_json):
    words = [
        "explore",
        "--matrix",
        "0,1;-1,0",
        "--step",
        "0.05",
        "--start",
        "1,0",
        "-o",
        "class.html",
        "--json",
        "--quiet",
    ]
    assert printed_json(words)["files"] == {"page": "class.html", "data": None}
    fragment = planar_fragment("0,1;-1,0", step_size=0.05, starts=[(1.0, 0.0)])
    assert (folder / "class.html").read_text(encoding="utf-8") == explorer_page(fragment)


def test_it_opens_with_another_integrator(folder):
    assert run(["explore", "--matrix", "zero", "--integrator", "rk4", "-o", "a.html", "--quiet"]) == 0
    fragment = planar_fragment("zero", integrator="rk4")
    assert "integrator=rk4" in fragment
    assert (folder / "a.html").read_text(encoding="utf-8") == explorer_page(fragment)


def test_it_opens_in_a_state_of_its_own_links(folder):
    assert run(["explore", "--state", "a.html#gamma=0.3", "-o", "b.html", "--quiet"]) == 0
    assert (folder / "b.html").read_text(encoding="utf-8") == explorer_page("gamma=0.3")


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--state", "gama=1"], "did you mean 'gamma'"),
        (["--state", "W=1"], "W of an explorer's link takes 4"),
        (["--state", "gamma=1", "--matrix", "diff"], "leave out the other options"),
        (["--state", "networkStep=1"], "name CKPT too"),
        (["gru-flipflop", "--state", "networkStep=1.5"], "is a whole number"),
        (["gru-flipflop", "--state", "gamma=abc"], "takes 1 number(s)"),
        (["--matrix", "1,2"], "not square"),
        (["--matrix", "diff", "--step", "nan"], "must be a positive number"),
        (["--matrix", "diff", "--steps", "30000"], "at most 20,000 steps"),
        (["--steps", "10"], "--matrix diff"),
        (["--integrator", "rk4"], "--matrix diff"),
        (["gru-flipflop", "--integrator", "rk4"], "a network is run by its own steps"),
        (
            ["--matrix", "diff", "--kind", "vanilla", "--integrator", "rk4"],
            "A vanilla system is no step of an integrator",
        ),
        (["-o", "page.png"], "ends in .html"),
        (["--data", "numbers.nc"], "--data saves what is computed of a checkpoint"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, refused):
    refused(["explore", *words], sentence)
