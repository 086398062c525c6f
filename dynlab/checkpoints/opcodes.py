"""What a pickle asks for, read from its opcodes, none of which is run, and whether it would keep its reader busy."""

import _compat_pickle
import pickletools
import re
from typing import IO, Any, NamedTuple

# What the pickle does with the object that a name makes: nothing, or fill it as a dictionary or as a list.
OBJECT, MAPPING, LIST = "object", "mapping", "list"

# Of a pickle: as many as a checkpoint of twenty thousand tensors has, which are read in seconds.
MOST_OPCODES, MOST_NAMES = 1_000_000, 10_000
# Of a tuple: Python walks through all of it, and of what it shares as often as it stands there, to hash it.
MOST_ITEMS, DEEPEST_TUPLE = 100_000, 100
# torch lets a pickle encode text, for bytes that stand in it as Latin-1. These take a time that grows with its square.
SLOW_CODECS = ("punycode", "idna")
ENCODE = "_codecs.encode"
_NO_LETTER = re.compile("[^a-z]")  # what Python leaves out of the name of a codec, and more

_MARK = object()
_FILLS = {"SETITEM": MAPPING, "SETITEMS": MAPPING, "APPEND": LIST, "APPENDS": LIST, "ADDITEMS": LIST}
_CALLS = ("REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ")
_TUPLES = ("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3")
_OF_TEXT = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_OF_LIST = ("PROTO", "FRAME", "EMPTY_LIST", "MARK", "APPEND", "APPENDS", "STOP")
_PUTS, _GETS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), ("GET", "BINGET", "LONG_BINGET")


class TooLarge(ValueError):
    """A pickle that would take too long, or too much memory."""


class _Made(NamedTuple):
    """An object that calling `name` would make."""

    name: str


class _Tuple(NamedTuple):
    """A tuple: how many items it unfolds to, and how many tuples lie in each other."""

    items: int = 1
    depth: int = 1


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
        Where the stream is no pickle, ends too early, or is made to keep its reader busy.
    """
    for _ in range(pickles):
        _follow(stream, found)


def listed_texts(stream: IO[bytes]) -> set[str]:
    """The texts of a pickle that is a list of texts and nothing else; raises ValueError for another."""
    found = set()
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name in _OF_TEXT:
            found.add(str(argument))
        elif opcode.name not in (*_OF_LIST, *_PUTS):
            raise ValueError("its list of storages is none")
    return found


def _follow(stream: IO[bytes], found: dict[str, str]) -> None:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    slow = False
    for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        name = opcode.name
        slow = slow or (isinstance(argument, str) and _NO_LETTER.sub("", argument.lower()) in SLOW_CODECS)
        if count == MOST_OPCODES or len(found) > MOST_NAMES or (slow and ENCODE in found):
            raise TooLarge("it is made to keep its reader busy")
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
    elif name in _TUPLES:
        stack.append(_tuple(taken))
    else:
        text = argument if isinstance(argument, str) else None
        stack.extend([text] * len(opcode.stack_after))


def _tuple(taken: list[Any]) -> _Tuple:
    inside = [item for item in taken if isinstance(item, _Tuple)]
    made = _Tuple(
        1 + len(taken) + sum(item.items for item in inside), 1 + max((item.depth for item in inside), default=0)
    )
    if made.items > MOST_ITEMS or made.depth > DEEPEST_TUPLE:
        raise TooLarge("it is made to keep its reader busy")
    return made


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
