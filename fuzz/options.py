"""Random combinations of options of every command, on small networks, in a folder with files of somebody else's."""

import functools
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import checkpoints
import click
import numpy as np
import torch
from reader import Reader, Wrong
from torch import nn

from dynlab.cli import COMMANDS
from dynlab.cli.main import group, run
from dynlab.errors import UserError

LONG = {"demo", "figure", "--recompute"}  # what takes minutes whatever else is given
SECONDS = 60  # of the processor, for one command on a small network
LEFT_ALONE = dict.fromkeys(("notes.txt", "photo.png", "mine.nc", "mine.zarr/notes.txt", "run/x.txt"), b"mine")
WORDS = ("", "x", "-1", "nan", "1e400", "é\x1b[31m", "a/../../b", "9" * 400, "\udc80", "[1", "0x10", "1,2", "--json")
WHOLE, REAL = ("1", "2", "3", "5", "9"), ("0.1", "1", "2.5", "-1", "0", "10")
HUGE = ("0", "-3", "1000000000", "99999999999999999999", "nan", "inf", "-inf", "1e-320", "1e300", "x")
SUBJECTS = (
    *([name] for name in "net.pt own.pt gru-flipflop anti.pt run/one.ckpt run notes.txt mine.zarr none.pt".split()),
    *(["--matrix", "diff"], ["--matrix", "0,1;-1,0"], ["--matrix", "1,2,3;4,5,6;7,8,9"], ["--matrix", "x"]),
    *(["--system", "lorenz"], ["--system", "henon"], ["--system", "logistic", "--set", "r=3.9"], ["--system", "ernn"]),
    *(["net.pt", "own.pt"], ["net.pt", "--system", "lorenz"], [], ["--system", "linear", "--set", "A=[[0,1],[-1,0]]"]),
    *(["own.pt", "--layer", "x"], ["net.pt", "--layer", ":1"], ["net.pt", "--nonlinearity", "relu"]),
)
NAMED = {
    "--inputs": "noise:0.5 zero constant:0.1,0.2 x.npy mine.nc task:adding noise:-1 noise:nan task:x none.npz".split(),
    "--start": ("0,1", "1", "0.1,0.2,0.3", "nan,1", "1e300,1"),
    "--at": ("zero", "mean", "0.1,0.2", "1", "nan"),
    "--output": "f.png f.svg f.pdf f.html photo.png new/f.png f.xyz mine.zarr .png notes.txt".split(),
    "--data": ("d.nc", "d.zarr", "mine.nc", "mine.zarr", "x.npy", "new/d.nc", "d.txt", "x.nc"),
    "--junit": ("j.xml", "notes.txt", "photo.png", "new/j.xml"),
    "--certificates": ("proofs", "run", "notes.txt"),
    "--set": ("state_size=2", "rho=28", "input_size=1", "K=2", "x", "rho=x", "state_size=1000000000", "=", "sigma=nan"),
    "--task": ("adding", "sine", "copying", "x"),
    "--task-set": ("length=12", "train_size=20", "delay=5", "length=-1", "x=1"),
    "--device": ("cpu", "cuda", "mps", "meta", "x"),
    "--size": ("8x5", "2x2", "0x0", "x", "1e9x1"),
    "--parameter": ("r", "rho", "a", "step_size", "x", "input_size"),
    "--second": ("sigma", "b", "x"),
    "--box": ("1", "-1,1", "0.1", "x"),
    "--state": ("0", "0,1", "x"),
    "--optimizer": ("adam", "sgd", "x"),
    "--data-dir": (".", "none", "notes.txt"),
    "--preset": ("x", "tutorial-sine"),
    "--augment": ("x", ""),
    "--steps": ("5", "20", "60"),
    "--samples": ("1", "2", "3"),
}
ALWAYS = {
    "train": "--system rnn --task adding --task-set length=5 --task-set train_size=40 --epochs 1 -o out".split(),
    "animate": ["--frames", "3"],
    "compare": ["--steps", "20", "--samples", "6"],
    "lyapunov": ["--steps", "100"],
    "bifurcation": ["--values", "5", "--starts", "3"],
    "basins": ["--grid", "5"],
    "pseudospectrum": ["--grid", "5"],
}


def value(draw: Random, option: click.Parameter) -> str:
    """For an option, most often one that it takes."""
    name = next((each for each in option.opts if each.startswith("--")), option.opts[0])
    if draw.random() < 0.06:
        return draw.choice(WORDS)
    if name in NAMED:
        return draw.choice(NAMED[name])
    if isinstance(option.type, click.Choice):
        return str(draw.choice(list(option.type.choices)))
    if draw.random() < 0.12:
        return draw.choice(HUGE)
    return draw.choice(REAL if isinstance(option.type, click.types.FloatParamType) else WHOLE)


