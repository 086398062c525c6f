"""The contents of a file of any known format: tensors by name, dynlab's own document where there is one, and facts."""

import hashlib
import itertools
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from torch import Tensor

from dynlab.checkpoints.document import FORMAT, from_safetensors
from dynlab.checkpoints.inert import REMEDY, Foreign, load
from dynlab.checkpoints.layers import is_parameter, is_plain
from dynlab.checkpoints.normalised import normalised
from dynlab.errors import UserError, damage
from dynlab.files import check_readable

# Where a training script's checkpoint keeps the model's weights, in the order in which they are looked for.
WRAPPERS = ("state_dict", "model_state_dict", "model")
DYNLAB_KEY = "dynlab"  # of dynlab's document in a Lightning checkpoint
LIGHTNING_KEY = "pytorch-lightning_version"
DATA_PARALLEL, COMPILED = "module.", "_orig_mod."
CHECKPOINT_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npz")
FACTS = bool | int | float | str  # of the training, beside the weights and Lightning's hyper-parameters
# Facts lie near the top of a file; whatever is deeper (or refers to itself) is not one.
DEEPEST_FACT = 6
MOST_FACTS, LONGEST_FACT, LARGEST_NUMBER = 10_000, 10_000, 1e300
LONGEST_NAME, MOST_TENSORS = 500, 100_000  # letters of a tensor's; what lies deeper in a file is left out
LARGEST_UNPACKED = 2**31  # bytes of all arrays in a .npz, which may be packed
# Of a safetensors file, by that format's own limit; a text's first eight bytes make a larger number.
LONGEST_HEADER = 100_000_000
ZIP_START, PICKLE_START, HDF5_START, NUMPY_START = b"PK\x03\x04", b"\x80", b"\x89HDF\r\n\x1a\n", b"\x93NUMPY"
OLD_START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9"  # torch's before 1.6
ONNX_START, ONNX_NEXT = 0x08, 0x12  # the version's tag in a model's first byte, and the producer's name's in its third
BY_NUMPY = "write its arrays under torch's names with numpy.savez, as docs/your-own.md shows"
STATE_DICT = "save its weights with torch.save(torch.{}, new_path)"


@dataclass(frozen=True)
class Contents:
    """The contents of a file.

    Attributes
    ----------
    format : str
        ``dynlab``, ``lightning``, ``safetensors``, ``numpy``, ``state_dict`` or ``module`` (a whole module, pickled).
    tensors : dict of str to Tensor
        Parameters by name, without the prefixes of wrappers.
    document : dict or None
        dynlab's own (`dynlab.checkpoints.document`).
    facts : dict
        About the training, JSON-able.
    modules : dict of str to Foreign
        By prefix what a file of whole modules says of the recurrent ones.
    part : str
        The part of a training script's file that the tensors are of, ``model_state_dict``; empty where it is all of it.
    other_parts : tuple of str
        The parts beside it that hold weights of recurrent layers too, and are not read.
    """

    format: str
    tensors: dict[str, Tensor]
    document: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, Foreign] = field(default_factory=dict)
    part: str = ""
    other_parts: tuple[str, ...] = ()


def read_contents(path: Path) -> Contents:
    """Read a file of any known format, on the CPU, without running code."""
    check_readable(path)
    with path.open("rb") as file:
        head = file.read(9)
    try:
        # first, as the length of a safetensors header may begin with the byte that a pickle begins with
        if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= LONGEST_HEADER:
            return _of_safetensors(path)
        names = zipfile.ZipFile(path).namelist() if head.startswith(ZIP_START) else []
        if names and all(name.endswith(".npy") for name in names):
            return _of_numpy(path)
        _refuse_other_formats(path, head, names)
        tree = load(path)
    except UserError as error:
        raise UserError(f"{path} {error}.") from error
    # a damaged file drives its readers into any error
    except Exception as error:
        raise UserError(f"{path} cannot be read as a checkpoint: {damage(error)}.") from error
    return _of_torch(tree)


