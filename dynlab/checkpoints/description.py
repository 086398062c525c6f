"""The contents of a checkpoint: systems with their names and sizes, and facts of the training; no analysis."""

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from dynlab.checkpoints.checkpoint import config_of, layers_of, read_as, system_of
from dynlab.checkpoints.contents import Contents, plain, read_contents, source_of
from dynlab.checkpoints.document import restore
from dynlab.checkpoints.layers import (
    Layer,
    encoders,
    is_plain,
    linear_layers,
    nonlinearity_of,
    only_read_out,
)
from dynlab.checkpoints.naming import Choice, system_choices
from dynlab.systems import System


def describe(path: str | Path) -> dict[str, Any]:
    """List what is in a checkpoint, in JSON's types.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        ``file``, ``sha256``, ``format``, ``bytes``, ``parameters`` (of everything in the file), ``systems`` (a list of
        ``layer``, ``system``, ``state_size``, ``input_size`` (of the network: what ``--inputs`` have),
        ``step_input_size`` (of one step, another where layers below drive it or tokens are read), ``parameters``,
        ``dtype``, ``config``), ``misfits`` (what looks like a recurrent layer and is none, with the reason),
        ``readout`` (the shape of its weight), ``task``, ``training``, ``linear`` (name to shape of every linear layer,
        in order), ``encoders`` (those that may drive the first layer), ``read_as`` (a sentence for each kind of layer
        that only its names, no class in the file, tell).

    Raises
    ------
    UserError
        As `dynlab.checkpoints.read`; several layers are all described.
    """
    path = Path(path)
    contents = read_contents(path)
    document = contents.document
    misfits: dict[str, str] = {}
    shape, linear, before, by_names = None, {}, list[str](), list[str]()
    if document is not None:
        system, readout = restore(document, str(path))
        shape = list(readout.weight.shape) if isinstance(readout, nn.Linear) else None
        systems = [_entry(system, None, system.config)]
    else:
        layers, misfits = layers_of(path, contents)
        systems = [entry for prefix, found in layers.items() for entry in _entries(path, contents, prefix, found)]
        first = next(iter(layers))
        linear = {name: list(one.weight.shape) for name, one in linear_layers(contents.tensors).items()}
        name = only_read_out(contents.tensors, layers[first], Choice(first))
        shape = None if name is None else linear[name]
        before = encoders(contents.tensors, layers[first])
        told = [sentence for prefix, found in layers.items() for sentence in read_as(path, contents, prefix, found)]
        by_names = list(dict.fromkeys(told))
    held = [*contents.tensors.values(), *((document or {}).get("readout") or {}).values()]
    return {
        **source_of(path),
        "format": contents.format,
        "bytes": path.stat().st_size,
        "parameters": sum(value.numel() for value in held if isinstance(value, Tensor) and is_plain(value)),
        "systems": systems,
        "misfits": misfits,
        "readout": shape,
        "task": plain(document.get("task")) if document else None,
        "training": contents.facts,
        "linear": linear,
        "encoders": before,
        "read_as": by_names,
    }


def _entries(path: Path, contents: Contents, prefix: str, found: Layer) -> list[dict[str, Any]]:
    """The systems of one recurrent layer: one, or where it is bidirectional one for each layer and direction."""
    config = config_of(found) | {"bidirectional": getattr(found.part, "bidirectional", False)}
    if "nonlinearity" in config:
        config["nonlinearity"] = nonlinearity_of(contents.modules.get(prefix))  # None where the file does not tell
    return [
        _entry(system_of(path, found, chosen), chosen.name, config) | {"parameters": _own_parameters(found, chosen)}
        for chosen in system_choices(prefix, found.part)
    ]


def _entry(system: System, layer: str | None, config: dict[str, Any]) -> dict[str, Any]:
    parameters = list(system.parameters())
    return {
        "layer": layer,
        "system": system.name,
        "state_size": system.state_size,
        "input_size": system.network_input_size,
        "step_input_size": system.input_size,
        "parameters": sum(value.numel() for value in parameters),
        "dtype": str(parameters[0].dtype).removeprefix("torch.") if parameters else None,
        "config": {k: v for k, v in config.items() if v is None or isinstance(v, str | int | float | bool | list)},
    }


def _own_parameters(found: Layer, chosen: Choice) -> int:
    """The number of parameters of the layer itself, without those below it that drive it."""
    suffix = "" if chosen.number is None else f"_l{chosen.number}{'_reverse' if chosen.reverse else ''}"
    return sum(value.numel() for name, value in found.part.named_parameters() if name.endswith(suffix))
