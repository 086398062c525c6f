"""Exit codes and output whatever becomes of it: closed pipes, full disks, poor encodings, names made to mislead."""

import io
import os
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
import torch
from torch import nn

from dynlab.cli import streams
from dynlab.cli.main import run

PROGRAM = [sys.executable, "-m", "dynlab"]


def shell(command, **settings):
    """What a line of bash prints, with the exit code of each of its parts in the end."""
    line = f"{command}; echo codes ${{PIPESTATUS[*]}}"
    environment = os.environ | {"D": " ".join(PROGRAM)} | settings
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=environment, timeout=120)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


@pytest.fixture
def violated(tmp_path):
    torch.manual_seed(0)
    torch.save(nn.GRU(2, 3).state_dict(), tmp_path / "m.pt")
    return "$D check m.pt --inputs noise:1 --steps 4 --samples 1 --max-modulus 0.001 -o a.png --overwrite"


@pytest.mark.parametrize(
    "line, code",
    [
        ("$D systems | head -0", 0),
        ("$D zoo | head -1", 0),
        ("$D --help | head -0", 0),
        ("$D nothing 2>&1 | head -0", 2),
    ],
)
def test_a_closed_pipe_changes_no_exit_code(line, code):
    out, err = shell(line)
    assert out.splitlines()[-1] == f"codes {code} 0"
    assert "Traceback" not in err


@pytest.mark.parametrize("more", ["2>&1 | head -0", "--json | head -c 5"])
def test_a_violated_bound_is_told_to_whoever_does_not_read_it(violated, more):
    out, _ = shell(f"{violated} {more}")
    assert out.splitlines()[-1].endswith("codes 1 0")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("line", ["$D zoo", "$D zoo --json", "$D --version"])
def test_output_that_finds_no_room_is_a_sentence(line):
    out, err = shell(f"{line} > /dev/full")
    assert out == "codes 2\n"
    assert err == "dynlab: Standard output could not be read or written: No space left on device.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("lost", ["2>&-", ">&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    "line, code, begins",
    [
        ("$D explore --matrix diff -o a.html", 0, {"a.html": b"<!do"}),
        ("$D spectrm", 2, {}),
        ("{violated}", 1, {"a.png": b"\x89PNG"}),
    ],
)
def test_a_standard_error_that_takes_nothing_changes_neither_code_nor_files(
    line, code, begins, lost, violated, tmp_path
):
    out, _ = shell(f"cd {tmp_path}; ( {line.format(violated=violated)} {lost} ); printf '%s ' $?")
    assert out.split("codes")[0].split()[-1] == str(code)
    assert {path.name: path.read_bytes()[:4] for path in tmp_path.glob("a.*")} == begins


def test_a_backend_that_is_none_is_not_asked(tmp_path):
    assert shell(f"cd {tmp_path}; $D phase --matrix diff -o a.png", MPLBACKEND="nope")[0].endswith("codes 0\n")


def test_output_that_was_closed_before_is_no_error():
    assert shell("$D zoo >&- 2>&-")[0] == "codes 0\n"


def test_every_encoding_can_say_the_verdict(tmp_path, monkeypatch):
    out, err = shell("$D phase --quiet -o a.png", PYTHONIOENCODING="ascii")
    assert err == ""
    assert "at epsilon = 0.1" in out
    with open(tmp_path / "said", "w", encoding="cp1252") as said:
        monkeypatch.setattr(sys, "stdout", streams.lasting(said))
        assert run(["phase", "--quiet", "-o", "b.png"]) == 0
        sys.stdout.flush()
    told = (tmp_path / "said").read_text(encoding="cp1252")
    assert "at epsilon = 0.1" in told
    assert "\\u" not in out + told


def test_every_letter_that_dynlab_writes_has_a_plain_one():
    """But for combining marks, which stand over a letter."""
    root = Path(streams.__file__).parents[1]
    texts = (file.read_text() for folder in ("dynlab", "cli") for file in (root / folder).rglob("*.py"))
    letters = {
        letter for text in texts for letter in text if not letter.isascii() and not unicodedata.combining(letter)
    }
    assert len(letters) > 50
    assert [letter for letter in sorted(letters) if "\\" in streams._plain(letter)] == []


@pytest.mark.parametrize(
    "text, plain",
    [
        ("ε λ Λ σ", "epsilon lambda Lambda sigma"),
        ("‖∂h‖ ≤ −1 → ∞", "||dh|| <= -1 -> inf"),
        ("h₀²", "h02"),
        ("\udcff字", r"\udcff\u5b57"),
    ],
)
def test_letters_that_an_encoding_lacks_have_plain_ones(text, plain):
    raw = io.BytesIO()
    streams.lasting(None)
    stream = io.TextIOWrapper(raw, "ascii", streams.FALLBACK)
    stream.write(text)
    stream.flush()
    assert raw.getvalue().decode() == plain