def _refuse_other_formats(path: Path, head: bytes, names: Sequence[str]) -> None:
    """Raise for a file that is no archive of torch's, and name the way out.

    `head` are the first bytes of the file, `names` those in it, if it is a zip archive.
    """
    inside = [name for name in names if name.endswith((".pt", ".pth", ".ckpt", ".safetensors"))]
    is_onnx = path.suffix == ".onnx" or (len(head) > 2 and (head[0], head[2]) == (ONNX_START, ONNX_NEXT))
    known = (
        (
            any(name.endswith("/constants.pkl") for name in names),
            f"is a TorchScript archive, which is code: {STATE_DICT.format('jit.load(path).state_dict()')}",
        ),
        (
            any(name.endswith("/archive_format") for name in names),
            f"is a program that torch.export wrote: {STATE_DICT.format('export.load(path).state_dict')}",
        ),
        ("model.weights.h5" in names, f"is a Keras model: {BY_NUMPY}"),
        (inside, f"is an archive of other files: unzip it, and give {' or '.join(map(repr, inside[:6]))} alone"),
        (head.startswith(HDF5_START), f"is an HDF5 file, as Keras and NetCDF write: of a network {BY_NUMPY}"),
        (is_onnx, f"is an ONNX model: save the state_dict of the network that it was made of, or {BY_NUMPY}"),
        (
            head.startswith(NUMPY_START),
            "is one array: a checkpoint of arrays is a .npz file, in which they have names",
        ),
        (
            head == OLD_START,
            "has the form of torch before 1.6: save it anew by "
            "torch.save(torch.load(path, weights_only=True), new_path)",
        ),
        (
            head.startswith(PICKLE_START),
            "is a plain pickle, which torch.save did not write and which may run code when it is loaded: load it where "
            "you trust it, and save its tensors with torch.save or its arrays with numpy.savez, under torch's names",
        ),
        (
            not head.startswith(ZIP_START),
            f"is no checkpoint (it {f'starts with {head[:8]!r}' if head else 'is empty'}); {REMEDY}",
        ),
    )
    for holds, said in known:
        if holds:
            raise UserError(said)


def source_of(path: Path) -> dict[str, str]:
    """The name of a file and its SHA-256."""
    with path.open("rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _of_safetensors(path: Path) -> Contents:
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
    if FORMAT in metadata:
        return _of_document("safetensors", from_safetensors(tensors, metadata), {})
    return Contents("safetensors", normalised(_renamed(tensors)), facts=plain(metadata))


def _of_numpy(path: Path) -> Contents:
    with np.load(path, allow_pickle=False) as arrays:
        if sum(entry.file_size for entry in arrays.zip.infolist()) > LARGEST_UNPACKED:
            raise UserError(f"unpacks to more than {LARGEST_UNPACKED:,} bytes: save it by numpy.savez")
        read = {name: _numbers(arrays, name) for name in arrays.files}
    numbers = {name: value for name, value in read.items() if is_parameter(name) or not value.is_meta}
    return Contents("numpy", normalised(_renamed(numbers)))


def _numbers(arrays: Any, name: str) -> Tensor:
    """Return an array as a tensor; one without numbers where torch has no such, or they are objects and stay packed."""
    try:
        array = arrays[name]
        return torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))
    except (TypeError, ValueError):
        return torch.empty((), device="meta")


def _of_torch(tree: Any) -> Contents:
    top: Mapping[Any, Any] = tree if isinstance(tree, Mapping) else {}
    facts = plain({name: top[name] for name in top if isinstance(top[name], FACTS) or name == "hyper_parameters"})
    for kind, document in (("dynlab", top), ("lightning", top.get(DYNLAB_KEY))):
        if isinstance(document, Mapping) and document.get("format") == FORMAT:
            return _of_document(kind, dict(document), facts if kind == "lightning" else {})
    kind = "lightning" if LIGHTNING_KEY in top else "module" if _is_module(tree) else "state_dict"
    model, part = _unwrapped(tree)
    (tensors, modules), (whole, inside) = _flat(model), _flat(tree)
    # the weights may be in a part of another name, or nowhere
    if not any("weight_hh" in name for name in tensors) and (not tensors or any("weight_hh" in name for name in whole)):
        part, tensors, modules = "", whole, inside
    others = dict.fromkeys(_beside(name, part) for name in whole if is_parameter(name) and not name.startswith(part))
    return Contents(kind, normalised(tensors), None, facts, modules, part[:-1], tuple(others))


