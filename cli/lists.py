"""`dynlab inspect` and `dynlab list`: what is in a checkpoint, and what there is by name."""

from pkgutil import resolve_name
from typing import Any

import click

from dynlab.errors import UserError

from .options import Command, networks, shared
from .output import echo, print_json, print_table
from .source import Source

OF_A_SYSTEM = {
    "system": "system",
    "state": "state_size",
    "inputs": "input_size",
    "inputs of a step": "step_input_size",
    "parameters": "parameters",
    "dtype": "dtype",
}
NAMED = 3  # states
# What lists each kind of thing, as "module:function", and the columns of its table.
LISTED = {
    "systems": (
        "dynlab.systems.examples:listed",
        ["name", "kind", "state_size", "parameters", "bound_known", "program", "what"],
    ),
    "tasks": ("dynlab.tasks:listed", ["name", "what"]),
    "zoo": ("dynlab.zoo:entries", ["name", "system", "task", "test_accuracy", "cell_parameters", "seed"]),
    "presets": ("dynlab.training.presets:listed", ["name", "system", "task", "row of", "reported"]),
}


@click.command(cls=Command, params=shared(("factory", "config"), factory={"help": "Describe this system."}))
@click.argument("checkpoint", shell_complete=networks, metavar="[CKPT]", required=False)
@click.option("--layer", help="Only this recurrent layer: its prefix in the model, then :1 or :1r.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
def inspect(checkpoint: str | None, layer: str | None, as_json: bool, **said: Any) -> None:
    """Say what is in a checkpoint, or what a system is: sizes, parameters, facts of the training; no analysis.

    CKPT is a file or a name that `dynlab list zoo` prints. The column "layer" is what --layer of the other commands
    takes, and "inputs" the width of their --inputs. Where layers below drive a layer, or tokens are read, "inputs of a
    step" says how many numbers one of its steps takes. The state of an LSTM is h and c together. What is found of a
    system is proved where its step is a program.

    \b
    dynlab inspect model.pt
    dynlab inspect gru-flipflop --json
    dynlab inspect --system lorenz --set rho=20
    """
    import pandas as pd

    from dynlab import zoo
    from dynlab.checkpoints import describe, read

    if checkpoint is None and said["factory"] is None:
        raise UserError("Name what to inspect: CKPT or --system NAME.")
    if checkpoint is None or said["factory"]:
        given = {name: value for name, value in (said | {"layer": layer}).items() if value}
        _print_system(Source(checkpoints=(checkpoint,) if checkpoint else (), given=given.keys(), **given), as_json)
        return
    path = zoo.locate(checkpoint)
    found = describe(path)
    if layer is not None:
        chosen = read(path, layer=layer).layer
        found["systems"] = [each for each in found["systems"] if each["layer"] == chosen]
    if as_json:
        print_json(found)
        return
    systems = found["systems"]
    echo(f"{found['file']}: format {found['format']}, {found['bytes']:,} bytes, {found['parameters']:,} parameters")
    echo(f"sha256 {found['sha256']}\n")
    rows = [{"layer": _layer(each)} | {title: each[key] for title, key in OF_A_SYSTEM.items()} for each in systems]
    same = all(each["input_size"] == each["step_input_size"] for each in systems)
    print_table(pd.DataFrame(rows).drop(columns=["inputs of a step"] * same))
    settings = {f"settings of {_layer(each)}": _configured(each["config"]) for each in systems}
    facts = [f"{name}: {fact}" for name, fact in (settings | _facts(found)).items() if fact]
    for line in ("", *found["read_as"], *facts, f"\nDoes it forget? `dynlab report {checkpoint}` answers."):
        echo(line)


def _print_system(source: Source, as_json: bool) -> None:
    """Print what a system is: its settings, its sizes, the first states' names, and why its step is no program."""
    from dynlab.systems import SYSTEMS
    from dynlab.systems.examples import facts, facts_of

    source.check(optional=False)
    system, unknown = source.cell, {"name": source.name, "settings": {}}
    made: dict[str, Any] = facts(source.name) if source.name in SYSTEMS else unknown
    names = ", ".join(system.state_names[:NAMED]) + ", …" * (system.state_size > NAMED)
    found = made | {"settings": made["settings"] | dict(source.config), "states": names} | facts_of(system)
    if as_json:
        print_json(found)
    else:
        told = found | {"settings": _settings(found["settings"])}
        echo("\n".join(f"{each.replace('_', ' ')}: {fact}" for each, fact in told.items() if fact != ""))


def _layer(entry: dict[str, Any]) -> str:
    return "(the only one)" if entry["layer"] is None else entry["layer"] or "(root)"


def _configured(config: dict[str, Any]) -> str:
    """Return a system's settings in words."""
    known = {name: value for name, value in config.items() if name != "input_size" and value is not None}
    unknown = {"nonlinearity": "not in the file (--nonlinearity)"} if config.get("nonlinearity", "") is None else {}
    return _settings(known | unknown)


def _facts(found: dict[str, Any]) -> dict[str, str]:
    """Return what is said of the file below its systems, empty where there is nothing."""
    linear = [f"{name} ({outputs} × {width})" for name, (outputs, width) in found["linear"].items()]
    misfits = [f"{prefix or 'the root'}: {reason}" for prefix, reason in found["misfits"].items()]
    return {
        "linear layers": ", ".join(linear),
        "before the network": ", ".join(f"--encoder {name}:tanh (or relu, none)" for name in found["encoders"]),
        "not readable as a torch layer": "; ".join(misfits),
        "read-out": "{1} to {0}".format(*found["readout"]) if found["readout"] else "",
        "task": _settings(found["task"] or {}),
        "training": _settings(found["training"] or {}),
    }


def _settings(facts: dict[str, Any]) -> str:
    parts = {name: value for name, value in facts.items() if isinstance(value, dict) and value}
    plain = [f"{name}={value}" for name, value in facts.items() if not isinstance(value, dict)]
    return ", ".join(plain + [f"{name.replace('_', ' ')} ({_settings(part)})" for name, part in parts.items()])


@click.command("list")
@click.argument("what", type=click.Choice([*LISTED]))
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

    place, columns = LISTED[what]
    found = resolve_name(place)()
    if as_json:
        print_json(found)
    else:
        print_table(pd.DataFrame(found).filter(columns))
