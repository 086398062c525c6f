"""The entry point: finds the command, and turns every end into an exit code.

0 done; 1 a check failed; 2 bad usage or bad input; 3 an error of dynlab's own; 4 a check undecided; 130 interrupted.
"""

import os
import sys
import traceback
from collections.abc import Sequence

import click

import dynlab
from dynlab.errors import UserError, lookup, unknown

from . import COMMANDS

BAD_INPUT, OWN_ERROR, INTERRUPTED = 2, 3, 130
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # as torch says it
SENTENCE = 200  # letters, more than the first sentence of any command has


class Commands(click.Group):
    """A group that imports a command when it is named, so that help and completion stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = lookup(COMMANDS, cmd_name, "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence: click cuts them to one line."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=SENTENCE)) for name, command in found if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise unknown("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(dynlab.__version__, prog_name="dynlab")
def group() -> None:
    """What a recurrent network does over time, and whether its gradients survive.

    Start with `dynlab phase --matrix diff`, or with a checkpoint: `dynlab spectrum CKPT`, where CKPT is a file
    or a name that `dynlab zoo` lists.

    Reading one file takes at most 60 seconds and 2 GiB of memory; DYNLAB_READ_SECONDS and DYNLAB_READ_GIB in the
    environment allow more.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files: no window, also where there is a screen
    try:
        code = group.main(args=arguments, prog_name="dynlab", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return BAD_INPUT
    except click.ClickException as error:
        click.echo(f"{_where(error)}: {error.format_message()}", err=True)
        return BAD_INPUT
    except UserError as error:
        click.echo(f"dynlab: {error}", err=True)
        return BAD_INPUT
    except Exception as error:  # the last resort: whatever else went wrong is dynlab's own fault, and says so
        if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
            click.echo(
                "dynlab: This needs more memory than there is: ask for fewer steps, samples or points.", err=True
            )
            return BAD_INPUT
        traceback.print_exc()
        click.echo("dynlab: this is an error of dynlab's own; please report it with the lines above.", err=True)
        return OWN_ERROR


def _where(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context else "dynlab"
