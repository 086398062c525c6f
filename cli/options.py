"""The options that commands share: what is looked at, what drives it, what is held, where to compute, what is written.

Each is spelled here once, by the name of the argument that it becomes. A command names the sets that it takes
(`dynlab.cli.analysis`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dynlab

Command = Callable[..., Any]
Options = dict[str, tuple[tuple[str, ...], dict[str, Any]]]  # by the argument: its flags, and what click takes

SMALLEST, LARGEST = (4.0, 3.0), 60.0  # inches, of a figure: width and height of one that can be read, and the most
COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.IntRange(min=0)
SEED = click.IntRange(0, 2**63 - 1)  # what torch's and numpy's generators take
GRID = click.IntRange(min=2)  # points in each direction
FOLDER = click.Path(path_type=Path)
INPUTS = (
    "task:NAME, a .npy, .npz, .nc or .zarr file, noise:1.0, constant:0.1,0.2, zero.  [default: the checkpoint's task]"
)
MATRIX = 'In place of CKPT: plus, minus, zero, diff, identity, orthogonal, random, or W\'s entries "a,b;c,d".'
KIND = "Of --matrix: h + ε tanh(W h), tanh(W h), W h, or h' = tanh(W h); of a cell flow: what it is Euler's step of."
STEP = "ε in seconds: of --matrix, or to take Euler's map of a flow that --system names.  [default: 0.1 of --matrix]"
OWN_CLASS = "Your own class, which makes the network that CKPT holds the weights of."
SYSTEM = "In place of CKPT a system that `dynlab systems` lists; with CKPT your own class."


class NetworkName(click.types.StringParamType):
    """A checkpoint: where a shell completes it, a name of the zoo that begins so, or else a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, which is not empty and no address."""
        if not value.strip():
            self.fail("a checkpoint's name is empty: give a file, or a name that `dynlab zoo` lists.", param, ctx)
        if "://" in value:
            self.fail(f"{value!r} is an address: download it, and give the file.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The zoo's names by their files: to import it takes longer than a key should."""
        names = sorted(file.stem for file in Path(dynlab.__file__).with_name("zoo").glob(f"{incomplete}*.pt"))
        return [CompletionItem(name) for name in names if incomplete] or [CompletionItem(incomplete, type="file")]


