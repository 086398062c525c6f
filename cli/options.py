"""The options that commands share, each spelled once, by the name of the argument that it becomes."""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dynlab

Function = Callable[..., Any]
Options = dict[str, tuple[tuple[str, ...], dict[str, Any]]]  # by the argument: its flags, and what click takes

COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.IntRange(min=0)
SEED = click.IntRange(0, 2**63 - 1)  # what torch's and numpy's generators take
GRID = click.IntRange(min=2)  # points in each direction
FOLDER = click.Path(path_type=Path)
SIDE = 3.0, 60.0  # inches, of a figure


class NetworkName(click.types.StringParamType):
    """A checkpoint: a file, or a name of the zoo, which a shell completes."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the zoo's names by their files: importing the zoo takes longer than a key should."""
        names = sorted(file.stem for file in Path(dynlab.__file__).with_name("zoo").glob(f"{incomplete}*.pt"))
        return [CompletionItem(name) for name in names if incomplete] or [CompletionItem(incomplete, type="file")]


class Size(click.ParamType):
    """Width and height in inches, as in 8x5."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Parse it."""
        parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?[x×X] ?(\d+(?:\.\d+)?)", str(value))
        if not parts or not all(SIDE[0] <= float(part) <= SIDE[1] for part in parts.groups()):
            self.fail(f"{value!r} is not a size such as 8x5, from {SIDE[0]:g} to {SIDE[1]:g} inches.", param, ctx)
        return float(parts[1]), float(parts[2])


