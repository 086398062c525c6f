"""Read what `torch.save` wrote without running any code: every foreign name becomes an inert stand-in.

`torch.load` with ``weights_only=True`` refuses an ordinary Lightning checkpoint with one `Path` among its
hyper-parameters. Here tensors are made by functions of this file, and every other name that a pickle wants imported is
an object that keeps what it is called with and the state that it is given, and does nothing.
"""

import _compat_pickle
import functools
import io
import math
import pickle
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import torch
from torch import Tensor

from dynlab.errors import UserError

LARGEST_PICKLE = 2**26  # bytes of the one in a zip file, beside which its numbers lie
REFUSED_MODULES = ("os", "posix", "nt", "sys", "subprocess", "shutil", "importlib")
REFUSED_BUILTINS = ("eval", "exec", "compile", "open", "__import__", "setattr", "delattr", "globals", "input")
REMEDY = (
    "save the weights alone with torch.save(model.state_dict(), path), as safetensors, or of other programs as "
    "docs/your-own.md shows"
)
DTYPES = {
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "ComplexFloatStorage": torch.complex64,
    "ComplexDoubleStorage": torch.complex128,
    "BoolStorage": torch.bool,
    "ByteStorage": torch.uint8,
    "CharStorage": torch.int8,
    "ShortStorage": torch.int16,
    "IntStorage": torch.int32,
    "LongStorage": torch.int64,
}


class Entries(dict[Any, Any]):
    """A dictionary that hashes no key that the file made of other things, which could take for ever."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key if isinstance(key, str | bytes | int | float | None) else object(), value)


class Foreign(Entries):
    """Stands for a name that is not imported, and for what a call of it returns: what the pickle says, no behaviour.

    Its entries are the keys that are set on it and the items that are appended to it.

    Attributes
    ----------
    called : str
        The full name of the class or function.
    arguments : tuple
        Of the call; of the name itself that name.
    state : object
        Set on the object by the pickle, None if it sets nothing.
    """

    state: Any = None

    def __init__(self, called: str, arguments: tuple[Any, ...]) -> None:
        self.called = called
        self.arguments = arguments

    def __call__(self, *arguments: Any) -> "Foreign":
        """Return what stands for the result."""
        return Foreign(self.called, arguments)

    def append(self, value: Any) -> None:
        self[len(self)] = value


class Reader(pickle._Unpickler):  # the one in C takes any memory that a file asks for
    """An unpickler that imports nothing and calls nothing but stand-ins and the functions of this file.

    Parameters
    ----------
    file : file
    stored : callable
        Returns the bytes of a storage as a flat tensor, from its key.
    """

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: IO[bytes], stored: Callable[[str], Tensor]) -> None:
        super().__init__(file, encoding="latin1")
        self._stored = stored

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name."""
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        if module.partition(".")[0] in REFUSED_MODULES or (module == "builtins" and name in REFUSED_BUILTINS):
            raise UserError(f"asks for {module}.{name} and would run code if it were unpickled; {REMEDY}")
        if module in ("torch._utils", "torch._tensor") and name.startswith("_rebuild_"):
            return REBUILT.get(name, _no_ordinary_tensor)
        return KNOWN.get(f"{module}.{name}") or Foreign(f"{module}.{name}", (f"{module}.{name}",))

    def persistent_load(self, told: Any) -> Tensor | None:
        """Return the numbers that a tensor is made of; None where torch has no ordinary ones of that type."""
        _, dtype, key, _, count = told
        return self._stored(key)[: count * dtype.itemsize].view(dtype) if isinstance(dtype, torch.dtype) else None

    def load_build(self) -> None:
        """Keep the state of a stand-in; nothing else has one."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Foreign):
            self.stack[-1].state = state

    def load_empty_dictionary(self) -> None:
        """Begin a dictionary."""
        self.stack.append(Entries())

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.EMPTY_DICT[0]] = load_empty_dictionary
    # a new object is what a call of its class returns
    dispatch[pickle.NEWOBJ[0]] = dispatch[pickle.REDUCE[0]]
    # sets are lists, whose items are not hashed
    dispatch[pickle.EMPTY_SET[0]] = dispatch[pickle.EMPTY_LIST[0]]
    dispatch[pickle.ADDITEMS[0]] = dispatch[pickle.APPENDS[0]]
    dispatch[pickle.FROZENSET[0]] = dispatch[pickle.LIST[0]]
    # what no torch.save writes: other dictionaries and objects, room of any size, names that the program has numbered
    for code in (pickle.DICT, pickle.NEWOBJ_EX, pickle.BYTEARRAY8, pickle.EXT1, pickle.EXT2, pickle.EXT4):
        del dispatch[code[0]]


def _tensor(numbers: Any, offset: int, size: Sequence[int], stride: Sequence[int], *others: Any) -> Tensor:
    """Return what two of torch's functions make; `others` are on gradients, on hooks and on bits of the numbers."""
    if not isinstance(numbers, Tensor) or any(others[2:]):
        return _no_ordinary_tensor()  # quantised, or conjugate
    if math.prod(size) > len(numbers):
        raise UserError(
            f"says that a tensor has {math.prod(size):,} numbers, and holds fewer: it was expanded; save "
            f"tensor.contiguous()"
        )
    return numbers.as_strided(tuple(size), tuple(stride), offset)  # which refuses what lies outside the storage


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _no_ordinary_tensor(*_: Any) -> Tensor:
    """Return a tensor without numbers for one that is sparse, quantised, nested or of a class of its own."""
    return torch.empty((), device="meta")


