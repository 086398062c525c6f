"""torch's recurrent layers, recognised by the names and shapes of their parameters anywhere in a state dict."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import torch
from torch import Tensor, nn

from dynlab.checkpoints.naming import Choice, Extent
from dynlab.errors import UserError
from dynlab.words import agree, article, counted

_PARAMETER = re.compile(
    r"(?:(?P<prefix>.+)\.)?(?P<name>(?:weight|bias)_(?:ih|hh|hr)(?:_l(?P<layer>\d{1,18})(?P<reverse>_reverse)?)?)"
)

PLAIN = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)

# Rows of weight_hh in units of the hidden size, with the names of `dynlab.systems.SYSTEMS`.
KINDS = {1: "rnn", 3: "gru", 4: "lstm"}
PARTS = ("_raw", "_orig", "_g", "_v", "_mask")  # how the names end of what a weight is computed of
NAMES_SHOWN = 6  # of a file, in a sentence
_LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
_CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}


@dataclass(frozen=True)
class RecurrentLayer:
    """A torch RNN, GRU or LSTM (or one of their Cells) found in a state dict.

    Attributes
    ----------
    prefix : str
        Where it is, ``"encoder.rnn"``; empty at the root.
    kind : str
        ``rnn``, ``gru`` or ``lstm``.
    is_cell : bool
        One of torch's ``Cell`` classes.
    input_size, hidden_size, proj_size : int
    extent : Extent
    bias : bool
    weights : dict of str to Tensor
        Under torch's own names.
    """

    prefix: str
    kind: str
    is_cell: bool
    input_size: int
    hidden_size: int
    proj_size: int
    extent: Extent
    bias: bool
    weights: dict[str, Tensor]

    def module(self, nonlinearity: str, device: str = "cpu") -> nn.RNNBase | nn.RNNCellBase:
        """The torch module, with these weights; on ``device="meta"`` without them, for its shapes alone."""
        options = {"nonlinearity": nonlinearity} if self.kind == "rnn" else {}
        dtype = self.weights[f"weight_hh{'' if self.is_cell else '_l0'}"].dtype
        sizes = (self.input_size, self.hidden_size)
        if self.is_cell:
            made = _CELLS[self.kind](*sizes, bias=self.bias, device="meta", dtype=dtype, **options)
        else:
            projection = {"proj_size": self.proj_size} if self.kind == "lstm" else {}
            made = _LAYERS[self.kind](
                *sizes,
                num_layers=self.extent.layers,
                bias=self.bias,
                bidirectional=self.extent.bidirectional,
                device="meta",
                dtype=dtype,
                **projection,
                **options,
            )
        if device != "meta":
            made.load_state_dict(self.weights, assign=True)
        return made


def is_parameter(name: str) -> bool:
    """Whether a recurrent layer of torch may have a parameter of this name, with any prefix."""
    return _PARAMETER.fullmatch(name) is not None


def find_layers(tensors: Mapping[str, Tensor]) -> tuple[list[RecurrentLayer], dict[str, UserError]]:
    """Every recurrent layer in a state dict, and for each that looks like one but does not fit, why.

    Parameters
    ----------
    tensors : mapping of str to Tensor
        Parameter names to values, with any prefixes.

    Returns
    -------
    layers : list of RecurrentLayer
    misfits : dict of str to UserError
        By prefix.
    """
    groups: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        match = _PARAMETER.fullmatch(key)
        if match:
            groups.setdefault(match["prefix"] or "", {})[match["name"]] = value
    layers, misfits = [], {}
    ordered = sorted(tensors)
    for prefix, weights in groups.items():
        if not any(name.startswith("weight_hh") for name in weights):
            continue  # a name of the same form, but nothing recurs
        try:
            layer = _recognise(prefix, weights)
            _check_alone(layer, ordered)
            layers.append(layer)
        except UserError as error:
            misfits[prefix] = error
    return layers, misfits


def _recognise(prefix: str, weights: dict[str, Tensor]) -> RecurrentLayer:
    where = prefix or "the model"
    is_cell = "weight_hh" in weights
    first = "" if is_cell else "_l0"
    odd = sorted(name for name, value in weights.items() if not (is_plain(value) and value.is_floating_point()))
    if odd:
        raise UserError(
            f"{where}: {', '.join(odd)} {agree(len(odd), 'holds', 'hold')} no floating-point numbers as ordinary "
            f"tensors do; save the weights unquantised and dense."
        )
    for name in (f"weight_hh{first}", f"weight_ih{first}"):
        if name not in weights:
            raise UserError(f"{where} has {', '.join(sorted(weights))} but lacks {name}; save the whole layer.")
        if weights[name].ndim != 2:
            raise UserError(f"{where}: {name} must be a matrix, got shape {tuple(weights[name].shape)}.")
    if not weights[f"weight_ih{first}"].shape[1]:
        raise UserError(f"{where}: weight_ih{first} takes inputs of width 0; save a layer that takes some.")
    rows, columns = weights[f"weight_hh{first}"].shape
    projection = weights.get(f"weight_hr{first}")
    hidden = columns if projection is None else projection.shape[-1]
    if not hidden:
        raise UserError(
            f"{where}: weight_hh{first} has shape ({rows}, {columns}), of no unit; save a layer that has some."
        )
    kind = KINDS.get(rows // hidden) if rows % hidden == 0 else None
    if kind is None or (projection is not None and kind != "lstm"):
        raise UserError(
            f"{where}: weight_hh{first} has shape ({rows}, {columns}), but an RNN, a GRU or an LSTM of {hidden} units "
            f"takes {hidden}, {3 * hidden} or {4 * hidden} rows; give its class with --system."
        )
    indices = [int(match["layer"]) for match in map(_PARAMETER.fullmatch, weights) if match and match["layer"]]
    layer = RecurrentLayer(
        prefix=prefix,
        kind=kind,
        is_cell=is_cell,
        input_size=weights[f"weight_ih{first}"].shape[1],
        hidden_size=hidden,
        proj_size=0 if projection is None else columns,
        extent=Extent(1 + max(indices, default=0), any(name.endswith("_reverse") for name in weights)),
        bias=any(name.startswith("bias") for name in weights),
        weights=weights,
    )
    _check_shapes(layer, where)
    return layer


def _check_alone(layer: RecurrentLayer, ordered: Sequence[str]) -> None:
    """Raise where the module has parameters that torch's does not have: it computes something else with them.

    The names of all parameters are in order, so that those of one layer of thousands are found at once.
    """
    head = f"{layer.prefix}." if layer.prefix else ""
    beginning = islice(ordered, bisect_left(ordered, head), None)
    own = takewhile(lambda name: name.startswith(head), beginning)
    others = sorted(name for name in _within(layer, own) if layer.is_cell or "." not in name)
    others += _parts_above(layer, ordered)
    if others:
        shown = ", ".join(map(repr, others[:NAMES_SHOWN])) + (", …" if len(others) > NAMES_SHOWN else "")
        them, they = ("it", "it is") if len(others) == 1 else ("them", "they are")
        raise UserError(
            f"{layer.prefix or 'the model'} has the weights of {_described(layer)}, and beside them {shown}, which "
            f"torch's own layer lacks: what it computes with {them} the file does not tell. Give its class with "
            f"--system package.module:factory; where {they} of no step, save the file without {them}."
        )


def _parts_above(layer: RecurrentLayer, ordered: Iterable[str]) -> list[str]:
    """Return what seem to be parts of the layer's weights one level up, as ``weight_hh_l0_v`` beside its ``module``."""
    above = layer.prefix.rpartition(".")[0]
    names = {f"{above}.{name}" if above else name for name in layer.weights} if layer.prefix else set()
    return [name for name in ordered if name.rpartition("_")[0] in names and name.endswith(PARTS)]