def hears_interrupts():
    """A shell that runs the tests behind it ignores interrupts, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    "number, code, said", [(signal.SIGTERM, 143, "Terminated."), (signal.SIGINT, 130, "Interrupted.")]
)
def test_a_command_that_is_told_to_end_says_so_and_leaves_nothing_half_done(tmp_path, number, code, said):
    torch.save(nn.GRU(2, 3).state_dict(), tmp_path / "m.pt")
    command = [
        *PROGRAM,
        "lyapunov",
        "m.pt",
        "--inputs",
        "noise:1",
        "--steps",
        "200000",
        "--samples",
        "1",
        "--data",
        "a.nc",
    ]
    started = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hears_interrupts,
    )
    for line in started.stderr:
        if line.startswith("Carrying"):
            break
    time.sleep(0.5)
    started.send_signal(number)
    try:
        assert started.communicate(timeout=60)[1].strip().endswith(said)
    finally:
        started.kill()
    assert started.returncode == code
    assert not (tmp_path / "a.nc").exists()
    assert not list(tmp_path.glob("*.partial"))


LOSES = """
import ctypes, os, signal, threading, time
from dynlab.cli import signals
{how}
signals.hear()
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    lose()
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""
IN_A_CALLBACK = "lose = ctypes.CFUNCTYPE(None)(lambda: time.sleep(1))"
PUT_AWAY = "class Slow:\n    def __del__(self):\n        time.sleep(1)\nlose = lambda: Slow() and None"


@pytest.mark.parametrize("how", [IN_A_CALLBACK, PUT_AWAY], ids=["in a callback of C", "while an object is put away"])
def test_an_interrupt_that_python_drops_comes_again(how):
    script = LOSES.format(how=how)
    heard = {"preexec_fn": hears_interrupts, "timeout": 50}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, **heard)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


ESCAPES = ["\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\u202e", "\r", "\x7f", "\u2028"]


@pytest.mark.parametrize("escape", ESCAPES, ids=ascii)
def test_what_a_terminal_would_obey_is_shown_as_it_is_written(tmp_path, capsys, escape):
    weights = {f"net{escape}x.{name}": value for name, value in nn.RNN(2, 3).state_dict().items()}
    name = f"m{escape}.pt"
    torch.save(
        {"state_dict": weights, f"rate{escape}": f"0.1{escape}\n", "hyper_parameters": {escape: [escape]}},
        tmp_path / name,
    )
    made = ["--inputs", "noise:1", "--steps", "3", "--samples", "1"]
    calls = [
        ["inspect", name],
        ["inspect", name, "--json"],
        ["spectrum", name, *made, "--data", f"d{escape}.nc"],
        ["nothing" + escape],
    ]
    for call in [
        *calls,
        ["spectrum", name, *made, "--layer", escape],
        ["spectrum", name, *made, "--inputs", f"{escape}.npy"],
    ]:
        run(call)
        said = capsys.readouterr()
        assert escape not in said.out + said.err


def test_a_figure_is_named_after_a_layer_but_lies_where_figures_lie(tmp_path):
    strange = ["a/../../../escaped", "/etc/passwd", "..", "x" * 3000, "$x_{", "a:1", "[/red]"]
    for name in strange:
        torch.save({f"{name}.{key}": value for key, value in nn.RNN(2, 3).state_dict().items()}, tmp_path / "m.pt")
        call = ["spectrum", "m.pt", "--inputs", "noise:1", "--steps", "3", "--samples", "1", "--layer", name, "--quiet"]
        assert run(call) == 0
    assert len(list((tmp_path / "figures").iterdir())) == len(strange)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "m.pt"]
    assert not (tmp_path.parent / "escaped.png").exists()


@pytest.mark.parametrize("written", ["x.nc", "link.nc", "./x.nc"])
def test_what_is_read_is_not_written_to(tmp_path, refused, written):
    import numpy as np
    import xarray as xr

    torch.save(nn.GRU(2, 3).state_dict(), tmp_path / "m.pt")
    xr.Dataset({"u": (("sample", "time", "input"), np.zeros((2, 4, 2)))}).to_netcdf(
        tmp_path / "x.nc", engine="h5netcdf"
    )
    (tmp_path / "link.nc").symlink_to("x.nc")
    refused(["spectrum", "m.pt", "--inputs", "x.nc", "--data", written, "--overwrite"], "is read by this command")


def test_thousands_of_layers_are_no_sentence_of_thousands_of_names(tmp_path, refused):
    layer = nn.RNN(1, 1).state_dict()
    torch.save({f"layer{n}.{key}": value for n in range(2000) for key, value in layer.items()}, tmp_path / "m.pt")
    refused(["spectrum", "m.pt", "--inputs", "noise:1"], "(`dynlab inspect` lists all 2,000)")
    refused(["spectrum", "m.pt", "--inputs", "noise:1", "--layer", "lay"], "dynlab inspect lists the 2000")
