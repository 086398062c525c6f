"""Every analysis command: its numbers are those of the Python function, and its picture is written."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from torch import nn

import dynlab as dl
from dynlab.cli import COMMANDS
from dynlab.cli.analysis import AnalysisCommand
from dynlab.cli.main import run
from dynlab.errors import lookup

NOISE = "--inputs noise:0.5 --samples 2"
DRIVEN = f"{NOISE} --steps 12"


def inputs(steps=12):
    return {"inputs": dl.driving_inputs("noise:0.5", dl.load("gru.pt"), samples=2, steps=steps).inputs}


def of_gru(name, **options):
    return lambda: getattr(dl, name)(dl.load("gru.pt"), **options, **inputs())


# Command lines, each with the call that gives the same numbers; those after them are drawn.
LINES = {
    f"spectrum gru.pt {DRIVEN} --times 4": of_gru("spectrum", times=4),
    f"gradient gru.pt {DRIVEN}": of_gru("gradient"),
    f"lyapunov gru.pt -k 2 {DRIVEN}": of_gru("lyapunov", k=2),
    f"fixed-points gru.pt --starts 8 {DRIVEN}": of_gru("fixed_points", starts=8),
    f"lyapunov gru.pt --covariant -k 2 --transient 20 {NOISE} --steps 80": lambda: dl.covariant_vectors(
        dl.load("gru.pt"), k=2, transient=20, backward_transient=20, **inputs(80)
    ),
    "bifurcation --system logistic --parameter r --from 2.9 --to 3.1 --values 0": lambda: dl.bifurcation(
        dl.create("logistic"), parameter="r", lowest=2.9, highest=3.1, values=0
    ),
    f"gradient gru.pt --end-to-end {DRIVEN}": None,
    "lyapunov --system henon --steps 200": None,
    f"modes gru.pt --starts 8 -k 2 {DRIVEN}": None,
    f"geometry gru.pt --starts 8 --tangent 0 {DRIVEN}": None,
    "pseudospectrum --matrix -1,10;0,-2 --kind flow --grid 7 --steps 9": None,
    "basins --matrix plus --grid 9": None,
    "bifurcation --system henon --parameter a --from 0 --to 1 --second b -0.3 0.3 --grid 3": None,
    "energy --matrix zero --steps 20 --integrator euler --start 1,0": None,
    "stability --matrix diff": None,
    "compare gru.pt gru.pt --inputs noise:0.5 --samples 6": None,
    "phase --matrix diff": None,
    "box-bounds gru.pt --box 0.1 --states 8": None,
    "lyapunov-function --matrix diff --step-size 0.05": None,
    "ernn-manifold --steps 20": None,
    f"ernn-convergence ernn.pt {NOISE} --steps 5 --iterations 9 --times 2": None,
    f"check gru.pt {DRIVEN} --max-modulus 9 -o figures/check.png": None,
}


@pytest.fixture(autouse=True)
def networks(folder):
    torch.manual_seed(0)
    torch.save(nn.GRU(2, 4).state_dict(), "gru.pt")
    ernn = dl.create("ernn", input_size=2, state_size=4, length=5, rank=None, activation="tanh")
    dl.save_checkpoint(ernn, "ernn.pt")
    (folder / "figures").mkdir()


@pytest.mark.parametrize("arguments, call", LINES.items(), ids=[line.partition(" --")[0] for line in LINES])
def test_the_numbers_are_those_of_python_and_a_picture_is_written(arguments, call, folder, capsys):
    if arguments.startswith(("box-bounds", "lyapunov-function")):
        pytest.importorskip("flint")
    assert run([*arguments.split(), "--save", "numbers.nc", "--dpi", "30", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    ds = dl.open("numbers.nc")
    assert said.out.startswith(ds.attrs["verdict"])
    assert len(list((folder / "figures").glob("*.png"))) == 1
    if call is not None:
        direct = call()
        xr.testing.assert_equal(ds.drop_attrs(), direct.drop_attrs())


def test_every_analysis_command_is_run_above():
    made = {name for name, place in COMMANDS.items() if isinstance(lookup(COMMANDS, name, "command"), AnalysisCommand)}
    assert made - {"explore", "animate"} == {line.split()[0] for line in LINES}


def test_the_tables_of_linear_maps(capsys, monkeypatch):
    """h ← diag(0.5, 2) h has a saddle with |μ| = 2 and one growing direction; 0.5 and 0.25 decay in −1/ln μ steps."""
    monkeypatch.setenv("COLUMNS", "10000")  # whole headings
    how = ["--kind", "linear", "--save", "t.csv", "--overwrite", "--no-figure", "--matrix"]
    assert run(["fixed-points", *how, "0.5,0;0,2"]) == 0
    row = pd.read_csv("t.csv").iloc[0]
    assert set(row.index) <= set(re.split(r"\s{2,}|\n", capsys.readouterr().out))
    assert (row["h₁"], row["h₂"], row["kind"], row["largest |μ|"]) == (0, 0, "saddle", 2.0)
    assert row["growing directions"] == 1
    assert np.isnan(row["τ (steps)"])
    assert run(["modes", *how, "0.5,0;0,0.25"]) == 0
    np.testing.assert_allclose(pd.read_csv("t.csv")["τ (steps)"], [1 / np.log(2), 1 / np.log(4)])


def test_explore_writes_the_page_of_a_network_with_the_line_that_makes_it(folder, capsys):
    assert run(["explore", "gru.pt", *DRIVEN.split(), "--quiet"]) == 0
    page = (folder / f"figures/explore-{folder.name}-gru.html").read_text(encoding="utf-8")
    assert "dynlab explore gru.pt --inputs=noise:0.5 --samples=2 --steps=12" in page


@pytest.mark.parametrize(
    "what, known",
    [("systems", "lorenz"), ("tasks", "copying"), ("zoo", "gru-flipflop"), ("presets", "har2-ernn-k1")],
)
def test_lists(what, known, capsys, printed_json):
    assert run(["list", what]) == 0
    assert known in capsys.readouterr().out
    assert known in [entry["name"] for entry in printed_json(["list", what, "--json"])]


def test_inspect_lists_the_names_that_layer_takes(capsys, printed_json, monkeypatch):
    model = nn.ModuleDict({"encoder": nn.LSTM(3, 4, 2, bidirectional=True), "cell": nn.RNNCell(3, 5)})
    torch.save({"model": model.state_dict(), "epoch": 12, "hyper_parameters": {"lr": 0.1}}, "a.pt")
    systems = printed_json(["inspect", "a.pt", "--json"])["systems"]
    told = [(each["layer"], each["state_size"], each["step_input_size"], each["parameters"]) for each in systems]
    assert told == [  # 4·4·(3 + 4 + 2), and 4·4·(8 + 4 + 2) where both directions below drive it
        ("encoder:0", 8, 3, 144),
        ("encoder:0r", 8, 3, 144),
        ("encoder:1", 8, 8, 224),
        ("encoder:1r", 8, 8, 224),
        ("cell", 5, 3, 50),
    ]
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["inspect", "a.pt"]) == 0
    assert re.search("encoder:1r.*epoch=12, hyper parameters \\(lr=0.1\\)", capsys.readouterr().out, re.DOTALL)


def test_inspect_describes_a_system(capsys, printed_json):
    found = printed_json(["inspect", "--system", "lorenz", "--set", "rho=20", "--json"])
    assert (found["kind"], found["state_size"], found["input_size"], found["program"]) == ("flow", 3, 0, True)
    assert found["settings"]["rho"] == 20
    assert run(["inspect", "--system", "lorenz"]) == 0
    told = capsys.readouterr().out
    assert "settings: sigma=10.0, rho=28.0" in told
    assert "states: x, y, z\n" in told


def test_typed_equations_are_taken_by_every_command(capsys):
    assert run(["phase", "--flow", "y, -x + mu*y*(1 - x^2)", "--set", "mu=1", "--no-figure", "--quiet"]) == 0
    assert "0.5 ± 0.866i per second" in capsys.readouterr().out  # (μ ± √(μ² − 4))/2
    flip = ["--parameter", "r", "--from", "2.5", "--to", "3.2", "--values", "0", "--no-figure", "--quiet"]
    assert run(["bifurcation", "--map", "r*x*(1 - x)", "--set", "r=3", *flip]) == 0
    assert "at r = 3 " in capsys.readouterr().out
