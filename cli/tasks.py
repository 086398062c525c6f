"""`dynlab tasks`: what networks can be trained on."""

from typing import Any

import click

from .output import print_json
from .streams import echo


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document: a list of name, what and settings.")
def tasks(as_json: bool) -> None:
    """List the tasks, and the settings that each takes."""
    import inspect

    from dynlab.errors import lookup
    from dynlab.tasks import TASKS

    entries: list[dict[str, Any]] = []
    for name in TASKS:
        make = lookup(TASKS, name, "task")
        takes = {key: parameter.default for key, parameter in inspect.signature(make).parameters.items()}
        entries.append({"name": name, "what": (inspect.getdoc(make) or "").partition("\n")[0], "settings": takes})
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        echo(f"{entry['name']:12s} {entry['what']}")
        echo(f"{'':12s} {' '.join(f'{key}={value}' for key, value in entry['settings'].items())}")
