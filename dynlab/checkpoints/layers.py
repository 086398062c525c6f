"""torch's recurrent layers, recognised by the names and shapes of their parameters anywhere in a state dict."""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dynlab.checkpoints.inert import DTYPES, Foreign
from dynlab.checkpoints.naming import Choice
from dynlab.errors import UserError, one_line
from dynlab.systems import Map, create
from dynlab.words import joined

_PARAMETER = re.compile(r"(?:(?P<prefix>.+)\.)?(?P<part>(?:weight|bias)_(?:ih|hh|hr))(?:_l\d{1,18}(?:_reverse)?)?")

DEFAULT_NONLINEARITY = "tanh"  # torch's own default; a file of weights does not tell
# Rows of weight_hh in units of the hidden size, to torch's layer and cell.
KINDS: dict[float, tuple[Any, Any]] = {1: (nn.RNN, nn.RNNCell), 3: (nn.GRU, nn.GRUCell), 4: (nn.LSTM, nn.LSTMCell)}
PARTS = ("_raw", "_orig", "_g", "_v", "_mask")  # how the names end of what a weight is computed of
NAMES_SHOWN = 6  # of a file, in a sentence
SLIDES, SLIDES_STEP = "ASNNCell", 0.01  # the AntisymmetricRNN of a talk's slides, and the step in its code
OF_TORCH = "torch.nn.modules.rnn."  # what the names of torch's own classes begin with
GIVE_CLASS = "give its class with --system package.module:factory"


class Layer(NamedTuple):
    """A recurrent layer found in a state dict.

    Attributes
    ----------
    part : torch.nn.RNN, GRU, LSTM, one of their Cells, or a Map
        With the file's weights.
    names : frozenset of str
        Its own parameters, by their full names.
    beside : tuple of str
        The other names in the module.
    """

    part: Any
    names: frozenset[str]
    beside: tuple[str, ...]

    @property
    def kind(self) -> str:
        """A name of `dynlab.systems.SYSTEMS`: ``rnn``, ``gru``, ``lstm`` or ``antisymmetric``."""
        return self.part.name if isinstance(self.part, Map) else type(self.part).__name__.removesuffix("Cell").lower()

    @property
    def output_size(self) -> int:
        """The count of numbers that it gives at a step, in one direction."""
        part = self.part
        return part.state_size if isinstance(part, Map) else getattr(part, "proj_size", 0) or part.hidden_size


def is_parameter(name: str) -> bool:
    """Tell if a recurrent layer of torch may have a parameter of this name, with any prefix."""
    return _PARAMETER.fullmatch(name) is not None


def find_layers(
    tensors: Mapping[str, Tensor], modules: Mapping[str, Foreign], default: str = DEFAULT_NONLINEARITY
) -> tuple[dict[str, Layer], dict[str, str]]:
    """Every recurrent layer in a state dict, and for each that looks like one but does not fit, why; by prefix.

    Parameters
    ----------
    tensors : mapping of str to Tensor
        Parameter names to values, with any prefixes.
    modules : mapping of str to Foreign
        The recurrent modules of a file that says more of them than its tensors, by prefix.
    default : str
        The nonlinearity of plain RNNs where the file does not tell.
    """
    matches = [match for match in map(_PARAMETER.fullmatch, tensors) if match]
    prefixes = dict.fromkeys(match["prefix"] or "" for match in matches if match["part"] == "weight_hh")
    layers, misfits = {}, {}
    for prefix in prefixes:
        where, head, module = prefix or "the model", f"{prefix}." if prefix else "", modules.get(prefix)
        inside = {name.removeprefix(head): value for name, value in tensors.items() if name.startswith(head)}
        try:
            if module is not None and not module.called.startswith(OF_TORCH) and "mode" not in module.state:
                raise UserError(
                    f"{where} is a {one_line(module.called)}, whose step the file does not hold: {GIVE_CLASS}."
                )
            layer = _of_slides(inside) or _of_torch(where, inside, nonlinearity_of(module) or default)
            _check_alone(where, layer, _parts_above(prefix, layer.names, tensors))
            layers[prefix] = layer._replace(names=frozenset(head + name for name in layer.names))
        except UserError as error:
            misfits[prefix] = str(error)
    return layers, misfits


