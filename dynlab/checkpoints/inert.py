"""Read what `torch.save` wrote without running any code: every foreign name becomes an inert stand-in.

`torch.load` with ``weights_only=True`` refuses an ordinary Lightning checkpoint with one `Path` among its
hyper-parameters. Here tensors and ordered dictionaries are made by functions of this file, and every other name that a
pickle wants imported is a class of that name that keeps its arguments and state and does nothing.
"""

import _compat_pickle
import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import torch
from torch import Tensor

from dynlab.errors import UserError

ZIP_START = b"PK\x03\x04"
PICKLE_START = b"\x80"
# A torch file from before 1.6 begins with this number, a protocol number and facts on the machine, each a pickle.
MAGIC = 0x1950A86A20F9469CFC6C
LARGEST_PICKLE = 2**26  # bytes of the one in a zip file, beside which its numbers lie
REFUSED_MODULES = ("os", "posix", "nt", "sys", "subprocess", "shutil", "importlib")
REFUSED_BUILTINS = ("eval", "exec", "compile", "open", "__import__", "setattr", "delattr", "globals", "input")
REMEDY = "save the weights alone with torch.save(model.state_dict(), path), or as safetensors"
DTYPES = {
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "ComplexFloatStorage": torch.complex64,
    "ComplexDoubleStorage": torch.complex128,
    "BoolStorage": torch.bool,
    "ByteStorage": torch.uint8,
    "UntypedStorage": torch.uint8,
    "CharStorage": torch.int8,
    "ShortStorage": torch.int16,
    "IntStorage": torch.int32,
    "LongStorage": torch.int64,
}

OF_TENSORS = ("torch._utils", "torch._tensor")  # whose functions make tensors


class Foreign(dict[Any, Any]):
    """Stands for an object of a class that is not imported: what the pickle says of it, and no behaviour.

    Attributes
    ----------
    arguments : tuple
    state : object
        Set on the object by the pickle, None if it sets nothing.
    listed : list
        The items that it appends.
    """

    arguments: tuple[Any, ...]
    state: Any
    listed: list[Any]

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        self.arguments, self.state, self.listed = arguments, None, []
        return self

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__()

    def __call__(self, *arguments: Any) -> "Foreign":
        """Return itself: a pickle may call what a call returned."""
        return self

    def append(self, value: Any) -> None:
        self.listed.append(value)

    @property
    def called(self) -> str:
        """The full name of its class."""
        return f"{type(self).__module__}.{type(self).__name__}"


class Reader(pickle._Unpickler):  # the one in C takes any memory that a file asks for
    """An unpickler that imports nothing and calls nothing but stand-ins and the functions of this file.

    Parameters
    ----------
    file : file
    stored : callable
        Returns the numbers of a storage as a flat tensor, from its key, dtype and length.
    """

    stack: list[Any]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: IO[bytes], stored: Callable[[str, torch.dtype, int], Tensor]) -> None:
        super().__init__(file, encoding="latin1")
        self._stored = stored

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name."""
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        if module.partition(".")[0] in REFUSED_MODULES or (module == "builtins" and name in REFUSED_BUILTINS):
            raise UserError(f"asks for {module}.{name} and would run code if it were unpickled; {REMEDY}")
        if f"{module}.{name}" in KNOWN:
            return KNOWN[f"{module}.{name}"]
        if module in OF_TENSORS and name.startswith("_rebuild_"):
            return _no_ordinary_tensor
        return type(name, (Foreign,), {"__module__": module})

    def persistent_load(self, told: Any) -> Any:
        """Return the numbers that a tensor is made of; or the class of an old whole module, without its source."""
        if told[0] == "module":
            return told[1]
        kind, dtype, key, _, count, *view = told
        if kind != "storage" or not isinstance(count, int) or any(view):
            raise EOFError
        return self._stored(str(key), dtype, count) if isinstance(dtype, torch.dtype) else None

    def load_build(self) -> None:
        """Keep the state of a stand-in; nothing else has one."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Foreign):
            self.stack[-1].state = state

    def load_setitems(self) -> None:
        """Fill a dictionary."""
        self._fill(self.pop_mark())  # type: ignore[attr-defined]

    def load_setitem(self) -> None:
        """Fill one place of a dictionary."""
        value, key = self.stack.pop(), self.stack.pop()
        self._fill([key, value])

    def _fill(self, items: list[Any]) -> None:
        """Fill a dictionary with keys and values; no key is hashed that the file made of other things."""
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][key if isinstance(key, str | bytes | int | float | None) else object()] = value

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.SETITEM[0]] = load_setitem
    # sets are lists, whose items are not hashed
    dispatch[pickle.EMPTY_SET[0]] = dispatch[pickle.EMPTY_LIST[0]]
    dispatch[pickle.ADDITEMS[0]] = dispatch[pickle.APPENDS[0]]
    dispatch[pickle.FROZENSET[0]] = dispatch[pickle.LIST[0]]
    for code in (pickle.EXT1, pickle.EXT2, pickle.EXT4):  # names that the running program has given numbers
        del dispatch[code[0]]