def names_in(*tables: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a completion from the names in tables, each given as MODULE:NAME, which is imported only then."""

    def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        found = (table.split(":") for table in tables)
        known = [str(name) for module, table in found for name in getattr(import_module(module), table)]
        return sorted(name for name in known if name.startswith(incomplete))

    return names


SUBJECT: Options = {
    "layer": (("--layer",), {"help": "Recurrent layer to analyse: its prefix in the model, then :1 or :1r."}),
    "factory": (
        ("--system",),
        {
            "metavar": "NAME|MODULE:FACTORY",
            "help": "Analyse a built-in system (`dynlab list systems`), or the class that CKPT's weights belong to.",
            "shell_complete": names_in("dynlab.systems:SYSTEMS"),
        },
    ),
    "config": (
        ("--set",),
        {"multiple": True, "metavar": "KEY=VALUE", "help": "Value in --flow or --map, setting of --system: mu=1."},
    ),
    "nonlinearity": (
        ("--nonlinearity",),
        {
            "type": click.Choice(["tanh", "relu"]),
            "help": "Activation of a plain RNN, which a weights file does not record.  [default: tanh, with a warning]",
        },
    ),
    "encoder": (
        ("--encoder",),
        {
            "metavar": "NAME:tanh|relu|none",
            "help": "Linear layer before the network, with its activation: inputs are then the whole model's.",
        },
    ),
    "readout": (("--readout",), {"metavar": "NAME", "help": "Linear layer that reads the state."}),
    "matrix": (
        ("--matrix",),
        {
            "metavar": "MATRIX",
            "help": 'Analyse a matrix: plus, minus, zero, diff, identity, orthogonal, random, or "a,b;c,d".',
            "shell_complete": names_in("dynlab.matrices:MATRICES", "dynlab.matrices:SEEDED"),
        },
    ),
    "flow": (
        ("--flow",),
        {"metavar": "EQUATIONS", "help": 'Analyse the flow with these rates of x, y, z: "y, -x + mu*y*(1 - x^2)".'},
    ),
    "map_": (
        ("--map",),
        {"metavar": "EQUATIONS", "help": 'Analyse the map to these next values of x, y, z: "r*x*(1 - x)".'},
    ),
    "kind": (
        ("--kind",),
        {
            "type": click.Choice(["feedback", "vanilla", "linear", "flow"]),
            "help": "System of --matrix: h + ε tanh(W h), tanh(W h), W h, or h' = tanh(W h); flow is also "
            "the flow of a cell that is an Euler step.  [default: feedback]",
        },
    ),
    "step_size": (
        ("--step-size",),
        {"type": POSITIVE, "metavar": "ε", "help": "Step in seconds.  [default: the network's own; 0.1 of --matrix]"},
    ),
}
DRIVE: Options = {
    "inputs": (
        ("--inputs",),
        {
            "metavar": "SPEC",
            "help": "task:NAME, a .npy, .npz, .nc or .zarr file, noise:1.0, constant:0.1,0.2, or zero.  "
            "[default: the checkpoint's task]",
        },
    ),
    "samples": (("--samples",), {"type": COUNT, "default": 16, "help": "Number of sequences."}),
    "skip": (
        ("--skip",),
        {"type": NOT_NEGATIVE, "metavar": "N", "help": "Take the sequences after the first N, not a random draw."},
    ),
    "steps": (("--steps",), {"type": COUNT, "default": 50, "help": "Length of made-up inputs and of orbits."}),
    "data_dir": (("--data-dir",), {"type": FOLDER, "help": "Folder of the data sets.  [default: $DYNLAB_DATA]"}),
    "starts": (
        ("--start",),
        {"multiple": True, "metavar": "X,Y", "help": "Start of an orbit; repeatable.  [default: the system's own]"},
    ),
    "at": (
        ("--at",),
        {"default": "zero", "metavar": "zero|rest|mean|VALUES", "help": "Input to hold; mean is that of --inputs."},
    ),
    "at_step": (
        ("--at-step",),
        {"type": int, "default": -1, "help": "Step to hold where parameters change with time; -1 is the last."},
    ),
}
COMPUTE: Options = {
    "seed": (("--seed",), {"type": SEED, "default": 0, "help": "Seed of all random numbers."}),
    "device": (("--device",), {"default": "cpu", "help": "cpu, cuda, mps."}),
    "dtype": (
        ("--dtype",),
        {"type": click.Choice(["float64", "float32"]), "default": "float64", "help": "Precision."},
    ),
}
OUTPUT: Options = {
    "output": (("--output", "-o"), {"type": FOLDER, "metavar": "FIGURE", "help": "Figure to write: png, svg or pdf."}),
    "save": (("--save",), {"type": FOLDER, "metavar": "FILE", "help": "Save the numbers: .nc or .zarr; .csv a table."}),
    "as_json": (("--json",), {"is_flag": True, "help": "Print one JSON document instead of the verdict."}),
    "arrays": (("--arrays",), {"is_flag": True, "help": "Put all numbers into --json."}),
    "overwrite": (("--overwrite",), {"is_flag": True, "help": "Replace the files that --output and --save name."}),
    "no_figure": (("--no-figure",), {"is_flag": True, "help": "Draw no figure."}),
    "quiet": (("--quiet",), {"is_flag": True, "help": "Print no progress."}),
    "size": (("--size",), {"type": Size(), "metavar": "WxH", "help": "Width and height of the figure in inches: 8x5."}),
    "dpi": (("--dpi",), {"type": click.IntRange(20, 600), "help": "Pixels per inch.  [default: 150]"}),
    "theme": (("--theme",), {"type": click.Choice(["light", "dark"]), "default": "light", "help": "Ground."}),
}
SHARED: Options = SUBJECT | DRIVE | COMPUTE
SECTIONS: dict[str, Options] = {
    "What to analyse": SUBJECT,
    "What drives it": DRIVE,
    "Computing": COMPUTE,
    "Output": OUTPUT,
}

CHECKPOINT = frozenset({"checkpoints", "layer", "factory", "config", "nonlinearity", "encoder", "readout"})
PLANAR = frozenset({"matrix", "flow", "map_", "config", "kind", "step_size"})
DRIVING = frozenset({"inputs", "samples", "skip", "steps", "data_dir"})
HELD = frozenset({"at", "at_step"})
COMPUTING = frozenset(COMPUTE)
ANYTHING = CHECKPOINT | PLANAR | DRIVING | COMPUTING  # a checkpoint, a system by name, or a matrix, and what drives it


class Command(click.Command):
    """A command whose help has its own options first, and then those of each section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section."""
        place = {flags[0]: title for title, options in SECTIONS.items() for flags, _ in options.values()}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                rows[place.get(param.opts[0], "Options")].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def with_options(table: Options, defaults: Mapping[str, Any] | None = None) -> Callable[[Function], Function]:
    """Return the decorator that gives a command the options of a table, some with other defaults."""

    def decorate(function: Function) -> Function:
        for name, (flags, how) in reversed(list(table.items())):
            given: dict[str, Any] = how | ({"default": defaults[name]} if defaults and name in defaults else {})
            given.setdefault("show_default", given.get("default") is not None)
            function = click.option(*flags, name, **given)(function)
        return function

    return decorate


def chosen(names: Iterable[str]) -> Options:
    """Return those of the shared options, in their order."""
    return {name: SHARED[name] for name in SHARED if name in set(names)}
