"""`dynlab inspect`: what is in a checkpoint."""

from typing import Any

import click

from dynlab.errors import one_line

from .options import NetworkName
from .output import print_json
from .streams import echo


@click.command()
@click.argument("checkpoint", type=NetworkName(), metavar="CKPT")
@click.option("--layer", help="Only this recurrent layer: its prefix in the model, then :1 or :1r.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
def inspect(checkpoint: str, layer: str | None, as_json: bool) -> None:
    """Say what is in a checkpoint: systems, sizes, parameters, facts of the training; no analysis.

    CKPT is a file or a name that `dynlab zoo` lists. The column "layer" is what --layer of the other commands takes,
    and "input" the width of their --inputs. Where layers below drive a layer, or tokens are read, the column "step's
    input" says how many numbers one of its steps takes.

    \b
    dynlab inspect model.pt
    dynlab inspect gru-flipflop --json
    """
    from dynlab import zoo
    from dynlab.checkpoints import describe, read

    path = zoo.locate(checkpoint)
    found = describe(path)
    if layer is not None:
        chosen = read(path, layer=layer).layer
        found["systems"] = [each for each in found["systems"] if each["layer"] == chosen]
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from dynlab.wording import agree, joined, number

    from .columns import print_table

    size = f"{found['bytes']:,} bytes, {found['parameters']:,} parameters"
    echo(f"{one_line(found['file'])}: format {found['format']}, {size}")
    echo(f"sha256 {found['sha256']}\n")
    both = any(entry["input_size"] != entry["step_input_size"] for entry in found["systems"])
    rows = [
        [
            _layer(entry["layer"]),
            entry["system"],
            f"{entry['state_size']:,}",
            f"{entry['input_size']:,}",
            *([f"{entry['step_input_size']:,}"] if both else []),
            f"{entry['parameters']:,}",
            entry["dtype"] or "",
        ]
        for entry in found["systems"]
    ]
    numeric = ["state", "input", *(["step's input"] if both else []), "parameters"]
    print_table(["layer", "system", *numeric, "dtype"], rows, numeric)
    if any(entry["system"] == "lstm" for entry in found["systems"]):
        echo("\nThe state of an LSTM is h and c together.")
    for entry in found["systems"]:
        if settings := _config(entry["config"]):
            of = f" of layer {one_line(_layer(entry['layer']))}" if len(found["systems"]) > 1 else ""
            echo(f"\nsettings{of}: {settings}")
    for prefix, reason in found["misfits"].items():
        echo(f"\nNot readable as a torch layer: {one_line(prefix or 'the root')}: {one_line(reason)}")
    echo()
    if found["other_parts"]:
        others = [one_line(name) for name in found["other_parts"]]
        verb = agree(len(others), "holds", "hold")
        echo(f"All this is of {one_line(found['part'])}: {joined(others)} {verb} weights too, which are not read.")
    if found["readout"]:
        outputs, width = found["readout"]
        echo(f"read-out: {width:,} to {outputs:,}")
    if found["task"]:
        echo(f"task: {_settings(found['task'])}")
    if found["training"]:
        results = [name for name in found["training"] if name.startswith("test_")]
        echo("training:")
        for name in [*results, *(name for name in found["training"] if name not in results)]:
            value = found["training"][name]
            told = number(value) if name in results and isinstance(value, float) else one_line(_plain(value))
            echo(f"  {one_line(name)}: {_settings(value) if isinstance(value, dict) else told}")


def _layer(name: str | None) -> str:
    return "(the only one)" if name is None else name or "(root)"


def _config(config: dict[str, Any]) -> str:
    """The settings that the other columns do not tell; a plain RNN's nonlinearity even where the file does not."""
    shown = {name: value for name, value in config.items() if value is not None and name != "input_size"}
    if config.get("nonlinearity", "") is None:
        shown["nonlinearity"] = "not in the file (--nonlinearity)"
    return _settings(shown)


def _settings(facts: dict[str, Any]) -> str:
    return one_line(", ".join(f"{name}={_plain(value)}" for name, value in facts.items()))


def _plain(value: Any) -> str:
    """A fact as an option takes it: of a list its entries, and "none" where there is nothing."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
