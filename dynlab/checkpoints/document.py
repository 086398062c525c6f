"""dynlab's own checkpoint: plain tensors and JSON-able facts, in a torch file or a safetensors file.

A document is ``{"format": "dynlab", "version": 1, "system": name, "config": {…}, "state_dict": {…},
"readout": {"weight", "bias"} or None, "task": {"name", …} or None, "training": {…}}``. `torch.save` writes it as it is;
a safetensors file keeps the tensors by dotted names and the rest as JSON in its header. In a checkpoint of the
training it stands under the key ``dynlab``.
"""

import json
import math
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from dynlab import files
from dynlab.checkpoints.layers import check_finite, linear_layers
from dynlab.errors import UserError
from dynlab.systems import SYSTEMS, System, create

FORMAT = "dynlab"
VERSION = 1
SAFETENSORS = ".safetensors"
EMBEDDING = "embedding.weight"  # the place in a state_dict that says that the network reads tokens
LARGEST_UNPROVED = 1000  # a whole number in a config, such as a length, that no weight stands for
# The kinds of a document's parts.
KINDS: dict[str, Any] = {
    "system": str,
    **dict.fromkeys(("config", "state_dict"), Mapping),
    **dict.fromkeys(("readout", "task", "training"), Mapping | None),
}
FACTS = ("format", "version", "system", "task", "training")  # of a document, beside its tensors and its config


