"""What is in a checkpoint: systems with their names and sizes, and facts of the training; no analysis."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from dynlab.checkpoints.checkpoint import DEFAULT_NONLINEARITY, config_of, layers_of, system_of
from dynlab.checkpoints.contents import Contents, plain, read_contents, source_of
from dynlab.checkpoints.document import restore
from dynlab.checkpoints.layers import RecurrentLayer, encoders, find_layers, is_plain, linear_layers, only_read_out
from dynlab.checkpoints.naming import Choice, choose, system_names
from dynlab.systems import System


def describe(path: str | Path) -> dict[str, Any]:
    """What is in a checkpoint, in JSON's types.

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
        ``readout`` (the shape of its weight), ``task``, ``training``, ``part`` (which part of the file all this is of,
        empty where it is the whole), ``other_parts`` (those beside it that hold weights too, and are not read),
        ``linear`` (name to shape of every linear layer, in order), ``encoders`` (those that may drive the first layer).

    Raises
    ------
    UserError
        As `dynlab.checkpoints.read`; several layers are all described.
    """
    path = Path(path)
    contents = read_contents(path)
    document = contents.document
    misfits: dict[str, str] = {}
    shape, linear, before = None, {}, list[str]()
    if document is not None:
        system, readout = restore(document, str(path))
        shape = list(readout.weight.shape) if isinstance(readout, nn.Linear) else None
        systems = [_entry(system, None, system.config)]
    else:
        layers = layers_of(path, contents)
        systems = [entry for found in layers for entry in _entries(path, contents, found)]
        read = only_read_out(contents.tensors, layers[0], Choice(layers[0].prefix, None, False))
        shape = None if read is None else list(read[1].weight.shape)
        linear = {name: list(one.weight.shape) for name, one in linear_layers(contents.tensors).items()}
        before = encoders(contents.tensors, layers[0])
        misfits = {prefix: str(error) for prefix, error in find_layers(contents.tensors)[1].items()}
    return {
        **source_of(path),
        "format": contents.format,
        "bytes": path.stat().st_size,
        "parameters": _size(contents.tensors) + _size((document or {}).get("readout")),
        "systems": systems,
        "misfits": misfits,
        "readout": shape,
        "task": plain(document.get("task")) if document else None,
        "training": contents.facts,
        "part": contents.part,
        "other_parts": list(contents.other_parts),
        "linear": linear,
        "encoders": before,
    }


def _entries(path: Path, contents: Contents, found: RecurrentLayer) -> list[dict[str, Any]]:
    """The systems of one recurrent layer: one, or where it is bidirectional one for each layer and direction."""
    told = contents.nonlinearities.get(found.prefix)
    config = config_of(found, DEFAULT_NONLINEARITY) | {"bidirectional": found.extent.bidirectional}
    if "nonlinearity" in config:
        config["nonlinearity"] = told  # None where the file does not tell
    entries = []
    for name in system_names(found.prefix, found.extent):
        chosen = choose({found.prefix: found.extent}, name)
        system = system_of(path, contents, found, chosen, DEFAULT_NONLINEARITY)
        entries.append(_entry(system, name, config) | {"parameters": _own_parameters(found, chosen)})
    return entries


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


def _own_parameters(found: RecurrentLayer, chosen: Choice) -> int:
    """How many parameters the layer itself has, without those below it that drive it."""
    suffix = "" if chosen.number is None else f"_l{chosen.number}{'_reverse' if chosen.reverse else ''}"
    return sum(value.numel() for name, value in found.weights.items() if name.endswith(suffix))


def _size(tensors: Any) -> int:
    """How many numbers the ordinary ones among tensors hold."""
    values = tensors.values() if isinstance(tensors, Mapping) else ()
    return sum(value.numel() for value in values if isinstance(value, Tensor) and is_plain(value))
