"""`dynlab systems`: what networks and textbook systems there are."""

import click

from .output import print_json
from .streams import echo

PAGE = """# Systems

Written by `dynlab systems --page > docs/systems.md`: {inputs} inputs and {units} units, where a system has a choice. \
Bounded: its states have a bound. Provable: its step is traced, so that what is found of it can be proved \
(`--certify`). `dynlab systems --json` has the settings too. The words are explained in the [glossary](glossary.md).
"""


@click.command()
@click.option("--units", type=click.IntRange(min=1), default=64, show_default=True, help="To count parameters at.")
@click.option("--inputs", type=click.IntRange(min=1), default=3, show_default=True, help="To count parameters at.")
@click.option("--page", is_flag=True, help="The same table as docs/systems.md has it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document: a list of objects, with the settings too.")
def systems(units: int, inputs: int, page: bool, as_json: bool) -> None:
    """List the systems: what --system of the other commands takes, and `dynlab train` trains.

    Bounded: its states have a bound. Provable: its step is traced, so that
    what is found of it can be proved (--certify).
    """
    from dynlab.systems import SYSTEMS
    from dynlab.systems.examples import facts

    from .columns import print_table

    found = [facts(name, inputs, units) for name in SYSTEMS]
    if as_json:
        print_json(found)
        return
    flags, numeric = ("bounded", "program"), ["state", "parameters"]
    headings = ["name", "kind", *numeric, "bounded", "provable", "what it is"]
    rows = [
        [
            one["name"],
            one["kind"],
            *("–" if one[key] is None else f"{one[key]:,}" for key in ("state_size", "parameters")),
        ]
        + ["yes" if one[flag] else "" for flag in flags]
        + [one["what"].partition("; see")[0].split(": `")[0]]
        for one in found
    ]
    if page:
        echo(PAGE.format(inputs=inputs, units=units))
        for row in (headings, ["---"] * len(headings), *([f"`{name}`", *rest] for name, *rest in rows)):
            echo(f"| {' | '.join(row)} |")
        return
    print_table(headings, rows, numeric)
    echo("Try `dynlab lyapunov --system lorenz`, or `dynlab train --system ernn --task har2`.")