def nonlinearity_of(module: Foreign | None) -> str | None:
    """The nonlinearity of a plain RNN that a whole module tells."""
    told = module.state.get("nonlinearity") if module is not None else None
    return told if told in ("tanh", "relu") else None


def _of_torch(where: str, inside: dict[str, Tensor], nonlinearity: str) -> Layer:
    """The layer of torch whose parameters have these names and shapes."""
    weights = {name: value for name, value in inside.items() if is_parameter(name) and "." not in name}
    _check_real(where, weights)
    suffix = "" if "weight_hh" in weights else "_l0"
    try:
        columns = weights[f"weight_hh{suffix}"].shape[1]
        hidden = weights.get(f"weight_hr{suffix}", weights[f"weight_hh{suffix}"]).shape[1]
        layer, cell = KINDS[len(weights[f"weight_hh{suffix}"]) / hidden]
        reverse = [name for name in weights if name.endswith("_reverse")]
        count = sum("weight_hh" in name for name in weights.keys() - {*reverse})
        options: dict[str, Any] = {"bidirectional": bool(reverse), "num_layers": count} if suffix else {}
        projection = {"proj_size": columns} if columns != hidden else {}
        options |= {"nonlinearity": nonlinearity} if layer is nn.RNN else projection
        made = (layer if suffix else cell)(
            weights[f"weight_ih{suffix}"].shape[1],
            hidden,
            bias=any(name.startswith("bias") for name in weights),
            device="meta",
            dtype=weights[f"weight_hh{suffix}"].dtype,
            **options,
        )
        made.load_state_dict(weights, assign=True)
    # of a shape, a name, a projection, a cell with one
    except (RuntimeError, ValueError, TypeError, LookupError, ZeroDivisionError) as error:
        shapes = joined([f"{name} {tuple(value.shape)}" for name, value in sorted(weights.items())])
        raise UserError(
            f"{where} is no RNN, GRU or LSTM of torch's: its weights are {shapes}, and weight_hh has 1, 3 or 4 rows "
            f"for each unit; {GIVE_CLASS}."
        ) from error
    return Layer(made, frozenset(weights), tuple(name for name in inside if name not in weights))


def _check_real(where: str, weights: Mapping[str, Tensor]) -> None:
    odd = sorted(name for name, value in weights.items() if not is_real(value))
    if odd:
        raise UserError(
            f"{where}: {joined(odd)}: no floating-point numbers as ordinary tensors hold them; save the weights "
            f"unquantised and dense."
        )


def _of_slides(weights: dict[str, Tensor]) -> Layer | None:
    """The slides' AntisymmetricRNN, h + 0.01 tanh((W − Wᵀ) h + V x + b), where these are its three parameters."""
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    size, width = shapes["weight_hh"][-1:] if "weight_hh" in shapes else (), shapes.get("weight_ih", (0,))[-1]
    if not size or not width or shapes != {"weight_ih": (*size, width), "weight_hh": size * 2, "bias": size}:
        return None
    _check_real(SLIDES, weights)
    with torch.random.fork_rng(devices=[]):
        made: Any = create("antisymmetric", input_size=width, state_size=size[0], step_size=SLIDES_STEP, gamma=0.0)
    made = made.to(weights["weight_hh"].dtype).eval()
    with torch.no_grad():
        made.flow.M = weights["weight_hh"] - weights["weight_hh"].T
        made.flow.V.copy_(weights["weight_ih"])
        made.flow.b.copy_(weights["bias"])
    return Layer(made, frozenset(weights), ())