def _tensor(numbers: Any, offset: int, size: Sequence[int], stride: Sequence[int], *others: Any) -> Tensor:
    """Return what three of torch's functions make; after gradients and hooks comes a dtype, or what is said of bits."""
    told = [each for each in others[2:] if each]
    if not isinstance(numbers, Tensor) or not all(isinstance(each, torch.dtype) for each in told):
        return _no_ordinary_tensor()  # quantised, conjugate, or in a plain pickle
    for dtype in told:
        numbers = numbers.view(dtype)
    count = math.prod(size)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min((offset, *size, *stride)) < 0 or (count and last >= len(numbers)):
        raise EOFError
    if count > len(numbers):
        raise UserError(
            f"says that a tensor has {count:,} numbers, and holds fewer: it was expanded; save tensor.contiguous()"
        )
    return numbers.as_strided(tuple(size), tuple(stride), offset)


def _tensor_of_type(rebuild: Any, _: Any, arguments: tuple[Any, ...], *__: Any) -> Any:
    """Return a tensor without the class and the attributes that it was saved with."""
    return rebuild(*arguments) if rebuild in REBUILT.values() else _no_ordinary_tensor()


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _no_ordinary_tensor(*_: Any) -> Tensor:
    """Return a tensor without numbers for one that is sparse, quantised or nested."""
    return torch.empty((), device="meta")


REBUILT: dict[str, Callable[..., Any]] = {
    "_rebuild_tensor": _tensor,
    "_rebuild_tensor_v2": _tensor,
    "_rebuild_tensor_v3": _tensor,
    "_rebuild_from_type_v2": _tensor_of_type,
    "_rebuild_parameter": _parameter,
    "_rebuild_parameter_with_state": _parameter,
}
# All that a pickle may name and get: plain containers, dtypes, and the functions of this file.
KNOWN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "torch.Size": tuple,
    "torch.device": torch.device,
    **{f"torch.{name}": value for name, value in vars(torch).items() if isinstance(value, torch.dtype)},
    **{f"{place}.{name}": dtype for place in ("torch", "torch.storage") for name, dtype in DTYPES.items()},
    **{f"{place}.{name}": function for place in OF_TENSORS for name, function in REBUILT.items()},
}


def load(path: Path) -> Any:
    """Return what the torch file at `path` holds, on the CPU, without running code.

    Raises
    ------
    UserError
        If the file would run code if it were unpickled, is truncated, or is no file of `torch.save`.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(ZIP_START)) == ZIP_START:
                return _of_zip(path)
            file.seek(0)
            return _of_old(file, path.stat().st_size)
    except UserError as error:
        raise UserError(f"{path} {error}.") from error
    # a damaged pickle drives an unpickler into any error
    except Exception as error:
        raise UserError(f"{path} cannot be read as a checkpoint: it is cut short or damaged; copy it again.") from error


def _of_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        pickled = next((name for name in entries if name.endswith("/data.pkl")), None)
        if pickled is None:
            raise UserError(f"is a zip archive but not one that torch.save wrote; {REMEDY}")
        folder = pickled.removesuffix("data.pkl")
        unpacked = sum(entry.file_size for entry in entries.values())
        if unpacked > path.stat().st_size or len(entries) < len(archive.infolist()):
            raise UserError("is no archive of torch.save's: its parts are packed or overlap, or two have one name")
        for entry in entries.values():
            if entry.CRC == 0:
                del entry.CRC  # torch may be told to write none, and zipfile then compares none
        if entries[pickled].file_size > LARGEST_PICKLE:
            raise UserError(f"holds a pickle of more than {LARGEST_PICKLE:,} bytes; {REMEDY}")
        if f"{folder}byteorder" in entries and archive.read(f"{folder}byteorder") != b"little":
            raise UserError(f"was written on a machine with another order of bytes; {REMEDY}")
        read: dict[str, Tensor] = {}

        def stored(key: str, dtype: torch.dtype, count: int) -> Tensor:
            if key not in read:
                content = bytearray(archive.read(f"{folder}data/{key}"))
                read[key] = torch.frombuffer(content or bytearray(1), dtype=torch.uint8)
            return read[key][: count * dtype.itemsize].view(dtype)

        return Reader(io.BytesIO(archive.read(pickled)), stored).load()


def _of_old(file: IO[bytes], size: int) -> Any:
    """Read a file as torch wrote it before 1.6: five pickles, and the numbers that the last one lists."""
    made: dict[str, Tensor] = {}
    left = size

    def stored(key: str, dtype: torch.dtype, count: int) -> Tensor:
        nonlocal left
        if key not in made:
            left -= count * dtype.itemsize
            if count < 0 or left < 0:
                raise EOFError
            made[key] = torch.empty(count, dtype=dtype)
        return made[key]

    if Reader(file, stored).load() != MAGIC:
        raise UserError(
            "is a plain pickle, which torch.save did not write: load it where you trust it, and save its tensors with "
            "torch.save or its arrays with numpy.savez, under torch's names"
        )
    Reader(file, stored).load()
    if not Reader(file, stored).load()["little_endian"]:
        raise UserError(f"was written on a machine with another order of bytes; {REMEDY}")
    tree = Reader(file, stored).load()
    for key in Reader(file, stored).load():
        numbers = made.pop(key)
        content = file.read(8 + numbers.numel() * numbers.itemsize)
        if int.from_bytes(content[:8], "little") != numbers.numel():
            raise EOFError
        if len(numbers):
            numbers.copy_(torch.frombuffer(bytearray(content[8:]), dtype=numbers.dtype))
    if made:
        raise EOFError
    return tree
