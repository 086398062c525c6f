"""Loading what `torch.save` wrote without running any code: every foreign name becomes an inert stand-in.

`torch.load` with ``weights_only=True`` makes tensors and plain containers, and refuses all else; an ordinary Lightning
checkpoint with one `Path` among its hyper-parameters is refused whole. Here the names that a pickle wants imported are
read from its opcodes first, none of which is run. Each that torch does not know is allowed as a stand-in of that name:
an object that keeps its arguments and state and does nothing. What would only be there to run code is refused by name.
"""

import _compat_pickle
import io
import pickletools
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch

from dynlab.errors import UserError

# What the pickle does with the object that a name makes: nothing, or fill it as a dictionary or as a list.
OBJECT, MAPPING, LIST = "object", "mapping", "list"

_MARK = object()
_FILLS = {"SETITEM": MAPPING, "SETITEMS": MAPPING, "APPEND": LIST, "APPENDS": LIST, "ADDITEMS": LIST}
_CALLS = ("REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ")
_PUTS, _GETS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), ("GET", "BINGET", "LONG_BINGET")


class _Made(NamedTuple):
    """An object that calling `name` would make."""

    name: str


def collect_names(stream: IO[bytes], found: dict[str, str], pickles: int = 1) -> None:
    """Collect every global name in a stream of pickles, and what is done with the objects it makes.

    The stack machine is followed with place-holders: strings (a name of protocol 4 is made of two), marks, and the
    objects that calling a name would make. Nothing is imported, called or built.

    Parameters
    ----------
    stream : binary file
        At the start of the first pickle.
    found : dict of str to str
        Receives ``"module.name"`` with `OBJECT`, `MAPPING` or `LIST`, so that it holds what stands before an error.
    pickles : int
        How many follow each other: one in a torch zip file, four before the storages of an older file.

    Raises
    ------
    ValueError, IndexError, KeyError
        Where the stream is no pickle, or ends too early.
    """
    for _ in range(pickles):
        _follow(stream, found)


def _follow(stream: IO[bytes], found: dict[str, str]) -> None:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        if name in _PUTS:
            memo[len(memo) if argument is None else int(argument)] = stack[-1]
        elif name in _GETS:
            stack.append(memo[int(argument or 0)])
        elif name in _FILLS:
            _pop(stack, opcode.stack_before[1:])
            if isinstance(stack[-1], _Made):
                found[stack[-1].name] = _FILLS[name]
        elif name == "BUILD":
            stack.pop()
        elif name == "DUP":
            stack.append(stack[-1])
        else:
            _apply(opcode, argument, stack, found)


def _apply(opcode: pickletools.OpcodeInfo, argument: Any, stack: list[Any], found: dict[str, str]) -> None:
    """Every opcode that takes its operands off the stack and puts one result there."""
    name = opcode.name
    taken = _pop(stack, opcode.stack_before)
    if name in ("GLOBAL", "INST"):
        module, _, attribute = argument.partition(" ")
        stack.append(_named(module, attribute, found))
    elif name == "STACK_GLOBAL":
        module, attribute = map(str, taken)
        stack.append(_named(module, attribute, found))
    elif name in _CALLS:
        stack.append(_Made(taken[0].name) if taken and isinstance(taken[0], _Global) else None)
    elif name == "MARK":
        stack.append(_MARK)
    else:
        text = argument if isinstance(argument, str) else None
        stack.extend([text] * len(opcode.stack_after))


class _Global(NamedTuple):
    """A name that the pickle wants imported."""

    name: str


def _named(module: str, name: str, found: dict[str, str]) -> _Global:
    """The name as Python 3 calls it, as torch's own unpickler translates it."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    found.setdefault(f"{module}.{name}", OBJECT)
    return _Global(f"{module}.{name}")


def _pop(stack: list[Any], operands: list[pickletools.StackObject]) -> list[Any]:
    """Take `operands` off the stack, in their order; down to the last mark where they hold one."""
    taken: list[Any] = []
    if pickletools.markobject in operands:
        while stack[-1] is not _MARK:
            taken.append(stack.pop())
        stack.pop()
        operands = operands[: operands.index(pickletools.markobject)]
    taken.extend(stack.pop() for _ in operands)
    return taken[::-1]


ZIP_START = b"PK\x03\x04"
PICKLE_START = b"\x80"
# A torch file from before 1.6: a magic number, a protocol number, facts on the machine, and the object.
PICKLES_OF_AN_OLD_FILE = 4

REFUSED_MODULES = ("os", "posix", "nt", "sys", "subprocess", "shutil", "importlib", "builtins")
GETATTR = "builtins.getattr"
PLAIN_BUILTINS = (
    *("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int"),
    *("list", "object", "range", "set", "slice", "str", "tuple"),
)
SAFE_ALTERNATIVE = "save the weights alone with torch.save(model.state_dict(), path), or as safetensors"


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
        return f"{type(self).__name__}({', '.join(map(repr, self.arguments))})"


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
            return torch.load(path, map_location="cpu", weights_only=True)
    except UserError:
        raise
    # a damaged file may make torch's reader raise anything
    except Exception as error:
        _refuse_code(path, names)
        raise UserError(f"{path} cannot be read as a checkpoint: {_reason(error)}.") from error


def _collect(path: Path, names: dict[str, str]) -> None:
    with path.open("rb") as file:
        if file.read(len(ZIP_START)) != ZIP_START:
            file.seek(0)
            return collect_names(file, names, PICKLES_OF_AN_OLD_FILE)
    with zipfile.ZipFile(path) as archive:
        entries = archive.namelist()
        if any(entry.endswith("/constants.pkl") for entry in entries):
            raise UserError(f"{path} is a TorchScript archive, which is code; {SAFE_ALTERNATIVE}.")
        pickled = [entry for entry in entries if entry.endswith("/data.pkl")]
        if not pickled:
            raise UserError(f"{path} is a zip archive but not one that torch.save wrote; {SAFE_ALTERNATIVE}.")
        return collect_names(io.BytesIO(archive.read(pickled[0])), names)


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
    if isinstance(error, zipfile.BadZipFile | EOFError):
        return "it is cut short or damaged; copy the file again"
    text = str(error) or type(error).__name__
    if "Unsupported operand" in text:
        return f"its pickle protocol is not the one that torch reads safely; {SAFE_ALTERNATIVE}"
    if "call reduce for unrecognized" in text:
        return f"it calls what a call returned and would run code if it were unpickled; {SAFE_ALTERNATIVE}"
    if "Only persistent_load of storage" in text:
        return f"it holds a whole module in the format before torch 1.6, with its source code; {SAFE_ALTERNATIVE}"
    if "Weights only load failed" in text:
        text = [line for line in text.splitlines() if line.strip() and "https://" not in line][-1]
    return text.splitlines()[0].strip().rstrip(".:") + "; copy the file again"
