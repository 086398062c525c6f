"""What the version of commit c75991b wrote opens today, and says the same.

The commands that wrote it, in that version:

    dynlab train --system vanilla --set state_size=3 --task adding --task-set length=6 --task-set train_size=64
        --epochs 2 --keep-every 1 -o run; the same with --epochs 30 -o cut, killed in the third
    dynlab fixed-points run/network.pt --inputs noise:1.0 --starts 16 --certify --certificates . --save fixed-points.nc
    dynlab spectrum run/network.pt --inputs noise:1.0 --samples 2 --steps 4 --save spectrum.zarr
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import dynlab as dl
from dynlab import certificate_check
from dynlab.checkpoints import read
from dynlab.cli.main import run

OLD = Path(__file__).with_name("c75991b")
DRIVEN = ["--inputs", "noise:1.0", "--samples", "2", "--steps", "4", "--quiet"]


@pytest.fixture(scope="module")
def system():
    return dl.load(OLD / "run" / "network.pt")


def test_a_zarr_store_holds_what_is_computed_today_and_is_drawn(system):
    old = dl.open(OLD / "spectrum.zarr")
    today = dl.spectrum(system, dl.driving_inputs("noise:1.0", system, samples=2, steps=4).inputs)
    for name in old.data_vars:
        if name != "eigenvalue_error":  # a bound, which may become sharper
            np.testing.assert_allclose(old[name], today[name], rtol=1e-12, err_msg=name)
    assert json.loads(old.attrs["source"])["sha256"] == json.loads(today.attrs["source"])["sha256"]
    assert dl.plot_spectrum(old).figure.axes


def test_a_netcdf_file_holds_what_is_computed_today_and_is_drawn(system):
    old = dl.open(OLD / "fixed-points.nc")
    today = dl.fixed_points(system, dl.driving_inputs("noise:1.0", system).inputs, starts=16)
    np.testing.assert_allclose(old["fixed_point_state"], today["fixed_point_state"], atol=1e-12)
    np.testing.assert_allclose(old["eigenvalue"], today["eigenvalue"], atol=1e-12)
    assert all((old[name] == today[name]).all() for name in ("kind", "stable", "status"))
    assert dl.plot_fixed_points(old).figure.axes


def test_a_certificate_of_the_first_format_is_refused_in_a_sentence(capsys):
    """Its step was written by hand, in operations that traced steps do not have."""
    assert certificate_check.main([str(OLD / "fixed-point-0.json")]) == 2
    assert "this checks the format 'dynlab certificate 2', and the file has another one" in capsys.readouterr().err


def test_a_run_is_read_with_its_facts_and_followed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = read(OLD / "cut" / "last.ckpt")
    assert found.facts["global_step"] == 2
    assert found.readout is not None
    assert run(["spectrum", str(OLD / "run"), "--over", "step", *DRIVEN]) == 0
    assert "Over 2 checkpoints, steps 0 to 2" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The dirpath has changed")  # Lightning's: it knows the folder of then
def test_a_killed_training_goes_on_from_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OLD / "cut", "cut")
    assert run(["train", "-o", "cut", "--resume", "--quiet"]) == 0
    before, rows = ((folder / "metrics.csv").read_text().splitlines() for folder in (OLD / "cut", Path("cut")))
    assert (rows[0], len(rows)) == (before[0], 31)
    old, today = (np.array([line.split(",") for line in each[1:4]], dtype=float) for each in (before, rows))
    np.testing.assert_allclose(today, old, rtol=1e-6)  # other processors round the last digits otherwise
    assert dl.load(Path("cut", "network.pt")).state_size == 3
