"""Files and text of a command: nothing is overwritten in silence, JSON is strict, text is plain."""

import subprocess
import sys

import numpy as np
import torch
import xarray as xr
from PIL import Image
from torch import nn

import dynlab as dl
from dynlab.cli.main import run

SPECTRUM = ["spectrum", "--matrix", "diff", "--steps", "20", "--quiet", "--dpi", "30"]


def test_a_default_picture_never_replaces_another(folder):
    (folder / "one").mkdir()
    torch.save(nn.GRU(2, 3).state_dict(), folder / "one" / "best.pt")
    driven = ["--inputs", "noise:1", "--steps", "5", "--quiet", "--dpi", "30"]
    for line in (SPECTRUM, SPECTRUM, ["gradient", "one/best.pt", *driven]):
        assert run(line) == 0
    names = {path.name for path in (folder / "figures").iterdir()}
    assert names == {"gradient-one-best.png", "spectrum-diff.png", "spectrum-diff-2.png"}


def test_files_are_replaced_only_where_that_is_asked(folder, refused, capsys):
    (folder / "a.png").write_text("kept")
    refused([*SPECTRUM, "-o", "a.png"], "a.png exists: add --overwrite")
    assert run([*SPECTRUM, "-o", "a.png", "--overwrite", "--size", "6", "4", "--theme", "dark"]) == 0
    with Image.open("a.png") as picture:
        assert picture.size == (180, 120)
        assert sum(picture.convert("RGB").getpixel((0, 0))) < 200
    capsys.readouterr()
    torch.save(nn.GRU(2, 3).state_dict(), "m.pt")
    inputs = dl.driving_inputs("noise:1.0", dl.load("m.pt"), samples=2, steps=5).inputs
    xr.Dataset({"inputs": (("sample", "time", "input"), np.asarray(inputs))}).to_netcdf("x.nc")
    again = ["gradient", "m.pt", "--inputs", "x.nc", "--save", "x.nc", "--overwrite", "--quiet"]
    refused(again, "x.nc is read by this command")


def test_json_is_a_summary_and_with_arrays_has_all_numbers(folder, printed_json):
    short, whole = (printed_json([*SPECTRUM, "--json", "--no-figure", *more]) for more in ([], ["--arrays"]))
    assert short["variables"].keys() == whole["variables"].keys()
    left = {name: entry for name, entry in short["variables"].items() if "values" not in entry}
    assert any("least" in entry for entry in left.values())
    for name, entry in left.items():
        assert len(whole["variables"][name]["values"]) == entry["shape"][0]
    assert list(folder.iterdir()) == []  # no figure


def test_a_terminal_without_greek_letters_gets_escapes_and_a_closed_pipe_changes_no_exit_code(folder):
    command = [sys.executable, "-m", "dynlab"]
    latin = {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*command, "figure", "--help"], capture_output=True, env=latin, check=True)
    assert b"W\\u2080" in done.stdout
    closed = f"{' '.join(command)} completion bash | true; echo ${{PIPESTATUS[0]}}"
    piped = subprocess.run(["bash", "-c", closed], capture_output=True, text=True)
    assert piped.stdout == "0\n"
    assert "Traceback" not in piped.stderr


def test_an_infinite_end_is_null_in_json(folder, printed_json):
    torch.save({"weight_ih_l0": torch.zeros(2, 1), "weight_hh_l0": torch.zeros(2, 2)}, "dead.pt")
    found = printed_json(["gradient", "dead.pt", "--inputs", "noise:1.0", "--steps", "40", "--json", "--no-figure"])
    assert found["variables"]["log_norm"]["least"] is None
    assert found["variables"]["log_norm"]["largest"] == 0
