"""`dynlab zoo`: the trained networks that ship with the package."""

import click

from .output import print_json
from .streams import echo


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of objects instead of the table.")
def zoo(as_json: bool) -> None:
    """List the trained networks that ship with dynlab.

    Wherever a command takes CKPT, it takes one of these names.
    """
    from dynlab import zoo as networks

    from .columns import print_table

    entries = networks.entries()
    if as_json:
        print_json(entries)
        return
    if not entries:
        echo("No trained network ships with this installation: train one with `dynlab train`.")
        return
    rows = [
        [
            str(entry["name"]),
            str(entry["system"]),
            str(entry["task"]),
            f"{100 * entry['test_accuracy']:.2f} %",
            f"{entry['cell_parameters']:,}",
            str(entry["seed"]) if "seed" in entry else "",
        ]
        for entry in entries
    ]
    numeric = ["test accuracy", "cell parameters", "seed"]
    print_table(["name", "system", "task", *numeric], rows, numeric)
    echo("Try `dynlab spectrum NAME`; `dynlab zoo --json` tells how each was made.")
