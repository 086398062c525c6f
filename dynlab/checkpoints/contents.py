"""What a file of any known format holds: tensors by name, dynlab's own document where there is one, and facts."""

import hashlib
import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import torch
from torch import Tensor

from dynlab.checkpoints.document import FORMAT, from_safetensors
from dynlab.checkpoints.inert import PICKLE_START, SAFE_ALTERNATIVE, SHOWN, ZIP_START, Foreign, load
from dynlab.checkpoints.layers import is_parameter, is_plain
from dynlab.checkpoints.normalised import normalised
from dynlab.checkpoints.other_formats import is_numpy_archive, members, other_format
from dynlab.errors import UserError, damage
from dynlab.files import check_readable

Value = TypeVar("Value")

# Where a training script's checkpoint keeps the model's weights, in the order in which they are looked for.
WRAPPERS = ("state_dict", "model_state_dict", "model")
DYNLAB_KEY = "dynlab"  # of dynlab's document in a Lightning checkpoint
LIGHTNING_KEY = "pytorch-lightning_version"
DATA_PARALLEL, COMPILED = "module.", "_orig_mod."
NOT_READ = "no numbers: not read"  # of an array beside the weights
CHECKPOINT_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npz")
# Facts lie near the top of a file; whatever is deeper (or refers to itself) is not one.
DEEPEST_FACT = 6
MOST_FACTS, LONGEST_FACT, LARGEST_INTEGER = 10_000, 10_000, 10**300
DEEPEST = 100  # levels that are looked through for tensors
LARGEST_UNPACKED = 2**31  # bytes of all arrays in a .npz, which may be packed
DOUBLE = 8  # bytes of the largest real number that torch has
# Of a safetensors file, by that format's own limit; a text's first eight bytes make a larger number.
LONGEST_HEADER = 100_000_000


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    format : str
        ``dynlab``, ``lightning``, ``safetensors``, ``numpy``, ``state_dict`` or ``module`` (a whole module, pickled).
    tensors : dict of str to Tensor
        Parameters by name, without the prefixes of wrappers.
    document : dict or None
        dynlab's own (`dynlab.checkpoints.document`).
    facts : dict
        What the file says about the training, JSON-able.
    nonlinearities : dict of str to str
        Of plain RNNs by prefix, which only whole modules tell.
    part : str
        Which part of a training script's file the tensors are of, ``model_state_dict``; empty where it is all of it.
    other_parts : tuple of str
        The parts beside it that hold weights of recurrent layers too, and are not read.
    """

    format: str
    tensors: dict[str, Tensor]
    document: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    nonlinearities: dict[str, str] = field(default_factory=dict)
    part: str = ""
    other_parts: tuple[str, ...] = ()


def read_contents(path: Path) -> Contents:
    """Read a file of any known format, on the CPU, without running code."""
    head = _head(path)
    # first, as the length of a safetensors header may begin with the byte that a pickle begins with
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= LONGEST_HEADER:
        return _of_safetensors(path)
    names = members(path) if head.startswith(ZIP_START) else []
    if is_numpy_archive(names):
        return _of_numpy(path)
    if refusal := other_format(path, head, names):
        raise UserError(refusal)
    if head.startswith((ZIP_START, PICKLE_START)):
        return _of_torch(load(path))
    raise UserError(f"{path} is no checkpoint (it starts with {head[:8]!r}); {SAFE_ALTERNATIVE}.")


def source_of(path: Path) -> dict[str, str]:
    """The name of a file and its SHA-256."""
    with path.open("rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _head(path: Path) -> bytes:
    if os.path.isdir(path):
        inside = sorted(entry.name for entry in path.iterdir() if entry.suffix in CHECKPOINT_SUFFIXES)
        example = f", such as {path / inside[0]}" if inside else ""
        raise UserError(f"{path} is a folder: name a checkpoint file in it{example}.")
    check_readable(path)
    with path.open("rb") as file:
        head = file.read(9)
    if not head:
        raise UserError(f"{path} is empty; copy or save the checkpoint again.")
    return head


def _of_safetensors(path: Path) -> Contents:
    try:
        with safetensors.safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
        document = from_safetensors(tensors, metadata)
    # a damaged file may make its readers raise anything
    except Exception as error:
        raise UserError(f"{path} is damaged, or no safetensors file ({error}); copy it again.") from error
    if document is not None:
        return _of_document("safetensors", document, {})
    return Contents("safetensors", normalised(_renamed(tensors)), facts=plain(metadata))


def _of_numpy(path: Path) -> Contents:
    tensors: dict[str, Tensor] = {}
    facts: dict[str, Any] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if sum(entry.file_size for entry in arrays.zip.infolist()) > LARGEST_UNPACKED:
                raise UserError(f"{path} unpacks to more than {LARGEST_UNPACKED:,} bytes: save it by numpy.savez.")
            if twice := next((name for name, count in Counter(arrays.files).items() if count > 1), None):
                raise UserError(f"{path} holds two arrays with the name {twice[:SHOWN]!r}: save it anew.")
            for name in arrays.files:
                array = _numbers(path, arrays, name)
                if array is None:
                    facts[name] = NOT_READ
                else:
                    tensors[name] = torch.from_numpy(array)
    # a damaged file drives numpy into any error
    except Exception as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} cannot be read as an archive of weights: {damage(error)}.") from error
    return Contents("numpy", normalised(_renamed(tensors)), facts=plain(facts))


def _numbers(path: Path, arrays: Any, name: str) -> np.ndarray | None:
    """Return an array that torch can hold; None if it holds no real numbers and is no weight."""
    try:
        array = arrays[name]
        kind = str(array.dtype)
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= DOUBLE:
            return np.array(array, array.dtype.newbyteorder("="), order="C")
    except ValueError:  # they are not unpickled
        kind = "objects"
    if is_parameter(name):
        raise UserError(f"{path} must hold real numbers in {name!r}, got {kind[:SHOWN]}: save it as float64.")
    return None


def _of_torch(tree: Any) -> Contents:
    if isinstance(tree, Mapping):
        if tree.get("format") == FORMAT:
            return _of_document("dynlab", dict(tree), {})
        facts = _facts(tree)
        if isinstance(tree.get(DYNLAB_KEY), Mapping):
            return _of_document("lightning", dict(tree[DYNLAB_KEY]), facts)
        kind = "lightning" if LIGHTNING_KEY in tree else "module" if _is_module(tree) else "state_dict"
    else:
        facts, kind = {}, "state_dict"
    nonlinearities: dict[str, str] = {}
    model, part, others = _unwrapped(tree)
    tensors = dict(_flatten(model, "", nonlinearities, set()))
    if not any("weight_hh" in name for name in tensors):  # which may be in a part of another name, or nowhere
        whole = dict(_flatten(tree, "", nonlinearities := {}, set()))
        if not tensors or any("weight_hh" in name for name in whole):
            part, others, tensors = "", (), whole
    told = {f"{prefix}.weight_hh": value for prefix, value in nonlinearities.items()}  # renamed as a parameter is
    told = {name.rpartition(".")[0]: value for name, value in _renamed(told).items()}
    return Contents(kind, normalised(_renamed(tensors)), None, facts, told, part, others)


def _of_document(kind: str, document: dict[str, Any], facts: dict[str, Any]) -> Contents:
    training = document.get("training")
    told = plain(training) if isinstance(training, Mapping) else {}
    state = document.get("state_dict")
    return Contents(kind, dict(state) if isinstance(state, Mapping) else {}, document, facts | told)


def _unwrapped(tree: Any) -> tuple[Any, str, tuple[str, ...]]:
    """The model's own part of a training script's checkpoint, its name, and those of others that hold weights."""
    part, others, seen = "", list[str](), set[int]()
    for _ in range(DEEPEST):
        if not isinstance(tree, Mapping) or id(tree) in seen:
            break
        seen.add(id(tree))
        inside = [name for name in WRAPPERS if isinstance(tree.get(name), Mapping)]
        if not inside:
            break
        beside = {_name(key): value for key, value in tree.items() if key != inside[0]}
        others += [f"{part}{name}" for name, value in beside.items() if _holds_weights(value)]
        tree, part = tree[inside[0]], f"{part}{inside[0]}."
    return tree, part.removesuffix("."), tuple(others)


def _holds_weights(tree: Any) -> bool:
    """Whether weights of a recurrent layer lie somewhere in a part of a file."""
    return any(is_parameter(name) for name, _ in _flatten(tree, "", {}, set()))


def _is_module(value: Any) -> bool:
    return isinstance(value, Foreign) and isinstance(value.state, Mapping) and "_parameters" in value.state


def _flatten(
    tree: Any, prefix: str, nonlinearities: dict[str, str], seen: set[int], depth: int = 0
) -> Iterator[tuple[str, Tensor]]:
    """Every tensor below nested dictionaries, lists and whole modules, by its dotted name; each container once."""
    if isinstance(tree, Tensor):
        yield prefix.removesuffix("."), tree
        return
    if id(tree) in seen:
        return
    seen.add(id(tree))
    if depth >= DEEPEST:
        raise UserError(f"The file nests its contents more than {DEEPEST} levels deep; {SAFE_ALTERNATIVE}.")
    if _is_module(tree):
        state = tree.state
        if isinstance(state.get("nonlinearity"), str):
            nonlinearities[prefix.removesuffix(".")] = state["nonlinearity"]
        parts = [state.get(name) for name in ("_parameters", "_buffers", "_modules")]
        entries = [item for part in parts if isinstance(part, Mapping) for item in part.items()]
    elif isinstance(tree, Mapping):
        entries = list(tree.items())
    elif isinstance(tree, list | tuple):
        entries = list(enumerate(tree))
    else:
        return
    for name, value in entries:
        yield from _flatten(value, f"{prefix}{_name(name)}.", nonlinearities, seen, depth + 1)


def _renamed(named: Mapping[str, Value]) -> dict[str, Value]:
    """Names without what torch.compile and DataParallel put before them."""
    cleaned = {name.replace(COMPILED, ""): value for name, value in named.items()}
    if all(name.startswith(DATA_PARALLEL) for name in cleaned):
        cleaned = {name.removeprefix(DATA_PARALLEL): value for name, value in cleaned.items()}
    return cleaned


def _facts(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """What stands beside the weights at the top of a file: numbers, words, and Lightning's hyper-parameters."""
    told = {name: value for name, value in tree.items() if isinstance(value, bool | int | float | str)}
    if isinstance(tree.get("hyper_parameters"), Mapping):
        told["hyper_parameters"] = tree["hyper_parameters"]
    facts: dict[str, Any] = plain(told)
    return facts


