"""A trained network read from a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dynlab.arguments import takes
from dynlab.checkpoints.contents import Contents, read_contents, source_of
from dynlab.checkpoints.document import restore
from dynlab.checkpoints.inert import Foreign
from dynlab.checkpoints.layers import (
    DEFAULT_NONLINEARITY,
    GIVE_CLASS,
    NAMES_SHOWN,
    OF_TORCH,
    SLIDES,
    Layer,
    check_finite,
    encoders,
    find_layers,
    linear_layers,
    nonlinearity_of,
    only_read_out,
)
from dynlab.checkpoints.modules import from_factory
from dynlab.checkpoints.naming import Choice, choose
from dynlab.errors import UserError, entry, one_line
from dynlab.systems import SYSTEMS, Map, System
from dynlab.systems.embedding import ACTIVATIONS, Encoder
from dynlab.systems.torch_layers import torch_layer
from dynlab.words import joined

# How a learned initial state is named beside a layer, after the last dot.
STARTS = frozenset({"h0", "c0", "h_0", "c_0", "hx", "cx", "h_init", "c_init", "init_hidden", "initial_state"})


@dataclass(frozen=True)
class Checkpoint:
    """A trained network from a file.

    Attributes
    ----------
    system : System
        A Map, but where a flow was written. In the file's own precision, with `source` and `task` set.
    readout : torch.nn.Module or None
        From `System.output` to the classes or targets, where the file says so, or holds one linear layer of that width
        and nothing else beside the recurrent one.
    readout_name : str
        Name of that linear layer, ``net.fc``; empty if the file itself says what the read-out is.
    behind : str
        The linear layer that stands before the recurrent one and is not run, since nothing says with which activation.
    task : str or None
        The public name of the task it was trained on.
    facts : dict
        Facts of the training that the file has.
    layer : str or None
        The system's name in the file: ``encoder.rnn:1r``; None where the file holds just one system of dynlab's.
    format : str
        ``dynlab``, ``lightning``, ``safetensors``, ``numpy``, ``state_dict`` or ``module``.
    source : dict
        ``{"file": name, "sha256": digest}``.
    assumed : str
        Sentences on what the file does not tell and was not given, on what was given and changes nothing, and on
        weights beside those that are read; empty where nothing is to be said.
    """

    system: System
    readout: nn.Module | None
    task: str | None
    facts: dict[str, Any] = field(repr=False)
    layer: str | None
    format: str
    source: dict[str, str]
    assumed: str = ""
    readout_name: str = ""
    behind: str = ""


def read(
    path: str | Path,
    *,
    layer: str | None = None,
    system_factory: str | None = None,
    batch: NDArray[np.float64] | None = None,
    nonlinearity: str | None = None,
    encoder: str | None = None,
    readout: str | None = None,
) -> Checkpoint:
    """Read a trained network from a file, without running code from it.

    Known are dynlab's own format, safetensors, Lightning's checkpoints, state dicts with the usual wrappers, whole
    modules, and arrays of numpy's (.npz) that have the names of a state dict. torch's RNN, GRU and LSTM are recognised
    by their parameters anywhere inside a larger model.

    Parameters
    ----------
    path : str or Path
    layer : str, optional
        One of several recurrent layers: the module's prefix, then ``:1`` or ``:1r`` (`dynlab.checkpoints.naming`).
    system_factory : str, optional
        ``"package.module:factory"``: a class or function of the user's own that makes the model, imported and called
        with those of the file's hyper-parameters that it takes by name; the weights are loaded into what it returns.
    batch : ndarray, shape (sample, time, input), optional
        Inputs of the whole model that `system_factory` makes: it is run on them, and what its layer is given is kept.
    nonlinearity : str, optional
        ``tanh`` or ``relu``: that of a plain RNN, where the file does not tell. Without it ``tanh``, as torch has it,
        is taken, and `assumed` says so.
    encoder : str, optional
        The linear layer before the recurrent one and its activation, ``"encoder:tanh"`` (tanh, relu or none): the
        system then takes the whole model's inputs.
    readout : str, optional
        The linear layer that reads the state.

    Returns
    -------
    Checkpoint

    Raises
    ------
    UserError
        For a file that is missing, empty, truncated, unsafe or of another kind; one without a recurrent layer, or with
        several and no `layer`; weights that do not fit each other, or are NaN or infinite.
    """
    path = Path(path)
    if nonlinearity not in ("tanh", "relu", None):
        raise UserError(f"The nonlinearity of torch's RNN is tanh or relu, got {nonlinearity!r}.")
    contents = read_contents(path)
    read_by: nn.Module | None = None
    task, said, behind = dict[str, Any](), _units(path.name, nonlinearity), ""
    if system_factory is not None:
        system = from_factory(path, contents, system_factory, layer, batch)
    elif contents.document is not None:
        if layer is not None:
            raise UserError(f"{path} holds one system of dynlab's: leave --layer {layer!r} out.")
        system, read_by = restore(contents.document, str(path))
        task = dict(contents.document.get("task") or {})
    else:
        layers, _ = layers_of(path, contents, nonlinearity)
        chosen = choose({prefix: each.part for prefix, each in layers.items()}, layer)
        found, layer = layers[chosen.prefix], chosen.name
        system = system_of(path, found, chosen)
        readout = only_read_out(contents.tensors, found, chosen) if readout is None else readout
        behind = next(iter(encoders(contents.tensors, found)), "") if encoder is None else ""
        said = _assumptions(path, contents, chosen.prefix, found, readout or "")
        said += _units(path.name, nonlinearity, found, contents.modules.get(chosen.prefix))
    if readout is not None:
        read_by = entry(linear_layers(contents.tensors), readout, "linear layer")
    if encoder is not None:
        system.encode(_encoder(linear_layers(contents.tensors), encoder))
    system.source, system.task = source_of(path), task.pop("name", None)
    system.task_settings = {str(key): value for key, value in task.items()}
    return Checkpoint(
        system=system,
        readout=read_by,
        task=system.task,
        facts=contents.facts,
        layer=layer,
        format=contents.format,
        source=system.source,
        assumed=" ".join(said),
        readout_name=readout or "",
        behind=behind,
    )


def _units(name: str, asked: str | None, found: Layer | None = None, module: Foreign | None = None) -> list[str]:
    """The sentence on the nonlinearity that is assumed, or asked for in vain."""
    told = nonlinearity_of(module)
    is_untold = found is not None and found.kind == "rnn" and told is None
    if is_untold and asked is None:
        return [
            f"{name} does not tell the nonlinearity of its RNN: {DEFAULT_NONLINEARITY} is assumed. Of ReLU units give "
            f"--nonlinearity relu (nonlinearity='relu')."
        ]
    if not is_untold and asked not in (None, told):
        return [f"{name} is no plain RNN of unknown units: nonlinearity {asked} changes nothing."]
    return []


def _encoder(linear: Mapping[str, nn.Linear], told: str) -> Encoder:
    """Return the linear layer before the recurrent one with its activation, of ``"encoder:tanh"``."""
    name, _, activation = told.partition(":")
    before = entry(linear, name, "linear layer")
    if activation not in ACTIVATIONS:
        raise UserError(f"A file does not tell an encoder's activation: give {name}:tanh, {name}:relu or {name}:none.")
    return Encoder(before, activation)


def _assumptions(path: Path, contents: Contents, prefix: str, found: Layer, readout_name: str) -> list[str]:
    """Sentences on what a file of weights does not tell of a layer, and on what it holds that is not read."""
    numbered = not isinstance(found.part, nn.RNNCellBase | Map)  # as only torch names the layers of a stack
    said = [] if numbered and prefix not in contents.modules else read_as(path, contents, prefix, found)
    starts = [one_line(name) for name in contents.tensors if name.rpartition(".")[2].lower() in STARTS]
    if starts:
        said.append(
            f"{path.name} holds {joined(starts[:NAMES_SHOWN])}, which may be a learned initial state: it is not read, "
            f"and orbits start at 0. In Python initial_state= sets another."
        )
    modules = dict.fromkeys(f"{prefix}.{name}".rpartition(".")[0].strip(".") for name in found.beside if "." in name)
    inside = [one_line(name) for name in modules if name != readout_name]
    if inside:
        said.append(
            f"{path.name} holds {joined(inside[:NAMES_SHOWN])} inside the module of its {found.kind.upper()}, which is "
            f"read as torch's own, without: where its step uses more, {GIVE_CLASS}."
        )
    return said


def read_as(path: Path, contents: Contents, prefix: str, found: Layer) -> list[str]:
    """The sentence on a layer that its names tell, and no class in the file; none where the file has torch's class.

    Names are no proof: other libraries give them to cells with other steps.
    """
    module = contents.modules.get(prefix)
    if module is not None and module.called.startswith(OF_TORCH):
        return []
    own = "" if module is None else f", though its class is {one_line(module.called)}"
    like, more = f"torch.nn.{found.kind.upper()}", ""
    if isinstance(found.part, Map):
        like = f"the slides' {SLIDES}"
        more = " γ, an argument of its call in M = W − Wᵀ − γ, is not in the file: 0 is taken."
    return [f"{path.name} is read as {like} by its names{own}. If another cell has these names, {GIVE_CLASS}.{more}"]


def layers_of(
    path: Path, contents: Contents, nonlinearity: str | None = None
) -> tuple[dict[str, Layer], dict[str, str]]:
    """The recurrent layers of a file and what is none and why, by prefix; or the error that says why it has none."""
    layers, misfits = find_layers(contents.tensors, contents.modules, nonlinearity or DEFAULT_NONLINEARITY)
    if layers:
        return layers, misfits
    if misfits:
        raise UserError(f"{path}: {next(iter(misfits.values()))}")
    names = [name or "one tensor without a name" for name in contents.tensors]
    shown = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "") or "no tensors"
    raise UserError(
        f"{path} has no RNN, GRU or LSTM layer under torch's names (it holds {shown}). Quantised weights are packed, "
        f"parametrized and pruned ones lie in parts: save the state_dict of the model as it was before, or after "
        f"torch.nn.utils.parametrize.remove_parametrizations, or name arrays as docs/your-own.md shows. Of another "
        f"network {GIVE_CLASS}, or its step, dynlab.from_function."
    )


def system_of(path: Path, found: Layer, chosen: Choice) -> Map:
    """The chosen system of a layer."""
    part = found.part
    check_finite(part.state_dict(), str(path))
    if isinstance(part, Map):
        return part
    system = torch_layer(part, chosen.number, chosen.reverse).eval()
    system.name = found.kind
    if chosen.number is None:
        system.config = config_of(found)
    return system


def config_of(found: Layer) -> dict[str, Any]:
    """The arguments of `dynlab.create` that make a system of the same shapes."""
    if isinstance(found.part, Map):
        return found.part.config
    settings = takes(SYSTEMS, found.kind, "system")
    return {name: getattr(found.part, name, one.default) for name, one in settings.items()}
