"""Small trained networks that ship with the package, each with a JSON file that says where it came from.

A name of the zoo stands wherever a checkpoint's path does. This package knows names and files; what reads a file is
`dynlab.checkpoints`.
"""

import json
import warnings
from pathlib import Path
from typing import Any

from dynlab import files
from dynlab.checkpoints import read
from dynlab.errors import UserError, unknown
from dynlab.systems import Map

__all__ = ["entries", "load", "locate"]

FOLDER = Path(__file__).parent


def load(
    path_or_zoo_name: str | Path,
    layer: str | None = None,
    *,
    nonlinearity: str | None = None,
    encoder: str | None = None,
) -> Map:
    """A trained network from a file, or from the zoo by its name.

    Parameters
    ----------
    path_or_zoo_name : str or Path
        A name that `entries` lists goes before a file of the same name, which ``./name`` still means.
    layer : str, optional
        One of several recurrent layers in the file: the module's prefix, then ``:1`` or ``:1r``.
    nonlinearity : str, optional
        ``tanh`` or ``relu``: that of a plain RNN, where the file does not tell.
    encoder : str, optional
        The linear layer before the recurrent one and its activation, ``"encoder:tanh"``: the system then takes the
        whole model's inputs.

    Returns
    -------
    Map
        With its `source`, and its `task` where the file names one. Diagnostics take inputs of the width
        ``system.network_input_size``. One step takes ``system.input_size`` numbers. The two differ where `layer` is
        driven by the layers below it, which the diagnostics run first, and where a network reads tokens.

    Warns
    -----
    UserWarning
        If the file does not tell something: the nonlinearity, where tanh is assumed, or the layer before it.

    Raises
    ------
    UserError
        For an unknown name, for a file that holds a flow, and as `dynlab.checkpoints.read`, which also returns the
        read-out and the file's facts.
    """
    checkpoint = read(locate(path_or_zoo_name), layer=layer, nonlinearity=nonlinearity, encoder=encoder)
    system, assumed = checkpoint.system, [checkpoint.assumed] * bool(checkpoint.assumed)
    if checkpoint.behind:
        before = checkpoint.behind
        assumed.append(
            f"Inputs are the layer's own, behind {before}.weight: give encoder='{before}:tanh' (relu, none)."
        )
    if assumed:
        warnings.warn(" ".join(assumed), stacklevel=2)
    if not isinstance(system, Map):
        raise UserError(
            f"{path_or_zoo_name} holds a flow ({system.name}), not a map: take the step "
            f"dl.Euler(dynlab.checkpoints.read(path).system, step_size)."
        )
    return system


def locate(path_or_zoo_name: str | Path) -> Path:
    """The file that a path or a name of the zoo means.

    Raises
    ------
    UserError
        If there is neither such a file nor such a name.
    """
    names = {entry["name"]: Path(entry["file"]) for entry in entries()}
    path = Path(path_or_zoo_name)
    if isinstance(path_or_zoo_name, str) and path_or_zoo_name in names:
        return names[path_or_zoo_name]
    if files.exists(path):
        return path
    if len(path.parts) > 1 or path.suffix or not names:
        raise UserError(f"There is no file {path}; check the path, or take a name that `dynlab list zoo` prints.")
    raise unknown("file or zoo name", str(path), names)


def entries() -> list[dict[str, Any]]:
    """List what ships with the package, in the order of names.

    Returns
    -------
    list of dict
        The metadata of each network: ``name``, ``system``, ``config``, ``task``, ``test_accuracy`` (0 to 1, of the
        shipped seed), ``test_accuracy_mean`` and ``test_accuracy_std`` (over ``seeds``), ``validation_accuracy``,
        ``cell_parameters``, ``seed``, ``command``, ``data_sha256``, ``dynlab_version``, ``notes``, and ``file``, the
        path of the checkpoint. Of a network that was trained once, on all training data, ``test_accuracy_std`` and
        ``validation_accuracy`` are None.
    """
    found = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    placed = [entry | {"file": str(FOLDER / entry["file"])} for entry in found]
    return sorted(placed, key=lambda entry: str(entry["name"]))
