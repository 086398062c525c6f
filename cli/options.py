"""The options that commands share, and what they are once read: an output, and a network."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dynlab.errors import UserError

from .network import Network
from .output import COLLECTED, Output

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint

Command = Callable[..., Any]


def output_options(command: Command) -> Command:
    """Give a command ``--output --data --json --overwrite --quiet``, and the argument ``output: Output``."""

    @click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FIGURE", help="png, svg or pdf.")
    @click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Save the numbers: .nc or .zarr.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the verdict.")
    @click.option("--overwrite", is_flag=True, help="Replace the files that --output and --data name.")
    @click.option("--quiet", is_flag=True, help="No progress on standard error.")
    @functools.wraps(command)
    def wrapped(
        output: Path | None, data: Path | None, as_json: bool, overwrite: bool, quiet: bool, **rest: Any
    ) -> Any:
        context = click.get_current_context()
        name, collected = context.info_name or "dynlab", context.meta.get(COLLECTED)
        silent = quiet or collected is not None
        return command(output=Output(name, output, data, as_json, overwrite, silent, collected), **rest)

    return wrapped


def network_options(command: Command) -> Command:
    """Give a command the argument CKPT with all that says how to read and drive it, and ``network: Network``.

    With ``--over step`` the command runs for every checkpoint of a run.
    """
    return _network_options(command, list(SHARED), required=True)


def optional_network_options(*left_out: str, named: bool = False) -> Callable[[Command], Command]:
    """The same for a command that can do without a checkpoint: its network's is then None.

    Parameters
    ----------
    *left_out : str
        Keys of `SHARED`: options that mean nothing to the command, or something else.
    named : bool
        Whether ``--system`` without a checkpoint is a system's public name, which the command then gets as ``named``.
    """
    names = [name for name in SHARED if name not in left_out]
    return functools.partial(_network_options, names=names, required=False, named=named)


def _shared(*names: str, default: Any = None, **how: Any) -> tuple[Callable[[Command], Command], Any]:
    """An option, and what holds where a command leaves it out."""
    return click.option(*names, default=default, show_default=default is not None, **how), default


COUNT = click.IntRange(min=1)
SPEC = "task:NAME, a .npy, .npz or .nc file, noise:1.0, constant:0.1,0.2, zero. [default: the checkpoint's task]"
# By the name of the parameter.
SHARED: dict[str, tuple[Callable[[Command], Command], Any]] = {
    "layer": _shared("--layer", help="Which recurrent layer: its prefix in the model, then :1 or :1r."),
    "factory": _shared(
        "--system", "factory", metavar="PACKAGE.MODULE:FACTORY", help="Your own class, to load weights into."
    ),
    "nonlinearity": _shared(
        "--nonlinearity",
        type=click.Choice(["tanh", "relu"]),
        help="Of a plain RNN, which a file of weights does not tell. [default: tanh, and it is said]",
    ),
    "inputs": _shared("--inputs", metavar="SPEC", help=SPEC),
    "samples": _shared("--samples", type=COUNT, default=16, help="How many sequences."),
    "steps": _shared("--steps", type=COUNT, default=50, help="Length of made-up inputs."),
    "seed": _shared("--seed", type=click.IntRange(min=0), default=0, help="Of all that is drawn at random."),
    "device": _shared("--device", default="cpu", help="cpu, cuda, mps."),
    "dtype": _shared("--dtype", type=click.Choice(["float64", "float32"]), default="float64", help="Precision."),
    "data_dir": _shared(
        "--data-dir", type=click.Path(path_type=Path), help="Where data sets lie. [default: $DYNLAB_DATA]"
    ),
}
NAMED = click.option(
    "--system",
    "factory",
    metavar="NAME|MODULE:FACTORY",
    help="In place of CKPT a system by name: lorenz, henon …; with CKPT your own class.",
)
READING = {"layer": "layer", "factory": "system_factory", "nonlinearity": "nonlinearity"}  # as `read` calls them
CHECKPOINTS_OWN = (*READING, "inputs", "samples", "data_dir")  # without a checkpoint they would do nothing


def _network_options(command: Command, names: Sequence[str], required: bool, named: bool = False) -> Command:
    @functools.wraps(command)
    def wrapped(checkpoints: tuple[str, ...], over: str | None, **given: Any) -> Any:
        chosen = {name: given.pop(name) if name in names else left for name, (_, left) in SHARED.items()}
        reading = {argument: chosen.pop(name) for name, argument in READING.items()}
        if named:
            given["named"] = None if checkpoints else reading["system_factory"]

        def network(found: Checkpoint | None, name: str, driven_as: Network | None = None) -> Network:
            quiet = bool(click.get_current_context().params.get("quiet"))
            if found is not None and found.assumed and driven_as is None and not quiet:
                click.echo(found.assumed, err=True)
            return Network(found, name, **chosen, driven_as=driven_as, quiet=quiet)

        if over is not None:
            from .over_step import over_step

            if not checkpoints:
                raise UserError("--over step follows a run: name its folder, or its checkpoints.")
            return over_step(command, checkpoints, reading, network, given)
        if not checkpoints:
            _check_without_checkpoint(named)
            return command(network=network(None, ""), **given)
        if len(checkpoints) > 1:
            raise UserError(
                f"Got {len(checkpoints)} checkpoints, {checkpoints[0]} the first: name one, or follow a run with "
                f"--over step."
            )
        from dynlab import zoo
        from dynlab.checkpoints import read

        (checkpoint,) = checkpoints
        layer = reading["layer"]
        name = Path(checkpoint).stem + (f"-{layer.replace(':', '-')}" if layer else "")
        return command(network=network(read(zoo.locate(checkpoint), **reading), name), **given)

    decorated: Command = wrapped
    for name in reversed(names):
        decorated = (NAMED if named and name == "factory" else SHARED[name][0])(decorated)
    over = click.option("--over", type=click.Choice(["step"]), help="CKPT … are of one training: a folder, or files.")
    metavar = "CKPT" if required else "[CKPT]"
    return click.argument("checkpoints", metavar=metavar, nargs=-1, required=required)(over(decorated))


def _check_without_checkpoint(named: bool) -> None:
    """Raise for an option of the checkpoint that there is none of."""
    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if named and option.name == "factory":
            continue
        if option.name in CHECKPOINTS_OWN and source is ParameterSource.COMMANDLINE:
            raise UserError(f"{option.opts[0]} is a checkpoint's: leave it out, or give CKPT.")
