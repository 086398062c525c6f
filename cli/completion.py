"""`dynlab completion`: the script that lets a shell complete dynlab's commands, options, networks and files."""

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from .streams import echo

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print the script that completes dynlab's commands, options, networks and files at the Tab key.

    \b
    dynlab completion bash >> ~/.bashrc
    dynlab completion zsh >> ~/.zshrc
    dynlab completion fish > ~/.config/fish/completions/dynlab.fish
    """
    group = click.get_current_context().find_root().command
    echo(SHELLS[shell](group, {}, "dynlab", "_DYNLAB_COMPLETE").source())