def make(draw: Random) -> bytes:
    """An input: the arguments of `dynlab`, as JSON."""
    name = draw.choice([each for each in COMMANDS if each not in LONG])
    command = group.get_command(click.Context(group), name)
    own = (
        [each for each in command.params if each.opts[0].startswith("-") and each.opts[0] not in LONG]
        if command
        else []
    )
    argued = [each for each in command.params if not each.opts[0].startswith("-")] if command else []
    arguments = [name]
    if argued and argued[0].name == "name":
        arguments.append(draw.choice(("audit", "ernn-2", "har2", "x", "")))
    elif argued or "--matrix" in {each.opts[0] for each in own}:
        arguments += draw.choice(SUBJECTS)
    chosen = draw.sample(own, min(len(own), draw.choice((0, 1, 2, 3, 4, 6))))
    for option in chosen:
        flag = draw.choice(option.opts)
        arguments += [flag] if getattr(option, "is_flag", False) else [flag, value(draw, option)]
    return json.dumps(arguments + [each for each in ALWAYS.get(name, []) if each not in arguments]).encode()


@functools.cache
def files() -> dict[str, bytes]:
    """What lies in the folder."""
    torch.manual_seed(0)
    from dynlab.checkpoints.document import document
    from dynlab.systems import create

    step = {"global_step": 7, "pytorch-lightning_version": "2.5.0", "state_dict": nn.GRU(2, 3).state_dict()}
    given = io.BytesIO()
    np.save(given, np.ones((2, 5, 2)))
    return LEFT_ALONE | {
        "net.pt": checkpoints.saved(nn.LSTM(2, 3).state_dict()),
        "own.pt": checkpoints.saved(document(create("vanilla", input_size=2, state_size=3), nn.Linear(3, 2), "adding")),
        "anti.pt": checkpoints.saved(document(create("antisymmetric", input_size=2, state_size=3))),
        "run/one.ckpt": checkpoints.saved(step),
        "run/two.ckpt": checkpoints.saved(step | {"global_step": 9}),
        "x.npy": given.getvalue(),
    }


def child(arguments: list[str], folder: Path) -> None:
    """Run the command in that folder, and end with its code."""
    os.chdir(folder)
    for number, name in ((1, "said"), (2, "told")):
        os.dup2(os.open(folder.with_name(f"{folder.name}.{name}"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def read(path: Path) -> None:
    """Run the command in a copy of this process, and hold what it leaves to what dynlab promises."""
    arguments = json.loads(path.read_bytes())
    top = Path(tempfile.mkdtemp())
    folder = top / "work"
    try:
        for name, content in files().items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        process = os.fork()
        if not process:
            try:
                child(arguments, folder)
            finally:
                os._exit(99)
        _, status = os.waitpid(process, 0)
        said, told = ((top / f"work.{name}").read_bytes().decode("utf-8", "replace") for name in ("said", "told"))
        judge(arguments, folder, os.waitstatus_to_exitcode(status), said, told)
    finally:
        shutil.rmtree(top)


def judge(arguments: list[str], folder: Path, code: int, said: str, told: str) -> None:
    """Raise where an end is not one that dynlab promises."""
    shown = " ".join(arguments)
    if code == -signal.SIGXCPU:
        raise Wrong(f"{shown}: more than {SECONDS} s of the processor")
    if code not in ({0, 1, 2, 4} if arguments[0] == "check" else {0, 2}) or "Traceback" in told:
        raise Wrong(f"{shown}: exit code {code}\n{told[-1500:]}")
    replaced = "--overwrite" in arguments
    for name, content in files().items():
        named = replaced and name in arguments
        if not named and (not (folder / name).is_file() or (folder / name).read_bytes() != content):
            raise Wrong(f"{shown}: {name} was changed or removed")
    left = [each for each in folder.rglob("*") if each.name.endswith((".partial", ".old")) or each.stat().st_size == 0]
    if [each for each in left if each.is_file()]:
        raise Wrong(f"{shown}: left {left}")
    if code == 2:
        lines = [line for line in told.strip().splitlines() if line]
        if said or not lines:
            raise Wrong(f"{shown}: said {said[:300]!r} and {told[-500:]!r} with the exit code 2")
        raise UserError(lines[-1])
    if "--json" in arguments and "--help" not in arguments:
        try:
            json.loads(said, parse_constant=refused)
        except ValueError as error:
            raise Wrong(f"{shown}: no JSON on standard output: {said[:300]!r}") from error


def refused(text: str) -> Any:
    """JSON has no such number."""
    raise ValueError(text)


def prepare() -> None:
    """Import what commands import."""
    import lightning  # noqa: F401
    import matplotlib.pyplot  # noqa: F401

    for name in COMMANDS:
        group.get_command(click.Context(group), name)


READERS = [Reader("options", ".json", make, read, prepare)]
