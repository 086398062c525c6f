"""The contents of a file of any known format: tensors by name, dynlab's own document where there is one, and facts."""

import hashlib
import itertools
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import torch
from torch import Tensor

from dynlab.checkpoints.document import FORMAT, from_safetensors
from dynlab.checkpoints.inert import PICKLE_START, REMEDY, ZIP_START, Foreign, load
from dynlab.checkpoints.layers import is_parameter, is_plain
from dynlab.checkpoints.normalised import normalised
from dynlab.errors import UserError, damage
from dynlab.files import check_readable

Value = TypeVar("Value")

# Where a training script's checkpoint keeps the model's weights, in the order in which they are looked for.
WRAPPERS = ("state_dict", "model_state_dict", "model")
DYNLAB_KEY = "dynlab"  # of dynlab's document in a Lightning checkpoint
LIGHTNING_KEY = "pytorch-lightning_version"
DATA_PARALLEL, COMPILED = "module.", "_orig_mod."
CHECKPOINT_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npz")
FACTS = bool | int | float | str  # of the training, beside the weights and Lightning's hyper-parameters
# Facts lie near the top of a file; whatever is deeper (or refers to itself) is not one.
DEEPEST_FACT = 6
MOST_FACTS, LONGEST_FACT, LARGEST_INTEGER = 10_000, 10_000, 10**300
DEEPEST = 100  # levels that are looked through for tensors
LARGEST_UNPACKED = 2**31  # bytes of all arrays in a .npz, which may be packed
# Of a safetensors file, by that format's own limit; a text's first eight bytes make a larger number.
LONGEST_HEADER = 100_000_000
HDF5_START, NUMPY_START = b"\x89HDF\r\n\x1a\n", b"\x93NUMPY"
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
    # first, as the length of a safetensors header may begin with the byte that a pickle begins with
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= LONGEST_HEADER:
        return _of_safetensors(path)
    names = _members(path) if head.startswith(ZIP_START) else []
    if names and all(name.endswith(".npy") for name in names):
        return _of_numpy(path)
    if refusal := _other_format(path, head, names):
        raise UserError(refusal)
    if head.startswith((ZIP_START, PICKLE_START)):
        return _of_torch(load(path))
    raise UserError(f"{path} is no checkpoint (it {f'starts with {head[:8]!r}' if head else 'is empty'}); {REMEDY}.")


def _members(path: Path) -> list[str]:
    """Return the names in a zip archive; none if it is damaged, which its own reader says."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    # a damaged archive drives zipfile into any error
    except Exception:
        return []


def _other_format(path: Path, head: bytes, names: Sequence[str]) -> str:
    """Return the sentence that refuses a file of another form and names the way out; empty for none of these.

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
    )
    return next((f"{path} {said}." for holds, said in known if holds), "")


def source_of(path: Path) -> dict[str, str]:
    """The name of a file and its SHA-256."""
    with path.open("rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


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
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if sum(entry.file_size for entry in arrays.zip.infolist()) > LARGEST_UNPACKED:
                raise UserError(f"{path} unpacks to more than {LARGEST_UNPACKED:,} bytes: save it by numpy.savez.")
            if len(set(arrays.files)) < len(arrays.files):
                raise UserError(f"{path} holds two arrays with one name: save it anew.")
            read = {name: _numbers(arrays, name) for name in arrays.files}
    except UserError:
        raise
    # a damaged file drives numpy into any error
    except Exception as error:
        raise UserError(f"{path} cannot be read as an archive of weights: {damage(error)}.") from error
    odd = [name for name, value in read.items() if value is None and is_parameter(name)]
    if odd:
        raise UserError(f"{path} holds no whole array of real numbers as {odd[0]!r}: save it as float64.")
    return Contents("numpy", normalised(_renamed({name: one for name, one in read.items() if one is not None})))


def _numbers(arrays: Any, name: str) -> Tensor | None:
    """Return an array as a tensor; None where torch has no such numbers, or they are objects, which stay packed."""
    try:
        array = arrays[name]
        return torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))
    except (TypeError, ValueError):
        return None


def _of_torch(tree: Any) -> Contents:
    top: Mapping[Any, Any] = tree if isinstance(tree, Mapping) else {}
    told = {name: top[name] for name in top if isinstance(top[name], FACTS) or name == "hyper_parameters"}
    facts: dict[str, Any] = plain(told)
    for kind, document in (("dynlab", top), ("lightning", top.get(DYNLAB_KEY))):
        if isinstance(document, Mapping) and document.get("format") == FORMAT:
            return _of_document(kind, dict(document), facts if kind == "lightning" else {})
    kind = "lightning" if LIGHTNING_KEY in top else "module" if _is_module(tree) else "state_dict"
    model, part, others = _unwrapped(tree)
    tensors, modules = _flat(model)
    if not any("weight_hh" in name for name in tensors):  # which may be in a part of another name, or nowhere
        whole, inside = _flat(tree)
        if not tensors or any("weight_hh" in name for name in whole):
            part, others, tensors, modules = "", (), whole, inside
    return Contents(kind, normalised(tensors), None, facts, modules, part, others)