def names_in(*tables: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell completes: the names in tables, each given as MODULE:NAME, which is imported only then."""

    def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        found = (table.split(":") for table in tables)
        known = [str(name) for module, table in found for name in getattr(import_module(module), table)]
        return sorted(name for name in known if name.startswith(incomplete))

    return names


SHARED: Options = {
    "layer": (("--layer",), {"help": "Which recurrent layer: its prefix in the model, then :1 or :1r."}),
    "factory": (
        ("--system",),
        {"metavar": "NAME|MODULE:FACTORY", "help": SYSTEM, "shell_complete": names_in("dynlab.systems:SYSTEMS")},
    ),
    "config": (("--set",), {"multiple": True, "metavar": "KEY=VALUE", "help": "A setting of --system NAME: rho=100."}),
    "nonlinearity": (
        ("--nonlinearity",),
        {
            "type": click.Choice(["tanh", "relu"]),
            "help": "Of a plain RNN, which a file of weights does not tell.  [default: tanh, and it is said]",
        },
    ),
    "matrix": (
        ("--matrix",),
        {
            "metavar": "MATRIX",
            "help": MATRIX,
            "shell_complete": names_in("dynlab.matrices:MATRICES", "dynlab.matrices:SEEDED"),
        },
    ),
    "kind": (
        ("--kind",),
        {"type": click.Choice(["feedback", "vanilla", "linear", "flow"]), "help": f"{KIND}  [default: feedback]"},
    ),
    "step": (("--step",), {"type": POSITIVE, "help": STEP}),
    "step_size": (
        ("--step",),
        {"type": POSITIVE, "help": "ε in seconds.  [default: the network's own; 0.1 of --matrix]"},
    ),
    "starts": (
        ("--start",),
        {"multiple": True, "metavar": "X,Y", "help": "Where an orbit starts; repeatable.  [default: the system's own]"},
    ),
    "inputs": (("--inputs",), {"metavar": "SPEC", "help": INPUTS}),
    "samples": (("--samples",), {"type": COUNT, "default": 16, "help": "How many sequences."}),
    "skip": (
        ("--skip",),
        {"type": NOT_NEGATIVE, "metavar": "N", "help": "Take the --samples sequences after the first N, not a draw."},
    ),
    "steps": (("--steps",), {"type": COUNT, "default": 50, "help": "Length of made-up inputs, and of orbits."}),
    "data_dir": (("--data-dir",), {"type": FOLDER, "help": "Where data sets lie.  [default: $DYNLAB_DATA]"}),
    "at": (
        ("--at",),
        {"default": "zero", "metavar": "zero|mean|VALUES", "help": "The input held: mean is that of --inputs."},
    ),
    "at_step": (
        ("--at-step",),
        {"type": int, "default": -1, "help": "The step held where parameters change with time; -1 is the last."},
    ),
    "seed": (("--seed",), {"type": SEED, "default": 0, "help": "Of all that is drawn at random."}),
    "device": (("--device",), {"default": "cpu", "help": "cpu, cuda, mps."}),
    "dtype": (
        ("--dtype",),
        {"type": click.Choice(["float64", "float32"]), "default": "float64", "help": "Precision."},
    ),
}


class Size(click.ParamType):
    """Width and height in inches, as in 8x5."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Parse it."""
        if isinstance(value, tuple):
            return value
        parts = re.fullmatch(r"([0-9.]+) ?[x×X] ?([0-9.]+)", value)
        try:
            width, height = (float(part) for part in parts.groups()) if parts else (0.0, 0.0)
        except ValueError:
            width = height = 0.0
        if not (SMALLEST[0] <= width <= LARGEST and SMALLEST[1] <= height <= LARGEST):
            sizes = " and height of ".join(f"{least:g} to {LARGEST:g}" for least in SMALLEST)
            self.fail(f"{value!r} is no width of {sizes} inches, such as 8x5.", param, ctx)
        return width, height


LOOK: Options = {
    "size": (("--size",), {"type": Size(), "metavar": "WxH", "help": "The figure's width and height in inches: 8x5."}),
    "dpi": (("--dpi",), {"type": click.IntRange(20, 1200), "help": "The figure's pixels per inch.  [default: 150]"}),
    "theme": (("--theme",), {"type": click.Choice(["light", "dark"]), "default": "light", "help": "The figure's."}),
}
OUTPUT: Options = {
    "output": (("--output", "-o"), {"type": FOLDER, "metavar": "FIGURE", "help": "png, svg or pdf."}),
    "data": (("--data",), {"type": FOLDER, "metavar": "FILE", "help": "Save the numbers: .nc or .zarr."}),
    "as_json": (("--json",), {"is_flag": True, "help": "Print one JSON document instead of the verdict."}),
    "overwrite": (("--overwrite",), {"is_flag": True, "help": "Replace the files that --output and --data name."}),
    "quiet": (("--quiet",), {"is_flag": True, "help": "No progress on standard error."}),
} | LOOK
MOVIE: Options = {
    "output": (OUTPUT["output"][0], {"type": FOLDER, "metavar": "MOVIE", "help": "gif, or mp4 (ffmpeg)."})
}
PAGE: Options = {"output": (OUTPUT["output"][0], {"type": FOLDER, "metavar": "PAGE", "help": "html."})}
CHECKPOINT = frozenset({"checkpoints", "layer", "factory", "config", "nonlinearity"})
PLANAR = frozenset({"matrix", "kind", "step"})
DRIVING = frozenset({"inputs", "samples", "skip", "steps", "data_dir"})
HELD = frozenset({"at", "at_step"})
COMPUTING = frozenset({"seed", "device", "dtype"})
ANYTHING = CHECKPOINT | PLANAR | DRIVING | COMPUTING  # a checkpoint, a system by name, or a matrix, and what drives it


def shared(names: Iterable[str], defaults: Mapping[str, Any]) -> Callable[[Command], Command]:
    """The decorator that gives a command these options of `SHARED`, some with other defaults."""
    return from_table({name: SHARED[name] for name in SHARED if name in set(names)}, defaults)


def output_options(command: Command, *, page: bool = False, movie: bool = False) -> Command:
    """Give a command what is written, in which words, and how it looks; its output is a figure, `page` or `movie`."""
    return from_table(OUTPUT | (PAGE if page else MOVIE if movie else {}))(command)


def look_options(command: Command) -> Command:
    """Give a command ``--size --dpi --theme``."""
    return from_table(LOOK)(command)


def from_table(table: Options, defaults: Mapping[str, Any] | None = None) -> Callable[[Command], Command]:
    """The decorator that gives a command the options of a table, some with other defaults."""

    def decorate(command: Command) -> Command:
        alone = "factory" in table and "config" not in table  # there is no system without a checkpoint
        for name, (flags, how) in reversed(list(table.items())):
            given = how | ({"default": defaults[name]} if defaults and name in defaults else {})
            if name == "factory" and alone:
                given |= {"metavar": "MODULE:FACTORY", "help": OWN_CLASS}
            is_value = given.get("default") is not None
            command = click.option(*flags, name, show_default=is_value, **given)(command)
        return command

    return decorate