def document(
    system: System,
    readout: nn.Module | Mapping[str, Tensor] | None = None,
    task: Mapping[str, Any] | str | None = None,
    training: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A system as dynlab's checkpoint keeps it.

    Parameters
    ----------
    system : System
        Made by `dynlab.create`, so that its name and config make it again.
    readout : torch.nn.Linear or mapping, optional
        From `System.output` to the classes or targets; its ``weight`` and ``bias``.
    task : mapping or str, optional
        The public name of the task under ``name``, and its settings.
    training : mapping, optional
        Facts of the training, JSON-able.

    Returns
    -------
    dict
        With copies of all tensors on the CPU, bit for bit.

    Raises
    ------
    UserError
        For a system that `SYSTEMS` does not name or that was not made from a config, for facts that JSON cannot hold,
        and for weights that are not finite.
    """
    if system.name not in SYSTEMS or not system.config:
        raise UserError(
            f"Only a system that dynlab.create made can be written, got {type(system).__name__} {system.name!r}; "
            f"save the state_dict of another one with torch.save."
        )
    weights = readout.state_dict() if isinstance(readout, nn.Module) else readout
    made = {
        "format": FORMAT,
        "version": VERSION,
        "system": system.name,
        "config": {name: _config_value(value) for name, value in system.config.items()},
        "state_dict": _copies(system.state_dict()),
        "readout": None if weights is None else _copies({"bias": None, **weights}),
        "task": {"name": task} if isinstance(task, str) else dict(task) if task else None,
        "training": dict(training or {}),
    }
    try:
        json.dumps([made["task"], made["training"]], allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UserError(f"The facts of a checkpoint must be what JSON can hold: {error}.") from error
    _check(made, "The system")
    return made


def save_checkpoint(
    system: System,
    path: str | Path,
    *,
    readout: nn.Module | Mapping[str, Tensor] | None = None,
    task: Mapping[str, Any] | str | None = None,
    training: Mapping[str, Any] | None = None,
) -> Path:
    """Write a system to a file that `dynlab.load` reads: a torch file, or safetensors where the suffix says so.

    Parameters
    ----------
    system : System
        Made by `dynlab.create`.
    path : str or Path
        An existing file is replaced.
    readout, task, training
        As in `document`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        As `document` and `write`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> path = save_checkpoint(create("vanilla", input_size=1, state_size=4), folder / "network.safetensors")
    >>> path.name
    'network.safetensors'
    """
    return write(path, document(system, readout, task, training))


def write(path: str | Path, document: Mapping[str, Any]) -> Path:
    """Write a document whole or not at all: a torch file, or safetensors where the suffix says so.

    Parameters
    ----------
    path : str or Path
        An existing file is replaced.
    document : mapping
        Made by `document`.

    Raises
    ------
    UserError
        For a folder that does not exist.
    """
    path = Path(path)
    files.write_bytes(path, (_as_safetensors if path.suffix == SAFETENSORS else as_torch)(dict(document)))
    return path


def as_torch(content: Any) -> memoryview:
    """Return what `torch.save` makes of it; the same bytes whatever the file is called."""
    buffer = BytesIO()
    torch.save(content, buffer)
    return buffer.getbuffer()


def restore(document: Mapping[str, Any], where: str) -> tuple[System, nn.Module | None]:
    """The system and the read-out of a document.

    Parameters
    ----------
    document : mapping
    where : str
        The file, which an error names.

    Raises
    ------
    UserError
        For a document of a newer version, an unknown system, tensors that do not fit, or weights that are not finite.
    """
    if document.get("version") != VERSION:
        raise UserError(f"{where} is not of version {VERSION} of the format, the one this dynlab reads: update dynlab.")
    _check(document, where)
    name, config, state = (document[key] for key in ("system", "config", "state_dict"))
    _check_sizes(config, state, where)
    given = _read_out(document)
    readout = linear_layers(given).get("readout")
    if given and (readout is None or len(readout.state_dict()) < len(given)):
        raise UserError(f"{where}: the read-out needs a weight (classes, output) and a bias (classes,) or None.")
    try:
        with torch.random.fork_rng(devices=[]):  # its random start is replaced: no number is drawn from the generator
            system: System = create(name, **config)
            if EMBEDDING in state:
                system.embed(len(state[EMBEDDING]))
    # a damaged config may be anything, and so may the error that it leads to
    except Exception as error:
        raise UserError(f"{where}: no system {name!r} can be made of its config: {error}") from error
    load_weights(system, state, f"{where}: the weights do not fit the system {name!r}")
    return system.eval(), readout


def _check_sizes(config: Mapping[str, Any], state: Mapping[str, Tensor], where: str) -> None:
    """Refuse a size that the weights do not bear out, before a network of that size is made."""
    held = sum(value.numel() for value in state.values())
    sizes = sorted(abs(value) for value in config.values() if isinstance(value, int))
    if max(sizes, default=0) > max(held, LARGEST_UNPROVED) or math.prod(sizes[-3:]) > 1000 * max(held, 100_000):
        raise UserError(f"{where} says that its sizes are larger than its {held:,} weights allow: copy it again.")


def from_safetensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> dict[str, Any]:
    """The document that `write` put into a safetensors file.

    Raises
    ------
    ValueError, TypeError, KeyError
        For a header or names of tensors that `write` does not write.
    """
    made: dict[str, Any] = json.loads(metadata[FORMAT])
    made |= {"state_dict": {}, "readout": {"bias": None} if made.pop("has_readout") else None}
    for name, value in tensors.items():
        part, _, key = name.partition(".")
        made[part][key] = value
    return made


def _as_safetensors(document: dict[str, Any]) -> bytes:
    # its own memory for each: safetensors refuses tensors that share theirs
    tensors = {
        f"{part}.{name}": value.detach().cpu().clone().contiguous()
        for part in ("config", "state_dict", "readout")
        for name, value in (document[part] or {}).items()
        if isinstance(value, Tensor)
    }
    facts = {name: document[name] for name in FACTS} | {"has_readout": document["readout"] is not None}
    facts["config"] = {name: value for name, value in document["config"].items() if not isinstance(value, Tensor)}
    return safetensors.torch.save(tensors, {FORMAT: json.dumps(facts, allow_nan=False)})


def load_weights(module: nn.Module, state: Mapping[str, Tensor], otherwise: str) -> None:
    """Load weights as they are, dtype included."""
    try:
        module.load_state_dict(dict(state), assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split()).partition(": ")[2] or str(error)
        raise UserError(f"{otherwise}: {reason}") from error


def _check(document: Mapping[str, Any], where: str) -> None:
    """Raise where a document is not of the kinds that `document` makes, or its numbers are not finite."""
    if all(isinstance(document.get(key), kind) for key, kind in KINDS.items()):
        tensors = {**document["state_dict"], **_read_out(document)}
        named = isinstance((document.get("task") or {"name": ""}).get("name"), str)
        if named and all(isinstance(value, Tensor) for value in tensors.values()):
            return check_finite(tensors, where)
    raise UserError(
        f"{where} is no whole checkpoint of dynlab's: it needs system, config and state_dict, by names of tensors."
    )


def _read_out(document: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a document's read-out, as they are named in a file."""
    return {f"readout.{name}": value for name, value in (document.get("readout") or {}).items() if value is not None}


def _copies(tensors: Mapping[str, Tensor | None]) -> dict[str, Tensor | None]:
    return {name: None if value is None else value.detach().cpu().clone() for name, value in tensors.items()}


def _config_value(value: Any) -> Any:
    if isinstance(value, np.ndarray | Tensor):
        return torch.as_tensor(value).detach().cpu().clone()
    return list(value) if isinstance(value, tuple) else value