def _flat(tree: Any) -> tuple[dict[str, Tensor], dict[str, Foreign]]:
    """The tensors of a tree by their names, and its recurrent whole modules by their prefixes."""
    modules: dict[str, Foreign] = {}
    tensors = _renamed(dict(_flatten(tree, "", modules, set())))
    told = _renamed({f"{prefix}.weight": module for prefix, module in modules.items()})  # as a parameter is
    return tensors, {name.rpartition(".")[0]: module for name, module in told.items()}


def _of_document(kind: str, document: dict[str, Any], facts: dict[str, Any]) -> Contents:
    training = document.get("training")
    told = plain(training) if isinstance(training, Mapping) else {}
    state = document.get("state_dict")
    return Contents(kind, dict(state) if isinstance(state, Mapping) else {}, document, facts | told)


def _unwrapped(tree: Any) -> tuple[Any, str, tuple[str, ...]]:
    """The model's own part of a training script's checkpoint, its name, and those of others that hold weights."""
    parts, others = list[str](), list[str]()
    while isinstance(tree, Mapping) and len(parts) < DEEPEST:
        inside = [name for name in WRAPPERS if isinstance(tree.get(name), Mapping)]
        if not inside:
            break
        beside = {_name(key): value for key, value in tree.items() if key != inside[0]}
        others += [
            ".".join([*parts, name]) for name, value in beside.items() if any(map(is_parameter, _flat(value)[0]))
        ]
        parts.append(inside[0])
        tree = tree[inside[0]]
    return tree, ".".join(parts), tuple(others)


def _is_module(value: Any) -> bool:
    return isinstance(value, Foreign) and isinstance(value.state, Mapping) and "_parameters" in value.state


def _flatten(
    tree: Any, prefix: str, modules: dict[str, Foreign], seen: set[int], depth: int = 0
) -> Iterator[tuple[str, Tensor]]:
    """Every tensor below nested dictionaries, lists and whole modules, by its dotted name; each container once."""
    if isinstance(tree, Tensor):
        yield prefix.removesuffix("."), tree
        return
    if id(tree) in seen:
        return
    seen.add(id(tree))
    if depth >= DEEPEST:
        raise UserError(f"The file nests its contents more than {DEEPEST} levels deep; {REMEDY}.")
    entries: Any = ()
    if _is_module(tree):
        parts = [tree.state.get(name) for name in ("_parameters", "_buffers", "_modules")]
        parts = [part for part in parts if isinstance(part, Mapping)]
        entries = [item for part in parts for item in part.items()]
        if any(is_parameter(_name(key)) for key, _ in entries):
            modules[prefix.removesuffix(".")] = tree
    elif isinstance(tree, Mapping):
        entries = tree.items()
    elif isinstance(tree, list | tuple):
        entries = enumerate(tree)
    for name, value in entries:
        yield from _flatten(value, f"{prefix}{_name(name)}.", modules, seen, depth + 1)


def _renamed(named: Mapping[str, Value]) -> dict[str, Value]:
    """Names without what torch.compile and DataParallel put before them."""
    cleaned = {name.replace(COMPILED, ""): value for name, value in named.items()}
    if all(name.startswith(DATA_PARALLEL) for name in cleaned):
        cleaned = {name.removeprefix(DATA_PARALLEL): value for name, value in cleaned.items()}
    return cleaned


def plain(value: Any, count: Iterator[int] | None = None, depth: int = 0) -> Any:
    """The value in JSON's types; what has none is described in words, and what is too deep or too much left out."""
    count = count or itertools.count()
    seen = next(count)
    if isinstance(value, Tensor) and value.numel() == 1 and is_plain(value) and not value.is_complex():
        value = value.item()
    if isinstance(value, str):
        return value[:LONGEST_FACT]
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        return "a whole number of more than 300 digits"
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float | torch.dtype | torch.device):
        return str(value)
    if depth > DEEPEST_FACT or seen > MOST_FACTS:
        return "…"
    if isinstance(value, Foreign):
        value = dict(value) or (isinstance(value.state, Mapping) and value.state) or value.listed or value.arguments
    if isinstance(value, Mapping):
        items = itertools.islice(value.items(), max(0, MOST_FACTS - seen))
        return {_name(name): plain(entry, count, depth + 1) for name, entry in items}
    if isinstance(value, list | tuple):
        return [plain(entry, count, depth + 1) for entry in itertools.islice(value, max(0, MOST_FACTS - seen))]
    return type(value).__name__


def _name(key: Any) -> str:
    """A key of a mapping as a name; one that is long, or no text and no number, in a word."""
    if isinstance(key, str):
        return key
    return str(key) if isinstance(key, int) and abs(key) < LARGEST_INTEGER else type(key).__name__
