"""What a command's own help tells of it, for sentences on what is wrong with a line: an example, and its options."""

import inspect

import click

from dynlab.errors import lookup

from . import COMMANDS


def example(context: click.Context | None = None) -> str:
    """The first line in the help of that context's command, or the present one's, that shows how it is typed.

    Where no line does, the line that gives help.
    """
    context = context or click.get_current_context()
    command = context.command
    lines = (command.help or inspect.getdoc(command.callback) or "").splitlines()
    shown = (line.strip().partition("   ")[0] for line in lines if line.strip().startswith("dynlab "))
    return next(shown, f"{context.command_path} --help")


def owners(option: str) -> list[str]:
    """The commands that have an option of that name."""
    commands = {name: lookup(COMMANDS, name, "command") for name in COMMANDS}
    return [name for name, command in commands.items() if any(option in each.opts for each in command.params)]
