"""The options that commands share, each stated once, by the name of the argument that it becomes."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
from click.shell_completion import CompletionItem

import dynlab
from dynlab.errors import UserError

COUNT = click.IntRange(min=1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.IntRange(min=0)
GRID = click.IntRange(min=2)  # points in each direction
FOLDER = click.Path(path_type=Path)
INTEGRATORS = click.Choice(["euler", "midpoint", "rk4", "implicit-midpoint", "exponential-euler"])
WORDS = {"none": None, "null": None, "true": True, "false": False}  # values of settings


def networks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the zoo's names by their files, as importing the zoo takes longer than a key should; else files."""
    names = sorted(file.stem for file in Path(dynlab.__file__).with_name("zoo").glob(f"{incomplete}*.pt"))
    return [CompletionItem(name) for name in names if incomplete] or [CompletionItem(incomplete, type="file")]


def numbers(text: str, others: str = "") -> list[float]:
    """Read numbers such as 0.1,0.2; `others` says what else is allowed."""
    try:
        return [float(each) for each in text.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not {others}numbers such as 0.1,0.2.") from error


def held_input(text: str) -> str | list[float]:
    """Read the input that is held."""
    return text if text in ("zero", "rest", "mean") else numbers(text, "zero or rest or mean or ")


def setting(text: str) -> tuple[str, Any]:
    """Read a setting such as KEY=VALUE: a number, a list, true, false, none or text."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE.")
    try:
        return key, WORDS[value.lower()] if value.lower() in WORDS else json.loads(value)
    except ValueError:
        return key, value


def names_in(*tables: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a completion from the names in tables, each given as MODULE:NAME, which is imported only then."""

    def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return sorted(name for table in tables for name in resolve_name(table) if name.startswith(incomplete))

    return names


def table(*options: click.Option) -> dict[str, click.Option]:
    """Return options by the name of their argument."""
    return {str(each.name): each for each in options}


SUBJECT = table(
    click.Option(["--layer"], help="Recurrent layer to analyse: its prefix in the model, then :1 or :1r."),
    click.Option(
        ["--system", "factory"],
        metavar="NAME|MODULE:FACTORY",
        shell_complete=names_in("dynlab.systems:SYSTEMS"),
        help="Analyse a built-in system (`dynlab list systems`), or the class that CKPT's weights belong to.",
    ),
    click.Option(
        ["--set", "config"],
        type=setting,
        multiple=True,
        metavar="KEY=VALUE",
        help="Value in --flow or --map, setting of --system: mu=1.",
    ),
    click.Option(
        ["--nonlinearity"],
        type=click.Choice(["tanh", "relu"]),
        help="Activation of a plain RNN, which a weights file does not record.  [default: tanh, with a warning]",
    ),
    click.Option(
        ["--encoder"],
        metavar="NAME:tanh|relu|none",
        help="Linear layer before the network, with its activation: inputs are then the whole model's.",
    ),
    click.Option(["--readout"], metavar="NAME", help="Linear layer that reads the state."),
    click.Option(
        ["--matrix"],
        metavar="MATRIX",
        shell_complete=names_in("dynlab.matrices:MATRICES", "dynlab.matrices:SEEDED"),
        help='Analyse a matrix: plus, minus, zero, diff, identity, orthogonal, random, or "a,b;c,d".',
    ),
    click.Option(
        ["--flow"],
        metavar="EQUATIONS",
        help='Analyse the flow with these rates of x, y, z: "y, -x + mu*y*(1 - x^2)".',
    ),
    click.Option(
        ["--map", "map_"], metavar="EQUATIONS", help='Analyse the map to these next values of x, y, z: "r*x*(1 - x)".'
    ),
    click.Option(
        ["--kind"],
        type=click.Choice(["feedback", "vanilla", "linear", "flow"]),
        help="System of --matrix: h + ε tanh(W h), tanh(W h), W h, or h' = tanh(W h); flow is also "
        "the flow of a cell that is an Euler step.  [default: feedback]",
    ),
    click.Option(
        ["--step-size"],
        type=POSITIVE,
        metavar="ε",
        help="Step in seconds.  [default: the network's own; 0.1 of --matrix]",
    ),
)
DRIVE = table(
    click.Option(
        ["--inputs"],
        metavar="SPEC",
        help="task:NAME, a .npy, .npz, .nc or .zarr file, noise:1.0, constant:0.1,0.2, or zero.  "
        "[default: the checkpoint's task]",
    ),
    click.Option(["--samples"], type=COUNT, default=16, help="Number of sequences."),
    click.Option(
        ["--skip"], type=NOT_NEGATIVE, metavar="N", help="Take the sequences after the first N, not a random draw."
    ),
    click.Option(["--steps"], type=COUNT, default=50, help="Length of made-up inputs and of orbits."),
    click.Option(["--data-dir"], type=FOLDER, help="Folder of the data sets.  [default: $DYNLAB_DATA]"),
    click.Option(
        ["--start", "starts"],
        type=numbers,
        multiple=True,
        metavar="X,Y",
        help="Start of an orbit; repeatable.  [default: the system's own]",
    ),
    click.Option(
        ["--at"],
        type=held_input,
        default="zero",
        metavar="zero|rest|mean|VALUES",
        help="Input to hold constant: rest is what the model feeds its layer for a zero, mean that of --inputs.",
    ),
    click.Option(
        ["--at-step"], type=int, default=-1, help="Step to hold where parameters change with time; -1 is the last."
    ),
)
COMPUTE = table(
    click.Option(["--seed"], type=click.IntRange(0, 2**63 - 1), default=0, help="Seed of all random numbers."),
    click.Option(["--device"], default="cpu", help="cpu, cuda, mps."),
    click.Option(["--dtype"], type=click.Choice(["float64", "float32"]), default="float64", help="Precision."),
)
OUTPUT = table(
    click.Option(["--output", "-o"], type=FOLDER, metavar="FIGURE", help="Figure to write: png, svg or pdf."),
    click.Option(["--save"], type=FOLDER, metavar="FILE", help="Save the numbers: .nc or .zarr; .csv a table."),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document instead of the verdict."),
    click.Option(["--arrays"], is_flag=True, help="Put all numbers into the JSON document."),
    click.Option(["--overwrite"], is_flag=True, help="Replace the files that --output and --save name."),
    click.Option(["--no-figure"], is_flag=True, help="Draw no figure."),
    click.Option(["--quiet"], is_flag=True, help="Print no progress."),
    click.Option(
        ["--size"],
        type=(click.FloatRange(3, 60),) * 2,
        metavar="W H",
        help="Width and height of the figure in inches: 8 5.",
    ),
    click.Option(["--dpi"], type=click.IntRange(20, 600), help="Pixels per inch.  [default: 150]"),
    click.Option(["--theme"], type=click.Choice(["light", "dark"]), default="light", help="Background."),
)
RANDOM_STARTS = click.option(
    "--starts", type=COUNT, help="Random starts of the search for fixed points.  [default: 256, of large layers fewer]"
)
SHARED = SUBJECT | DRIVE | COMPUTE
SECTIONS = {"What to analyse": SUBJECT, "What drives it": DRIVE, "Computing": COMPUTE, "Output": OUTPUT}

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
        place = {each.opts[0]: title for title, options in SECTIONS.items() for each in options.values()}
        params = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for title in ("Options", *SECTIONS):
            of_section = [each for each in params if place.get(each.opts[0], "Options") == title]
            if records := [record for each in of_section if (record := each.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)


def shared(names: Iterable[str], **changed: Mapping[str, Any]) -> list[click.Parameter]:
    """Return those of the shared options, in their order; `changed` has other attributes of some, by name."""
    found: list[click.Parameter] = [copy.copy(each) for name, each in (SHARED | OUTPUT).items() if name in names]
    for option in found:
        vars(option).update(changed.get(str(option.name), {}))
    return found


def typed(values: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that give shared options their values, by name."""
    return [
        f"{SHARED[name].opts[0]}={','.join(map(str, each)) if isinstance(each, list) else each}"
        for name, value in values.items()
        for each in (value if SHARED[name].multiple else [value])
    ]


def ranges(option: str, text: str, size: int) -> list[list[float]]:
    """Return the lowest and the highest value of each of `size` states, of ``LOW:HIGH,LOW:HIGH``."""
    found = [numbers(part.replace(":", ",")) for part in text.split(",")]
    if [len(ends) for ends in found] != [2] * size:
        raise UserError(f"{option} takes a range LOW:HIGH for each of the {size} states, got {text!r}.")
    return found
