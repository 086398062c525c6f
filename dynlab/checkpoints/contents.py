"""What a file of any known format holds: tensors by name, dynlab's own document where there is one, and facts."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import torch
from torch import Tensor

from dynlab.checkpoints.document import FORMAT, from_safetensors
from dynlab.checkpoints.inert import PICKLE_START, SAFE_ALTERNATIVE, ZIP_START, Foreign, load
from dynlab.errors import UserError

Value = TypeVar("Value")

# Where a training script's checkpoint keeps the model's weights, in the order in which they are looked for.
WRAPPERS = ("state_dict", "model_state_dict", "model")
DYNLAB_KEY = "dynlab"  # of dynlab's document in a Lightning checkpoint
LIGHTNING_KEY = "pytorch-lightning_version"
DATA_PARALLEL, COMPILED = "module.", "_orig_mod."
CHECKPOINT_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin")
# Facts lie near the top of a file; whatever is deeper (or refers to itself) is not one.
DEEPEST_FACT = 6
# Of a safetensors file, by that format's own limit; a text's first eight bytes make a larger number.
LONGEST_HEADER = 100_000_000


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    format : str
        ``dynlab``, ``lightning``, ``safetensors``, ``state_dict`` or ``module`` (a whole module, pickled).
    tensors : dict of str to Tensor
        Parameters by name, without the prefixes of wrappers.
    document : dict or None
        dynlab's own (`dynlab.checkpoints.document`).
    facts : dict
        What the file says about the training, JSON-able.
    nonlinearities : dict of str to str
        Of plain RNNs by prefix, which only whole modules tell.
    """

    format: str
    tensors: dict[str, Tensor]
    document: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    nonlinearities: dict[str, str] = field(default_factory=dict)


def read_contents(path: Path) -> Contents:
    """Read a file of any known format, on the CPU, without running code.

    Raises
    ------
    UserError
        Where there is no such file, or it is empty, a folder, a text, truncated or unsafe.
    """
    head = _head(path)
    # first, as the length of a safetensors header may begin with the byte that a pickle begins with
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < LONGEST_HEADER:
        return _of_safetensors(path)
    if head.startswith((ZIP_START, PICKLE_START)):
        return _of_torch(load(path))
    raise UserError(f"{path} is no checkpoint (it starts with {head[:8]!r}); {SAFE_ALTERNATIVE}.")


def source_of(path: Path) -> dict[str, str]:
    """The name of a file and its SHA-256."""
    with path.open("rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _head(path: Path) -> bytes:
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if entry.suffix in CHECKPOINT_SUFFIXES)
        example = f", such as {path / inside[0]}" if inside else ""
        raise UserError(f"{path} is a folder: name a checkpoint file in it{example}.")
    if not path.exists():
        raise UserError(f"There is no file {path}; check the path.")
    try:
        with path.open("rb") as file:
            head = file.read(9)
    except OSError as error:
        raise UserError(f"{path} cannot be opened: {error.strerror}.") from error
    if not head:
        raise UserError(f"{path} is empty; copy or save the checkpoint again.")
    return head


def _of_safetensors(path: Path) -> Contents:
    try:
        with safetensors.safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
        document = from_safetensors(tensors, metadata)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged, or no safetensors file ({error}); copy it again.") from error
    if document is not None:
        return _of_document("safetensors", document, {})
    return Contents("safetensors", _renamed(tensors), facts=dict(metadata))


def _of_torch(tree: Any) -> Contents:
    if isinstance(tree, Mapping):
        if tree.get("format") == FORMAT:
            return _of_document("dynlab", dict(tree), {})
        facts = _facts(tree)
        if isinstance(tree.get(DYNLAB_KEY), Mapping):
            return _of_document("lightning", dict(tree[DYNLAB_KEY]), facts)
        kind = "lightning" if LIGHTNING_KEY in tree else "state_dict"
    else:
        facts, kind = {}, "module"
    nonlinearities: dict[str, str] = {}
    tensors = dict(_flatten(_unwrapped(tree), "", nonlinearities, set()))
    if not any("weight_hh" in name for name in tensors):
        tensors = dict(_flatten(tree, "", nonlinearities := {}, set()))
    told = {f"{prefix}.weight_hh": value for prefix, value in nonlinearities.items()}  # renamed as a parameter is
    told = {name.rpartition(".")[0]: value for name, value in _renamed(told).items()}
    return Contents(kind, _renamed(tensors), None, facts, told)


def _of_document(kind: str, document: dict[str, Any], facts: dict[str, Any]) -> Contents:
    training = document.get("training")
    told = {str(k): _plain(v) for k, v in training.items()} if isinstance(training, Mapping) else {}
    state = document.get("state_dict")
    return Contents(kind, dict(state) if isinstance(state, Mapping) else {}, document, facts | told)


def _unwrapped(tree: Any) -> Any:
    """The model's own part of a training script's checkpoint."""
    while isinstance(tree, Mapping):
        inside = [tree[name] for name in WRAPPERS if isinstance(tree.get(name), Mapping | Foreign)]
        if not inside:
            break
        tree = inside[0]
    return tree


def _flatten(tree: Any, prefix: str, nonlinearities: dict[str, str], seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    """Every tensor below nested dictionaries, lists and whole modules, by its dotted name; each container once."""
    if isinstance(tree, Tensor):
        yield prefix.removesuffix("."), tree
        return
    if id(tree) in seen:
        return
    seen.add(id(tree))
    if isinstance(tree, Foreign) and isinstance(tree.state, Mapping):
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
        yield from _flatten(value, f"{prefix}{name}.", nonlinearities, seen)


def _renamed(named: Mapping[str, Value]) -> dict[str, Value]:
    """Names without what torch.compile and DataParallel put before them."""
    cleaned = {name.replace(COMPILED, ""): value for name, value in named.items()}
    if all(name.startswith(DATA_PARALLEL) for name in cleaned):
        cleaned = {name.removeprefix(DATA_PARALLEL): value for name, value in cleaned.items()}
    return cleaned


def _facts(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """What stands beside the weights at the top of a file: numbers, words, and Lightning's hyper-parameters."""
    told = {name: value for name, value in tree.items() if isinstance(value, bool | int | float | str)}
    if isinstance(tree.get("hyper_parameters"), Mapping | Foreign):
        told["hyper_parameters"] = tree["hyper_parameters"]
    return {str(name): _plain(value) for name, value in told.items()}


def _plain(value: Any, depth: int = 0) -> Any:
    """The value in JSON's types; what has none is described in words."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth == DEEPEST_FACT:
        return "…"
    if isinstance(value, Foreign) and isinstance(value.state, Mapping):
        value = value.state
    if isinstance(value, Mapping):
        return {str(name): _plain(entry, depth + 1) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry, depth + 1) for entry in value]
    if isinstance(value, Tensor):
        return _plain(value.item(), depth + 1) if value.numel() == 1 else f"tensor of shape {tuple(value.shape)}"
    if isinstance(value, float | torch.dtype | torch.device):
        return str(value)
    return repr(value) if isinstance(value, Foreign) else type(value).__name__
