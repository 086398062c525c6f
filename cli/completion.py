"""`dynlab completion`: the script that lets a shell complete dynlab's commands, options, networks and files."""

import click
from click.shell_completion import get_completion_class

from .output import echo


@click.command(hidden=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes dynlab's commands, options, networks and files at the Tab key.

    \b
    dynlab completion bash >> ~/.bashrc
    dynlab completion zsh >> ~/.zshrc
    dynlab completion fish > ~/.config/fish/completions/dynlab.fish
    """
    found = get_completion_class(shell)
    if found is not None:
        echo(found(click.get_current_context().find_root().command, {}, "dynlab", "_DYNLAB_COMPLETE").source())
