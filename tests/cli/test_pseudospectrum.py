"""`dynlab pseudospectrum`: of a matrix and of a network, and one sentence for what is wrong."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.cli.main import run


def test_a_matrix(folder, capsys, pictures):
    assert run(["pseudospectrum", "--matrix", "-1,10;0,-2", "--kind", "flow", "--grid", "21"]) == 0
    assert "‖exp(tA)‖ grows to at least 2.56" in capsys.readouterr().out
    plane = pictures["pseudospectrum--1_10_0_-2-flow.png"].axes[0]
    (values,) = [line.get_xdata() for line in plane.lines if line.get_label() == "eigenvalues"]
    assert sorted(values) == [-2.0, -1.0]


@pytest.mark.parametrize("kind", [[], ["--kind", "flow"]], ids=["map", "flow"])
def test_a_network_at_a_step(kind, printed_json):
    options = ["--at-step", "5", *kind, "--grid", "5", "--steps", "5", "--json", "--quiet"]
    document = printed_json(["pseudospectrum", "antisymmetric-har2", *options])
    part = document["variables"]["eigenvalue"]["values"]
    found = np.array(
        [complex(*pair) if isinstance(pair, list) else complex(pair["real"], pair["imag"]) for pair in part]
    )
    system = dl.load("antisymmetric-har2")
    ds = dl.spectrum(system, dl.driving_inputs(None, system, samples=16).inputs[:1], times=128)
    assert "With A held fixed, ‖" in document["verdict"]
    name = "flow_eigenvalue" if kind else "eigenvalue"
    expected = ds[name].sel(time=5).values[0]
    np.testing.assert_allclose(np.sort(found.imag), np.sort(expected.imag), atol=1e-9)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "Got nothing to look at"),
        (["--matrix", "1,2"], "not square"),
        (["--matrix", "diff", "--at-step", "3"], "--at-step is of a sequence"),
        (["rnn-har2", "--at-step", "500"], "from 1 to the sequence's 128"),
        (["rnn-har2", "--kind", "flow"], "no Euler step"),
        (["--matrix", "diff", "--grid", "9000"], "--grid of at most 4,096"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["pseudospectrum", *options, "--quiet"], sentence)
