"""A trained network read from a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from dynlab.checkpoints.contents import Contents, read_contents, source_of
from dynlab.checkpoints.document import restore
from dynlab.checkpoints.layers import (
    NAMES_SHOWN,
    RecurrentLayer,
    below,
    check_finite,
    encoders,
    find_layers,
    linear_layers,
    only_read_out,
)
from dynlab.checkpoints.modules import from_factory
from dynlab.checkpoints.naming import Choice, choose
from dynlab.errors import UserError, entry, one_line
from dynlab.systems import Map, System
from dynlab.systems.embedding import ACTIVATIONS, Encoder
from dynlab.systems.torch_layers import torch_layer
from dynlab.words import article, joined

DEFAULT_NONLINEARITY = "tanh"  # torch's own default; a file of weights does not tell
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
        Of that linear layer, ``net.fc``; empty where the file itself says what the read-out is.
    behind : str
        The linear layer that stands before the recurrent one and is not run, since nothing says with which activation.
    task : str or None
        The public name of the task it was trained on.
    facts : dict
        What the file says about the training.
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
        Which of several recurrent layers: the module's prefix, then ``:1`` or ``:1r`` (`dynlab.checkpoints.naming`).
    system_factory : str, optional
        ``"package.module:factory"``: a class or function of the user's own that makes the model, imported and called
        with those of the file's hyper-parameters that it takes by name; the weights are loaded into what it returns.
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
    task, readout_name, found, beside, behind = None, readout or "", None, "", ""
    system: System
    task_settings: dict[str, Any] = {}
    if system_factory is not None:
        system, beside = from_factory(path, contents, system_factory, layer)
    elif contents.document is not None:
        if layer is not None:
            raise UserError(f"{path} holds one system of dynlab's: leave --layer {layer!r} out.")
        system, read_by = restore(contents.document, str(path))
        task, task_settings = _task(contents.document)
    else:
        layers = {each.prefix: each for each in layers_of(path, contents)}
        chosen = choose({prefix: each.extent for prefix, each in layers.items()}, layer)
        layer = chosen.name
        found = layers[chosen.prefix]
        system = system_of(path, contents, found, chosen, nonlinearity or DEFAULT_NONLINEARITY)
        if readout is None:
            readout_name, read_by = only_read_out(contents.tensors, found, chosen) or ("", None)
        behind = next(iter(encoders(contents.tensors, found)), "") if encoder is None else ""
    if readout is not None:
        read_by = entry(linear_layers(contents.tensors), readout, "linear layer")
    if encoder is not None:
        name, _, activation = encoder.partition(":")
        linear = entry(linear_layers(contents.tensors), name, "linear layer")
        if activation not in ACTIVATIONS:
            raise UserError(
                f"A file does not tell an encoder's activation: give {name}:tanh, {name}:relu or {name}:none."
            )
        system.encode(Encoder(linear, activation))
    of_layer = _of_starts(path, contents, found), _of_submodules(path, contents, found, readout_name)
    told = _of_nonlinearity(path, contents, found, nonlinearity), _of_parts(path, contents), beside, *of_layer
    assumed = " ".join(filter(None, told))
    system.source, system.task, system.task_settings = source_of(path), task, task_settings
    facts, kind = contents.facts, contents.format
    return Checkpoint(system, read_by, task, facts, layer, kind, system.source, assumed, readout_name, behind)


def _of_nonlinearity(path: Path, contents: Contents, found: RecurrentLayer | None, given: str | None) -> str:
    """A sentence where a nonlinearity is assumed, or one that was given changes nothing."""
    told = contents.nonlinearities.get(found.prefix) if found is not None else None
    if found is not None and found.kind == "rnn" and told is None:
        return (
            ""
            if given
            else (
                f"{path.name} does not tell the nonlinearity of its RNN: {DEFAULT_NONLINEARITY} is assumed. Of ReLU "
                f"units give --nonlinearity relu (nonlinearity='relu')."
            )
        )
    if given in (None, told):
        return ""
    if told is not None:
        return f"{path.name} tells that the units of its RNN are {told}: nonlinearity {given} changes nothing."
    holds = "tells what its system is" if found is None else f"holds {article(found.kind.upper())}"
    return f"{path.name} {holds}: nonlinearity {given} is of a plain RNN alone, and changes nothing."


def _of_parts(path: Path, contents: Contents) -> str:
    """A sentence where a file holds weights beside those that are read."""
    if not contents.other_parts:
        return ""
    others = [one_line(name) for name in contents.other_parts]
    return (
        f"{path.name} holds weights in {joined([contents.part, *others])}: those of {contents.part} are read. To read "
        f"others, save their part alone."
    )


def _of_starts(path: Path, contents: Contents, found: RecurrentLayer | None) -> str:
    """A sentence where tensors beside a layer have the names of an initial state, which torch's layers do not keep."""
    starts = [name for name in contents.tensors if name.rpartition(".")[2].lower() in STARTS]
    if found is None or not starts:
        return ""
    named = joined([one_line(name) for name in starts[:NAMES_SHOWN]])
    return (
        f"{path.name} holds {named}, which may be a learned initial state: it is not read, and orbits start at 0. In "
        f"Python initial_state= sets another."
    )