def _check_alone(where: str, layer: Layer, above: list[str]) -> None:
    """Raise where the weights cannot be those of torch's layer, or others beside them say that they are not."""
    is_cell = isinstance(layer.part, nn.RNNCellBase)
    strange = (name for name in layer.beside if is_cell or "." not in name or name.startswith("parametrizations."))
    others = [*sorted(strange), *above]
    if others:
        shown = ", ".join(map(repr, others[:NAMES_SHOWN])) + (", …" if len(others) > NAMES_SHOWN else "")
        raise UserError(
            f"{where} has the weights of torch's {type(layer.part).__name__}, and beside them {shown}, which torch's "
            f"lacks: the file does not tell what they are for. {GIVE_CLASS.capitalize()}; where they are of no "
            f"step, save the file without them."
        )
    matrix = layer.part.weight_hh if isinstance(layer.part, nn.RNNCell) else torch.eye(1)
    if len(matrix) > 1 and matrix.any() and torch.equal(matrix, -matrix.T):
        raise UserError(
            f"{where} has the names of an RNN cell, but its weight_hh is antisymmetric to the last digit: of an "
            f"AntisymmetricRNN, whose step is h + ε tanh(…), {GIVE_CLASS}."
        )


def _parts_above(prefix: str, weights: Iterable[str], tensors: Mapping[str, Tensor]) -> list[str]:
    """Return what seem to be parts of the layer's weights one level up, as ``weight_hh_l0_v`` beside its ``module``."""
    above = f"{prefix.rpartition('.')[0]}." if "." in prefix else ""
    return sorted(tensors.keys() & {f"{above}{name}{part}" for name in weights for part in PARTS if prefix})


def only_read_out(tensors: Mapping[str, Tensor], found: Layer, chosen: Choice) -> str | None:
    """The name of the linear layer that reads the chosen system: the file's only module beside the recurrent one.

    None where there are others, since the file does not tell what is between them, and where a direction or a layer
    below the top is chosen, since what it gives is not what is read.
    """
    others = {name: value for name, value in tensors.items() if name not in found.names}
    name, linear = next(iter(linear_layers(others).items()), ("", None))
    part = found.part
    is_top = not getattr(part, "bidirectional", False) and chosen.number in (None, getattr(part, "num_layers", 1) - 1)
    if linear is None or not is_top or linear.in_features != found.output_size:
        return None
    return name if others.keys() == {f"{name}.{each}" for each in linear.state_dict()} else None


def linear_layers(tensors: Mapping[str, Tensor]) -> dict[str, nn.Linear]:
    """The linear layers of a state dict, in its order: a matrix ``NAME.weight``, with its bias where that fits."""
    usable = {name: value for name, value in tensors.items() if is_real(value) and value.isfinite().all()}
    found = {}
    for full, weight in usable.items():
        name, _, last = full.rpartition(".")
        if last == "weight" and weight.ndim == 2:
            bias = usable.get(f"{name}.bias")
            own = {"weight": weight} | ({} if bias is None or bias.shape != weight.shape[:1] else {"bias": bias})
            found[name] = nn.Linear(weight.shape[1], weight.shape[0], "bias" in own, device="meta")
            found[name].load_state_dict(own, assign=True)
    return found


def encoders(tensors: Mapping[str, Tensor], found: Layer) -> list[str]:
    """The linear layers that may drive a recurrent one: before it in the file, and as wide as its input."""
    before = takewhile(lambda name: name not in found.names, tensors)
    linear = linear_layers({name: tensors[name] for name in before})
    return [name for name, one in linear.items() if one.out_features == found.part.input_size]


def is_plain(value: Tensor) -> bool:
    """Tell if a tensor is an ordinary one: dense, with its numbers in memory, of a type that torch computes with."""
    return value.layout == torch.strided and value.dtype in DTYPES.values() and not (value.is_meta or value.is_nested)


def is_real(value: Tensor) -> bool:
    """Tell if a tensor is an ordinary one of floating-point numbers."""
    return is_plain(value) and value.is_floating_point()


def check_finite(tensors: Mapping[str, Tensor], where: str) -> None:
    """Raise where a weight is NaN or infinite: nothing that is computed from it would mean anything."""
    broken = [one_line(name) for name, value in tensors.items() if not (is_plain(value) and value.isfinite().all())]
    if broken:
        raise UserError(
            f"{where} holds NaN or infinite weights in {', '.join(broken)}, or tensors without numbers (sparse, packed "
            f"or on the meta device): take a checkpoint from before the training diverged, of plain numbers."
        )
