"""Loading what `torch.save` wrote without running any code: every foreign name becomes an inert stand-in.

`torch.load` with ``weights_only=True`` makes tensors and plain containers, and refuses all else; an ordinary Lightning
checkpoint with one `Path` among its hyper-parameters is refused whole. Here the names that a pickle wants imported are
read from its opcodes first, none of which is run. Each that torch does not know is allowed as a stand-in of that name:
an object that keeps its arguments and state and does nothing. What would only be there to run code is refused by name.
"""

import io
import warnings
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from dynlab.checkpoints.opcodes import LIST, MAPPING, TooLarge, collect_names, listed_texts
from dynlab.errors import UserError
from dynlab.numpy_files import cut
from dynlab.reading import BEYOND_COUNTING, check_size, damage, out_of_memory

ZIP_START = b"PK\x03\x04"
PICKLE_START = b"\x80"
# A torch file from before 1.6: a magic number, a protocol number, facts on the machine, the object, and its storages.
PICKLES_OF_AN_OLD_FILE = 5
LARGEST_PICKLE = 2**26  # bytes of the one in a zip file, beside which its numbers lie
# torch packs nothing; who packs a file again does not make what it says so much smaller.
MOST_TIMES, LEAST = 50, 1000
FOLDER = 0x10  # the mark of one among a member's attributes, as MS-DOS has it
CHUNK = 2**20  # bytes of a member that are looked at together

REFUSED_MODULES = ("os", "posix", "nt", "sys", "subprocess", "shutil", "importlib", "builtins")
GETATTR = "builtins.getattr"
PLAIN_BUILTINS = (
    *("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int"),
    *("list", "object", "range", "set", "slice", "str", "tuple"),
)
SAFE_ALTERNATIVE = "save the weights alone with torch.save(model.state_dict(), path), or as safetensors"


SHOWN = 100  # letters of an argument


class Foreign:
    """Stands for an object of a class that is not imported: its arguments and its state, and no behaviour.

    Attributes
    ----------
    arguments : tuple
    state : object
        What the pickle sets on the object, None where it sets nothing.
    """

    def __new__(cls, *arguments: Any) -> Any:
        self = super().__new__(cls)
        self.arguments = arguments
        self.state = None
        return self

    arguments: tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __repr__(self) -> str:
        """Its plain arguments; others may hold themselves."""
        shown = (repr(each)[:SHOWN] if isinstance(each, str | float | bool | None) else "…" for each in self.arguments)
        return f"{type(self).__name__}({', '.join(shown)})"


def load(path: Path) -> Any:
    """What the torch file at `path` holds, on the CPU, without running code.

    Raises
    ------
    UserError
        Where the file would run code if it were unpickled, is truncated, or is no file of `torch.save`.
    """
    names: dict[str, str] = {}
    # a damaged pickle drives an unpickler into any error at all: each means the same to the user
    try:
        _collect(path, names)
        _refuse_code(path, names)
        standing_in = [(_stand_in(name, use), name) for name, use in names.items()]
        with _only_these_globals(standing_in), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on pickle protocols: what cannot be read raises
            with path.open("rb") as file:  # torch takes no names of other encodings
                loaded = torch.load(file, map_location="cpu", weights_only=True)
        _check_storages(path, loaded)
        return loaded
    except UserError:
        raise
    # a damaged file may make torch's reader raise anything
    except Exception as error:
        if any(words in str(error) for words in BEYOND_COUNTING):
            raise UserError(f"{path} says that a tensor has more numbers than can be: {damage(EOFError())}.") from error
        if out_of_memory(error):
            raise
        _refuse_code(path, names)
        raise UserError(f"{path} cannot be read as a checkpoint: {_reason(error)}.") from error


def _collect(path: Path, names: dict[str, str]) -> None:
    with path.open("rb") as file:
        if file.read(len(ZIP_START)) != ZIP_START:
            file.seek(0)
            collect_names(file, names, PICKLES_OF_AN_OLD_FILE)
            return
    with zipfile.ZipFile(path) as archive:
        entries = archive.namelist()
        pickled = [entry for entry in entries if entry.endswith("/data.pkl")]
        if not pickled:
            raise UserError(f"{path} is a zip archive but not one that torch.save wrote; {SAFE_ALTERNATIVE}.")
        if twice := next((name for name, count in Counter(entries).items() if count > 1), None):
            raise UserError(f"{path} holds two parts with the name {cut(twice)!r}: which is meant cannot be told.")
        check_size(path, sum(entry.file_size for entry in archive.infolist()))
        found = archive.getinfo(pickled[0])
        if found.file_size > min(LARGEST_PICKLE, MOST_TIMES * (found.compress_size + LEAST)):
            raise TooLarge
        _check_contents(archive)
        content = archive.read(found)
    collect_names(io.BytesIO(content), names)
    with path.open("rb") as file:
        if torch._C.PyTorchFileReader(file).get_record("data.pkl") != content:
            raise ValueError("two readers find two contents in it")


