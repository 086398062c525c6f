"""The options that commands share, and what they are once read: an output, and a network."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    return _network_options(command, required=True)


def optional_network_options(command: Command) -> Command:
    """The same for a command that can do without a checkpoint: its network's is then None."""
    return _network_options(command, required=False)


def _network_options(command: Command, required: bool) -> Command:
    @click.argument("checkpoints", metavar="CKPT" if required else "[CKPT]", nargs=-1, required=required)
    @click.option("--over", type=click.Choice(["step"]), help="CKPT … are of one training: a folder, or files.")
    @click.option("--layer", help="Which recurrent layer: its prefix in the model, then :1 or :1r.")
    @click.option("--system", "factory", metavar="PACKAGE.MODULE:FACTORY", help="Your own class, to load weights into.")
    @click.option(
        "--nonlinearity",
        type=click.Choice(["tanh", "relu"]),
        default="tanh",
        show_default=True,
        help="Of a plain RNN, which a file of weights does not tell.",
    )
    @click.option(
        "--inputs",
        metavar="SPEC",
        help="task:NAME, a .npy, .npz or .nc file, noise:1.0, constant:0.1,0.2, zero. [default: the checkpoint's task]",
    )
    @click.option("--samples", type=click.IntRange(min=1), default=16, show_default=True, help="How many sequences.")
    @click.option(
        "--steps", type=click.IntRange(min=1), default=50, show_default=True, help="Length of made-up inputs."
    )
    @click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all that is drawn at random."
    )
    @click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
    @click.option(
        "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
    )
    @click.option("--data-dir", type=click.Path(path_type=Path), help="Where data sets lie. [default: $DYNLAB_DATA]")
    @functools.wraps(command)
    def wrapped(
        checkpoints: tuple[str, ...],
        over: str | None,
        layer: str | None,
        factory: str | None,
        nonlinearity: str,
        inputs: str | None,
        samples: int,
        steps: int,
        seed: int,
        device: str,
        dtype: str,
        data_dir: Path | None,
        **rest: Any,
    ) -> Any:
        from dynlab import zoo
        from dynlab.checkpoints import read

        def network(found: Checkpoint | None, name: str, driven_as: Network | None = None) -> Network:
            return Network(found, name, inputs, samples, steps, seed, device, dtype, data_dir, driven_as)

        reading: dict[str, Any] = {"layer": layer, "system_factory": factory, "nonlinearity": nonlinearity}
        if over is not None:
            from .over_step import over_step

            if not checkpoints:
                raise UserError("--over step follows a run: name its folder, or its checkpoints.")
            return over_step(command, checkpoints, reading, network, rest)
        if not checkpoints:
            for option, value in (("--layer", layer), ("--system", factory), ("--inputs", inputs)):
                if value is not None:
                    raise UserError(f"{option} is a checkpoint's: leave it out, or give CKPT.")
            return command(network=network(None, ""), **rest)
        if len(checkpoints) > 1:
            raise UserError(
                f"Got {len(checkpoints)} checkpoints, {checkpoints[0]} the first: name one, or follow a run with "
                f"--over step."
            )
        (checkpoint,) = checkpoints
        name = Path(checkpoint).stem + (f"-{layer.replace(':', '-')}" if layer else "")
        return command(network=network(read(zoo.locate(checkpoint), **reading), name), **rest)

    return wrapped