def _unwrapped(tree: Any, part: str = "") -> tuple[Any, str]:
    """The model's own part of a training script's checkpoint, and its name with a dot after it."""
    for name in WRAPPERS if isinstance(tree, Mapping) and len(part) < LONGEST_NAME else ():
        if isinstance(tree.get(name), Mapping):
            return _unwrapped(tree[name], f"{part}{name}.")
    return tree, part


def _beside(name: str, part: str) -> str:
    """The part beside another one in which a tensor is: ``model.teacher`` beside ``model.state_dict.``."""
    levels = name.split(".")
    shared = next(i for i, pair in enumerate(zip(levels, part.split("."), strict=False)) if pair[0] != pair[1])
    return ".".join(levels[: shared + 1])


def _flat(tree: Any) -> tuple[dict[str, Tensor], dict[str, Foreign]]:
    """The tensors of a tree by their names, and its recurrent whole modules by their prefixes."""
    found = _renamed(dict(itertools.islice(_flatten(tree, "", set()), MOST_TENSORS)))
    modules = {name.removesuffix("."): each for name, each in found.items() if isinstance(each, Foreign)}
    return {name: each for name, each in found.items() if isinstance(each, Tensor)}, modules


def _of_document(kind: str, document: dict[str, Any], facts: dict[str, Any]) -> Contents:
    training = document.get("training")
    told = plain(training) if isinstance(training, Mapping) else {}
    state = document.get("state_dict")
    return Contents(kind, dict(state) if isinstance(state, Mapping) else {}, document, facts | told)


def _is_module(value: Any) -> bool:
    return isinstance(value, Foreign) and isinstance(value.state, Mapping) and "_parameters" in value.state


def _flatten(tree: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Tensor | Foreign]]:
    """Every tensor below containers and whole modules by its dotted name, and every recurrent module by its prefix.

    Each container is gone through once.
    """
    if isinstance(tree, Tensor):
        yield prefix.removesuffix("."), tree
    elif id(tree) not in seen:
        seen.add(id(tree))
        if _is_module(tree) and any(is_parameter(f"{plain(key)}") for key, _ in _entries(tree)):
            yield prefix, tree
        for key, value in _entries(tree):
            name = f"{prefix}{plain(key)}."
            if len(name) <= LONGEST_NAME:
                yield from _flatten(value, name, seen)


def _entries(tree: Any) -> Iterable[tuple[Any, Any]]:
    """The keys and the values of a container; of a whole module its parameters, buffers and modules."""
    if _is_module(tree):
        parts = [tree.state.get(name) for name in ("_parameters", "_buffers", "_modules")]
        return [entry for part in parts if isinstance(part, Mapping) for entry in part.items()]
    if isinstance(tree, Mapping):
        return tree.items()
    return enumerate(tree) if isinstance(tree, list | tuple) else ()


def _renamed(named: Mapping[str, Any]) -> dict[str, Any]:
    """Names without what torch.compile and DataParallel put before them."""
    cleaned = {name.replace(COMPILED, ""): value for name, value in named.items()}
    if all(name.startswith(DATA_PARALLEL) for name in cleaned):
        cleaned = {name.removeprefix(DATA_PARALLEL): value for name, value in cleaned.items()}
    return cleaned


def plain(value: Any, left: Iterator[int] | None = None, depth: int = 0) -> Any:
    """The value in JSON's types; what has none is described in words, and what is too deep or too much left out.

    `left` counts down to how many facts are taken.
    """
    left = iter(range(MOST_FACTS)) if left is None else left
    if isinstance(value, Tensor) and value.numel() == 1 and is_plain(value) and not value.is_complex():
        value = value.item()
    if isinstance(value, Foreign):
        value = dict(value) or (isinstance(value.state, Mapping) and value.state) or value.listed or value.arguments
    if isinstance(value, str):
        return value[:LONGEST_FACT]
    if value is None or (isinstance(value, int | float) and abs(value) < LARGEST_NUMBER):
        return value
    if isinstance(value, float | torch.dtype | torch.device):
        return str(value)
    if depth > DEEPEST_FACT:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(plain(key)): plain(one, left, depth + 1) for (key, one), _ in zip(value.items(), left, strict=False)
        }
    if isinstance(value, list | tuple):
        return [plain(one, left, depth + 1) for one, _ in zip(value, left, strict=False)]
    return type(value).__name__
