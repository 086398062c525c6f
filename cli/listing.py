"""`dynlab list`: the systems, tasks, trained networks and training presets that there are."""

import inspect
from collections.abc import Callable
from typing import Any

import click

from dynlab.errors import lookup

from .output import print_json, print_table

UNITS, INPUTS = 64, 3  # at which parameters are counted


@click.command("list")
@click.argument("what", type=click.Choice(["systems", "tasks", "zoo", "presets"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with all settings.")
def listing(what: str, as_json: bool) -> None:
    """List the systems, tasks, trained networks (zoo) or training presets.

    \b
    dynlab list systems     what --system takes; parameters are counted at 64 units and 3 inputs
    dynlab list tasks       what --inputs task:NAME and `dynlab train --task` take
    dynlab list zoo         trained networks that ship with dynlab; CKPT takes their names
    dynlab list presets     what `dynlab train --preset` takes
    """
    import pandas as pd

    found = ENTRIES[what]()
    if as_json:
        print_json(found)
        return
    print_table(pd.DataFrame(found).filter(SHOWN[what]))


SHOWN = {
    "systems": ["name", "kind", "state_size", "parameters", "bounded", "program", "what"],
    "tasks": ["name", "what"],
    "zoo": ["name", "system", "task", "test_accuracy", "cell_parameters", "seed"],
    "presets": ["name", "system", "task", "row of", "reported"],
}


def _systems() -> list[dict[str, Any]]:
    from dynlab.systems import SYSTEMS
    from dynlab.systems.examples import facts

    return [facts(name, INPUTS, UNITS) for name in SYSTEMS]


def _tasks() -> list[dict[str, Any]]:
    from dynlab.tasks import TASKS

    found = []
    for name in TASKS:
        make = lookup(TASKS, name, "task")
        settings = {key: parameter.default for key, parameter in inspect.signature(make).parameters.items()}
        found.append({"name": name, "what": (inspect.getdoc(make) or "").partition("\n")[0], "settings": settings})
    return found


def _zoo() -> list[dict[str, Any]]:
    from dynlab import zoo

    return zoo.entries()


def _presets() -> list[dict[str, Any]]:
    from dynlab.training import PRESETS

    return [
        {
            "name": name,
            "system": one.system,
            "task": one.task,
            "row of": one.source or "the zoo",
            "reported": one.reported,
        }
        for name, one in PRESETS.items()
    ]


ENTRIES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "systems": _systems,
    "tasks": _tasks,
    "zoo": _zoo,
    "presets": _presets,
}
