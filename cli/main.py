"""The entry point: finds the command, and turns every end into an exit code.

0 done; 1 a check failed; 2 bad usage or bad input, or a place that cannot be written to; 3 an error of dynlab's own;
4 a check undecided; 130 interrupted; 143 terminated.
"""

import ctypes
import difflib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click
from click.shell_completion import get_completion_class

import dynlab
from dynlab.errors import OWN, UserError, entry, in_words, lookup

from . import COMMANDS, GROUPS, OTHERWISE
from .output import OWN_ERROR, echo

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}
BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143
ENVIRONMENT = {  # where nothing else is said
    "GOMP_SPINCOUNT": "5000",  # idle threads of torch sleep after 0.2 ms, not 13
    "THP_MEM_ALLOC_ENABLE": "1",  # large pages make a step of training a fifth faster
}
KEPT_MEMORY = {-1: 2**31 - 1, -3: 2**30}  # of mallopt: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes


class Commands(click.Group):
    """A group that imports a command when it is named, so that help and completion stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for an unknown name."""
        return lookup(COMMANDS, cmd_name, "command") if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by what one wants."""
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, lookup(group, name, "command").get_short_help_str(200)) for name in group])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names, or say which one may be meant."""
        meant = difflib.get_close_matches(args[0], [*COMMANDS, *OTHERWISE], 1)
        if meant and meant[0] in OTHERWISE:
            raise UserError(f"Unknown command {args[0]!r}: `dynlab {OTHERWISE[meant[0]]}` does that.")
        entry(COMMANDS, args[0], "command", "dynlab --help")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings=SETTINGS)
@click.version_option(dynlab.__version__, prog_name="dynlab")
def group() -> None:
    """Say what a recurrent network does over time, and whether its gradients survive.

    Start with `dynlab phase --matrix diff`, or with a checkpoint: `dynlab report CKPT`. CKPT is a file or a name that
    `dynlab list zoo` prints.
    """


@click.command(hidden=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes dynlab's commands, options, networks and files at the Tab key.

    \b
    dynlab completion bash >> ~/.bashrc
    dynlab completion zsh >> ~/.zshrc
    dynlab completion fish > ~/.config/fish/completions/dynlab.fish
    """
    if (found := get_completion_class(shell)) is not None:
        echo(found(group, {}, "dynlab", "_DYNLAB_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # no process that is started imports from the working folder
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # where the terminal's encoding lacks a letter
    signal.signal(signal.SIGTERM, end)
    keep_memory()
    sys.exit(run(arguments))


def keep_memory() -> None:
    """Keep what is freed: pages that are given back and asked for again are half the time of some trainings."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):  # musl has none
        for parameter, size in KEPT_MEMORY.items():
            mallopt(parameter, size)


def end(number: int, frame: FrameType | None) -> NoReturn:
    """End at a signal by an exception, so that nothing half done is left."""
    sys.exit(TERMINATED)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    os.environ.update(ENVIRONMENT | os.environ | {"MPLBACKEND": "Agg"})  # figures go to files, also with a screen
    try:
        code = group.main(args=arguments, prog_name="dynlab", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        echo("Interrupted.", err=True)
        return INTERRUPTED
    except Exception as error:
        if not (said := in_words(error)).startswith(OWN):
            echo(f"dynlab: {said}", err=True)
            return BAD_INPUT
        echo(traceback.format_exc(), err=True)
        echo("dynlab: this is an error of dynlab's own; please report it with the lines above.", err=True)
        return OWN_ERROR