REBUILT: dict[str, Callable[..., Any]] = {
    "_rebuild_tensor": _tensor,
    "_rebuild_tensor_v2": _tensor,
    "_rebuild_parameter": _parameter,
    "_rebuild_parameter_with_state": _parameter,
}
# All else that a pickle may name and get.
KNOWN: dict[str, Any] = {
    "torch.device": torch.device,
    **{f"torch.{name}": value for name, value in vars(torch).items() if isinstance(value, torch.dtype)},
    **{f"{place}.{name}": dtype for place in ("torch", "torch.storage") for name, dtype in DTYPES.items()},
}


def load(path: Path) -> Any:
    """Return what the torch file at `path` holds, on the CPU, without running code.

    Raises
    ------
    UserError
        If the file would run code if it were unpickled, or is no file of `torch.save`; without its name.
    Exception
        Any, if the file is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        pickled = next((name for name in entries if name.endswith("/data.pkl")), None)
        if pickled is None:
            raise UserError(f"is a zip archive but not one that torch.save wrote; {REMEDY}")
        if any(name.endswith("/constants.pkl") for name in entries):
            raise UserError(
                "is a TorchScript archive, which is code: save its weights with "
                "torch.save(torch.jit.load(path).state_dict(), new_path)"
            )
        unpacked = sum(entry.file_size for entry in entries.values())
        is_whole = unpacked <= path.stat().st_size and len(entries) == len(archive.infolist())
        if not is_whole or entries[pickled].file_size > LARGEST_PICKLE:
            raise UserError(
                f"is no archive of torch.save's: its parts are packed or overlap, two have one name, or its pickle has "
                f"more than {LARGEST_PICKLE:,} bytes; {REMEDY}"
            )
        folder = pickled.removesuffix("data.pkl")
        if f"{folder}byteorder" in entries and archive.read(f"{folder}byteorder") != b"little":
            raise UserError(f"was written on a machine with another order of bytes; {REMEDY}")

        @functools.cache
        def stored(key: str) -> Tensor:
            return torch.frombuffer(bytearray(archive.read(f"{folder}data/{key}")) or bytearray(1), dtype=torch.uint8)

        return Reader(io.BytesIO(archive.read(pickled)), stored).load()