def _of_submodules(path: Path, contents: Contents, found: RecurrentLayer | None, readout_name: str) -> str:
    """A sentence where the module of a layer has others in it, which may change what it computes."""
    if found is None:
        return ""
    inside = [name for name in below(found, contents.tensors) if name != readout_name]
    if not inside:
        return ""
    them = "it" if len(inside) == 1 else "them"
    return (
        f"{path.name} holds {joined([one_line(name) for name in inside[:NAMES_SHOWN]])} inside the module of its "
        f"{found.kind.upper()}, which is read as torch's own, without {them}: where its step uses {them}, give its "
        f"class with --system."
    )


def layers_of(path: Path, contents: Contents) -> list[RecurrentLayer]:
    """The recurrent layers of a file, or the error that says why it has none."""
    layers, misfits = find_layers(contents.tensors)
    if layers:
        return layers
    if misfits:
        raise UserError(f"{path}: {next(iter(misfits.values()))}")
    names = [name or "one tensor without a name" for name in contents.tensors]
    shown = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "") or "no tensors"
    fix = "give your own class with --system package.module:factory"
    if any(".original" in name for name in names):
        fix = (
            "its weights are computed by a parametrization that the file does not name: call "
            "torch.nn.utils.parametrize.remove_parametrizations(module, name) before saving, or take the model itself "
            "in Python, dynlab.from_module(model)"
        )
    if not names or any("_packed_params" in name for name in names):
        fix = "quantised and scripted weights are packed: save the state_dict of the model as it was before"
    if contents.format == "numpy":
        fix = (
            "if it is one of these, name its arrays as torch's state_dict does: weight_ih_l0, weight_hh_l0, bias_ih_l0 "
            "and bias_hh_l0; another network, such as a leaky one, is given as its step, dynlab.from_function"
        )
    raise UserError(f"{path} has no RNN, GRU or LSTM layer (it holds {shown}); {fix}.")


def system_of(path: Path, contents: Contents, found: RecurrentLayer, chosen: Choice, nonlinearity: str) -> Map:
    """The chosen system of a layer; a nonlinearity that the file tells goes before the one given."""
    check_finite(found.weights, str(path))
    nonlinearity = contents.nonlinearities.get(found.prefix, nonlinearity)
    system = torch_layer(found.module(nonlinearity), chosen.number, chosen.reverse).eval()
    system.name = found.kind
    if chosen.number is None:
        system.config = config_of(found, nonlinearity)
    return system


def config_of(found: RecurrentLayer, nonlinearity: str) -> dict[str, Any]:
    """The arguments of `dynlab.create` that make a system of the same shapes."""
    config: dict[str, Any] = {
        "input_size": found.input_size,
        "hidden_size": found.hidden_size,
        "num_layers": found.extent.layers,
        "bias": found.bias,
    }
    own: dict[str, dict[str, Any]] = {
        "rnn": {"nonlinearity": nonlinearity},
        "lstm": {"proj_size": found.proj_size, "forget_bias": None},
    }
    return config | own.get(found.kind, {})


def _task(document: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The name of the task and its settings."""
    task = document.get("task")
    if task is None:
        return None, {}
    return task["name"], {str(key): value for key, value in task.items() if key != "name"}