def below(layer: RecurrentLayer, tensors: Mapping[str, Tensor]) -> list[str]:
    """The submodules that a layer's module has, of which torch's has none."""
    head = f"{layer.prefix}." if layer.prefix else ""
    inside = (name.rpartition(".")[0] for name in _within(layer, tensors))
    return [f"{head}{name}" for name in dict.fromkeys(inside) if name]


def _within(layer: RecurrentLayer, tensors: Iterable[str]) -> list[str]:
    """What the layer's module holds beside the layer's weights, by names within it."""
    head = f"{layer.prefix}." if layer.prefix else ""
    names = (name.removeprefix(head) for name in tensors if name.startswith(head))
    return [name for name in names if name not in layer.weights]


def _described(layer: RecurrentLayer) -> str:
    described = f"{'bidirectional ' if layer.extent.bidirectional else ''}{layer.kind.upper()} of "
    described += f"{counted(layer.hidden_size, 'unit')} and {counted(layer.extent.layers, 'layer')}"
    return article(described)


def _check_shapes(layer: RecurrentLayer, where: str) -> None:
    if layer.extent.layers > len(layer.weights):
        raise UserError(f"{where} lacks layers: it has only {', '.join(sorted(layer.weights))}.")
    if layer.proj_size >= layer.hidden_size:
        raise UserError(
            f"{where}: weight_hr{'' if layer.is_cell else '_l0'} projects {layer.hidden_size} units to "
            f"{layer.proj_size}, and an LSTM's projection has fewer; give its class with --system."
        )
    described = _described(layer)
    expected = {name: value.shape for name, value in layer.module("tanh", device="meta").state_dict().items()}
    for name, shape in expected.items():
        if name not in layer.weights:
            raise UserError(f"{where} looks like {described} but lacks {name}; save the whole layer.")
        if layer.weights[name].shape != shape:
            raise UserError(
                f"{where}: {name} has shape {tuple(layer.weights[name].shape)}, but {described} "
                f"takes {tuple(shape)}; give its class with --system."
            )
    surplus = sorted(set(layer.weights) - set(expected))
    if surplus:
        raise UserError(
            f"{where} looks like {described}, which has no {', '.join(surplus)}; give its class (--system)."
        )


