"""`dynlab inspect`: what is in a checkpoint."""

from typing import Any

import click

from .options import NetworkName
from .output import echo, print_json, print_table


@click.command()
@click.argument("checkpoint", type=NetworkName(), metavar="CKPT")
@click.option("--layer", help="Only this recurrent layer: its prefix in the model, then :1 or :1r.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
def inspect(checkpoint: str, layer: str | None, as_json: bool) -> None:
    """Say what is in a checkpoint: systems, sizes, parameters, facts of the training; no analysis.

    CKPT is a file or a name that `dynlab list zoo` prints. The column "layer" is what --layer of the other commands
    takes, and "inputs" the width of their --inputs. Where layers below drive a layer, or tokens are read, "inputs of a
    step" says how many numbers one of its steps takes.

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
        return
    echo(f"{found['file']}: format {found['format']}, {found['bytes']:,} bytes, {found['parameters']:,} parameters")
    echo(f"sha256 {found['sha256']}\n")
    _print_systems(found["systems"])
    for sentence in found["read_as"]:
        echo(sentence)
    if found["linear"]:
        shapes = [f"{name} ({outputs} × {width})" for name, (outputs, width) in found["linear"].items()]
        echo(f"linear layers: {', '.join(shapes)}")
    for name in found["encoders"]:
        echo(
            f"{name} stands before the network: --encoder {name}:tanh (or relu, none) drives it by the model's inputs."
        )
    for prefix, reason in found["misfits"].items():
        echo(f"Not readable as a torch layer: {prefix or 'the root'}: {reason}")
    if found["other_parts"]:
        echo(f"This is {found['part']}; weights of {', '.join(found['other_parts'])} are not read.")
    if found["readout"]:
        outputs, width = found["readout"]
        echo(f"read-out: {width:,} to {outputs:,}")
    if found["task"]:
        echo(f"task: {_settings(found['task'])}")
    if found["training"]:
        echo(f"training: {_settings(found['training'])}")
    echo(f"\nDoes it forget? `dynlab report {checkpoint}` answers.")


def _print_systems(systems: list[dict[str, Any]]) -> None:
    import pandas as pd

    names = {"state_size": "state", "input_size": "inputs", "step_input_size": "inputs of a step"}
    frame = pd.DataFrame(systems)
    columns = ["layer", "system", "state_size", "input_size", "step_input_size", "parameters", "dtype"]
    if (frame["input_size"] == frame["step_input_size"]).all():
        columns.remove("step_input_size")
    shown = frame[columns].rename(columns=names)
    shown["layer"] = [("(the only one)" if name is None else name or "(root)") for name in frame["layer"]]
    print_table(shown)
    echo()
    if "lstm" in set(frame["system"]):
        echo("The state of an LSTM is h and c together.")
    for layer, entry in zip(shown["layer"], systems, strict=True):
        config = {name: value for name, value in entry["config"].items() if name != "input_size" and value is not None}
        if "nonlinearity" in entry["config"]:
            config["nonlinearity"] = entry["config"]["nonlinearity"] or "not in the file (--nonlinearity)"
        if config:
            echo(f"settings{f' of {layer}' if len(systems) > 1 else ''}: {_settings(config)}")


def _settings(facts: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={_settings(value) if isinstance(value, dict) else value}" for name, value in facts.items()
    )
