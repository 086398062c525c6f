"""The contents of a file of any known format: tensors by name, dynlab's own document where there is one, and facts."""

import hashlib
import itertools
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from torch import Tensor

from dynlab.checkpoints.document import FORMAT, from_safetensors
from dynlab.checkpoints.inert import REMEDY, Foreign, load
from dynlab.checkpoints.layers import is_parameter
from dynlab.errors import UserError, damage
from dynlab.files import check_readable

# Where a training script's checkpoint keeps the model's weights, in the order in which they are looked for, and how
# deep it may nest them.
WRAPPERS, DEEPEST_WRAPPER = ("state_dict", "model_state_dict", "model"), 6
DATA_PARALLEL, COMPILED = "module.", "_orig_mod."
# Facts lie near the top of a file; whatever is deeper (or refers to itself) is not one.
DEEPEST_FACT = 6
MOST_FACTS, LONGEST_FACT, LARGEST_NUMBER = 10_000, 10_000, 1e300
LONGEST_NAME, MOST_TENSORS = 500, 100_000  # letters of a tensor's; what lies deeper in a file is left out
LARGEST_SHARED, MOST_SHARED = 2**28, 4  # bytes of tensors that share their numbers, or times those that are there
LARGEST_UNPACKED = 2**31  # bytes of all arrays in a .npz, which may be packed
# Of a safetensors file, by that format's own limit; a text's first eight bytes make a larger number.
LONGEST_HEADER = 100_000_000
# What other files begin with.
REMEDIES = {
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9": "torch before 1.6: torch.save(torch.load(path, weights_only=True), new_path)",
    b"\x80": "a plain pickle, which may run code: load it where you trust it, and save its tensors with torch.save",
    b"\x89HDF": "HDF5, of Keras and NetCDF: write a network's arrays with numpy.savez, as docs/your-own.md shows",
    b"\x93NUMPY": "one array: a checkpoint of arrays is a .npz file, in which they have names",
    b"": REMEDY,
}


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
    """

    format: str
    tensors: dict[str, Tensor]
    document: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, Foreign] = field(default_factory=dict)


def read_contents(path: Path) -> Contents:
    """Read a file of any known format, on the CPU, without running code."""
    check_readable(path)
    with path.open("rb") as file:
        head = file.read(9)
    try:
        if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= LONGEST_HEADER:
            return _of_safetensors(path)
        if not head.startswith(b"PK\x03\x04"):
            remedy = next(words for begin, words in REMEDIES.items() if head.startswith(begin))
            raise UserError(f"is no checkpoint (it {f'starts with {head[:8]!r}' if head else 'is empty'}): {remedy}")
        if all(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist()):
            return _of_numpy(path)
        return _of_torch(load(path))
    except UserError as error:
        raise UserError(f"{path} {error}.") from error
    # a damaged file drives its readers into any error
    except Exception as error:
        raise UserError(f"{path} cannot be read as a checkpoint: {damage(error)}.") from error


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
    return Contents("safetensors", _renamed(tensors), facts=plain(metadata))


def _of_numpy(path: Path) -> Contents:
    found: dict[str, Tensor] = {}
    with np.load(path, allow_pickle=False) as arrays:
        if sum(entry.file_size for entry in arrays.zip.infolist()) > LARGEST_UNPACKED:
            raise UserError(f"unpacks to more than {LARGEST_UNPACKED:,} bytes: save it by numpy.savez")
        for name in arrays.files:
            try:
                array = arrays[name]
                found[name] = torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))
            except (TypeError, ValueError) as error:  # texts, and objects, which stay packed
                if is_parameter(name):
                    raise UserError(f"holds no floating-point numbers in {name}; save the weights as such") from error
    return Contents("numpy", _renamed(found))


def _of_torch(tree: Any) -> Contents:
    top: Mapping[Any, Any] = tree if isinstance(tree, Mapping) else {}
    facts = plain(
        {key: top[key] for key in top if isinstance(top[key], int | float | str) or key == "hyper_parameters"}
    )
    for kind, document in (("dynlab", top), ("lightning", top.get("dynlab"))):
        if isinstance(document, Mapping) and document.get("format") == FORMAT:
            return _of_document(kind, dict(document), facts if kind == "lightning" else {})
    kind = "lightning" if "pytorch-lightning_version" in top else "module" if _is_module(tree) else "state_dict"
    parts = [_flat(_unwrapped(tree)), _flat(tree)]  # the weights may be in a part of another name, or nowhere
    recurrent = [part for part in parts if any("weight_hh" in name for name in part[0])]
    tensors, modules = next(iter(recurrent), parts[0])
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in tensors.values()}
    if sum(value.nbytes for value in tensors.values()) > max(LARGEST_SHARED, MOST_SHARED * sum(storages.values())):
        raise UserError(f"holds the same numbers under many names, as {LARGEST_SHARED:,} bytes and more; {REMEDY}")
    return Contents(kind, tensors, None, facts, modules)


def _unwrapped(tree: Any) -> Any:
    """The model's own part of a training script's checkpoint."""
    for _ in range(DEEPEST_WRAPPER):
        parts = [tree.get(name) for name in WRAPPERS] if isinstance(tree, Mapping) else []
        tree = next((part for part in parts if isinstance(part, Mapping)), tree)
    return tree


def _flat(tree: Any) -> tuple[dict[str, Tensor], dict[str, Foreign]]:
    """The tensors of a tree by their names, and its recurrent whole modules by their prefixes."""
    found = _renamed(dict(itertools.islice(_flatten(tree, "", set()), MOST_TENSORS)))
    modules = {name.removesuffix("."): each for name, each in found.items() if isinstance(each, Foreign)}
    return {name: each for name, each in found.items() if isinstance(each, Tensor)}, modules


def _of_document(kind: str, document: dict[str, Any], facts: dict[str, Any]) -> Contents:
    parts = {name: dict(part) for name, part in document.items() if isinstance(part, Mapping)}
    return Contents(kind, parts.get("state_dict", {}), document, facts | plain(parts.get("training", {})))


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
    parallel = all(name.startswith(DATA_PARALLEL) for name in cleaned)
    return {name.removeprefix(DATA_PARALLEL * parallel): value for name, value in cleaned.items()}


def plain(value: Any, left: Iterator[int] | None = None, depth: int = 0) -> Any:
    """The value in JSON's types; what has none or lies too deep is told by its type, and what is too much left out.

    `left` counts down to how many facts are taken.
    """
    left = iter(range(MOST_FACTS)) if left is None else left
    if isinstance(value, Foreign):
        value = dict(value) or (value.arguments if value.state is None else value.state)
    if isinstance(value, str):
        return value[:LONGEST_FACT]
    if value is None or (isinstance(value, int | float) and abs(value) < LARGEST_NUMBER):
        return value
    if isinstance(value, Mapping) and depth <= DEEPEST_FACT:
        entries = zip(value.items(), left, strict=False)
        return {str(plain(key)): plain(one, left, depth + 1) for (key, one), _ in entries}
    if isinstance(value, list | tuple) and depth <= DEEPEST_FACT:
        return [plain(one, left, depth + 1) for one, _ in zip(value, left, strict=False)]
    return str(value) if isinstance(value, float | torch.dtype | torch.device) else type(value).__name__