def plain(value: Any) -> Any:
    """The value in JSON's types; what has none is described in words, and what is too deep or too much left out."""
    return _plain(value, itertools.count(), 0)


def _plain(value: Any, count: Iterator[int], depth: int) -> Any:
    seen = next(count)
    if isinstance(value, str):
        return value if len(value) <= LONGEST_FACT else f"{value[:LONGEST_FACT]}…"
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        return "a whole number of more than 300 digits"
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth > DEEPEST_FACT or seen > MOST_FACTS:
        return "…"
    if isinstance(value, Foreign):
        inside = value.state if isinstance(value.state, Mapping) else None
        value = dict(value) or inside or value.listed or repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        items = itertools.islice(value.items(), max(0, MOST_FACTS - seen))
        return {_name(name): _plain(entry, count, depth + 1) for name, entry in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry, count, depth + 1) for entry in itertools.islice(value, max(0, MOST_FACTS - seen))]
    if isinstance(value, Tensor):
        if value.numel() == 1 and is_plain(value) and not value.is_complex():
            return _plain(value.item(), count, depth + 1)
        return f"tensor of shape {tuple(value.shape)}" if value.layout == torch.strided else "tensor"
    if isinstance(value, float | torch.dtype | torch.device):
        return str(value)
    return type(value).__name__


def _name(key: Any) -> str:
    """A key of a mapping as a name; one that is long, or no text and no number, in a word."""
    if isinstance(key, str):
        return key
    return str(key) if isinstance(key, int) and abs(key) < LARGEST_INTEGER else type(key).__name__