def only_read_out(tensors: Mapping[str, Tensor], found: RecurrentLayer, chosen: Choice) -> tuple[str, nn.Linear] | None:
    """The linear layer that reads the chosen system, and its name: the file's only module beside the recurrent one.

    Where there are others the file does not tell what is between them, and where a direction or a layer below the top
    is chosen, what it gives is not what is read.
    """
    own = {f"{found.prefix}.{name}" if found.prefix else name for name in found.weights}
    others = {name: value for name, value in tensors.items() if name not in own}
    name, linear = next(iter(linear_layers(others).items()), ("", None))
    is_top = not found.extent.bidirectional and chosen.number in (None, found.extent.layers - 1)
    if linear is None or not is_top or linear.in_features != (found.proj_size or found.hidden_size):
        return None
    return (name, linear) if others.keys() == {f"{name}.{each}" for each in linear.state_dict()} else None


def linear_layers(tensors: Mapping[str, Tensor]) -> dict[str, nn.Linear]:
    """The linear layers of a state dict, in its order: a matrix ``NAME.weight``, with its bias where that fits."""
    found = {}
    for full, weight in tensors.items():
        name, _, last = full.rpartition(".")
        if last == "weight" and weight.ndim == 2 and _is_finite(weight):
            bias = tensors.get(f"{name}.bias")
            fits = bias is not None and bias.shape == weight.shape[:1] and _is_finite(bias)
            linear = nn.Linear(weight.shape[1], weight.shape[0], bias=fits, device="meta")
            linear.load_state_dict({"weight": weight} | ({"bias": bias} if fits else {}), assign=True)
            found[name] = linear.eval()
    return found


def encoders(tensors: Mapping[str, Tensor], found: RecurrentLayer) -> list[str]:
    """The linear layers that may drive a recurrent one: before it in the file, and as wide as its input."""
    own = f"{found.prefix}." if found.prefix else ""
    before = list(takewhile(lambda full: full.removeprefix(own) not in found.weights, tensors))
    linear = linear_layers({full: tensors[full] for full in before})
    return [name for name, one in linear.items() if one.out_features == found.input_size]


def is_plain(value: Tensor) -> bool:
    """Whether a tensor is an ordinary one: dense, with its numbers in memory, of a type that torch computes with."""
    return value.layout == torch.strided and value.dtype in PLAIN and not (value.is_meta or value.is_nested)


def _is_finite(value: Tensor) -> bool:
    return is_plain(value) and value.is_floating_point() and bool(value.isfinite().all())


def check_finite(tensors: Mapping[str, Tensor], where: str) -> None:
    """Raise where a weight is NaN or infinite: nothing that is computed from it would mean anything."""
    odd = [str(name) for name, value in tensors.items() if not is_plain(value)]
    if odd:
        raise UserError(f"{where} holds {', '.join(odd)}, no ordinary tensors of numbers: save them as such.")
    broken = [name for name, value in tensors.items() if bool(value.isnan().any()) or bool(value.isinf().any())]
    if broken:
        raise UserError(
            f"{where} holds NaN or infinite weights in {', '.join(broken)}: the training diverged; "
            f"take an earlier checkpoint."
        )