def _check_storages(path: Path, loaded: Any) -> None:
    """Of an old file: torch takes what lay in its memory for the storages that the file's list of them leaves out."""
    with path.open("rb") as file:
        if file.read(len(ZIP_START)) == ZIP_START:
            return
        file.seek(0)
        collect_names(file, {}, PICKLES_OF_AN_OLD_FILE - 1)
        listed = listed_texts(file)
    left, seen, used = [loaded], {id(loaded)}, set()
    while left:
        value = left.pop()
        if isinstance(value, torch.Tensor):
            used |= {value.untyped_storage().data_ptr()} if value.numel() else set()
            continue
        parts = [value.arguments, value.state] if isinstance(value, Foreign) else value
        parts = parts.values() if isinstance(parts, dict) else parts if isinstance(parts, list | tuple) else ()
        fresh = [part for part in parts if id(part) not in seen]
        seen.update(map(id, fresh))
        left += fresh
    if len(used) > len(listed):
        raise ValueError(f"it uses {len(used)} storages and lists {len(listed)}")


def _check_contents(archive: zipfile.ZipFile) -> None:
    """Hold every member against its size and its checksum, which torch does not look at; 0 where torch wrote none.

    torch reads nothing of a member that is marked as a folder or packed into 0 bytes, and takes what lay in its memory.
    """
    for entry in archive.infolist():
        if entry.CRC == 0:
            del entry.CRC  # zipfile compares none then
        read = 0
        with archive.open(entry) as file:
            while part := file.read(CHUNK):
                read += len(part)
        if read != entry.file_size or entry.external_attr & FOLDER:
            raise zipfile.BadZipFile


def _refuse_code(path: Path, names: dict[str, str]) -> None:
    for name in names:
        module, _, attribute = name.partition(".")
        plain = name == GETATTR or (module == "builtins" and attribute in PLAIN_BUILTINS)
        if module in REFUSED_MODULES and not plain:
            raise UserError(f"{path} asks for {name} and would run code if it were unpickled; {SAFE_ALTERNATIVE}.")


def _stand_in(name: str, use: str) -> Any:
    """A class of that name whose instances are inert; a dictionary or list where the pickle fills one."""
    if name == GETATTR:
        return _first_argument
    made = {MAPPING: _empty_mapping, LIST: _empty_list}.get(use)
    return type(name.rpartition(".")[2], (Foreign,), {"__new__": made} if made else {})


def _first_argument(first: Any, *_: Any) -> Any:
    return first


def _empty_mapping(cls: type, *_: Any) -> "OrderedDict[Any, Any]":
    return OrderedDict()


def _empty_list(cls: type, *_: Any) -> list[Any]:
    return []


@contextmanager
def _only_these_globals(standing_in: list[Any]) -> Iterator[None]:
    """Allow the stand-ins, and nothing that the running program may have allowed before."""
    kept = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    try:
        with torch.serialization.safe_globals(standing_in):
            yield
    finally:
        torch.serialization.add_safe_globals(kept)


def _reason(error: Exception) -> str:
    """What went wrong, without torch's advice to load the file unsafely."""
    if isinstance(error, TooLarge):
        return f"it nests or repeats so much that reading it would take too long; {SAFE_ALTERNATIVE}"
    text = str(error) or type(error).__name__
    if "Unsupported operand" in text:
        return f"its pickle protocol, or an operation in it, is not one that torch reads safely; {SAFE_ALTERNATIVE}"
    if "call reduce for unrecognized" in text:
        return f"it calls what a call returned and would run code if it were unpickled; {SAFE_ALTERNATIVE}"
    if "Only persistent_load of storage" in text:
        return f"it holds a whole module in the format before torch 1.6, with its source code; {SAFE_ALTERNATIVE}"
    if isinstance(error, zipfile.BadZipFile):
        return damage(EOFError())
    if "Weights only load failed" in text:
        text = [line for line in text.splitlines() if line.strip() and "https://" not in line][-1]
        return damage(ValueError(text))
    return damage(error)
