"""No checkpoint can run code: whatever a pickle asks for is refused by name or never happens."""

import builtins
import contextlib
import functools
import importlib
import io
import operator
import os
import pathlib
import pickle
import runpy
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from dynlab.checkpoints import read
from dynlab.checkpoints.inert import REBUILT, Foreign, Reader, _no_ordinary_tensor
from dynlab.errors import UserError

EXAMPLES = int(os.environ.get("DYNLAB_EXAMPLES", "60"))
WEIGHTS = nn.GRU(2, 3).state_dict()


class Calls:
    """Pickles as a call of `function`, which an ordinary unpickler makes."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def refused_by_name(mark):
    """Calls that create the file `mark`, each by a module that a checkpoint has no business with."""
    code = f"open({str(mark)!r}, 'w').close()"
    return {
        "os.system": Calls(os.system, f"touch {mark}"),
        "os.makedirs": Calls(os.makedirs, str(mark)),
        "builtins.eval": Calls(eval, code),
        "builtins.exec": Calls(exec, code),
        "builtins.__import__": Calls(builtins.__import__, "antigravity"),
        "builtins.setattr": Calls(setattr, pathlib.PurePath, "dynlab_was_here", 1),
        "importlib.import_module": Calls(importlib.import_module, "antigravity"),
        "subprocess.check_call": Calls(subprocess.check_call, ["touch", str(mark)]),
        "shutil.copyfile": Calls(shutil.copyfile, __file__, str(mark)),
        "sys.exit": Calls(sys.exit, 0),
    }


def stand_ins(mark):
    """Calls by names that are not refused as such: they load as stand-ins, which do nothing."""
    script = mark.with_suffix(".py")
    script.write_text(f"open({str(mark)!r}, 'w').close()")
    touch = Calls(getattr, pathlib.Path(mark), "touch")
    return [
        Calls(functools.partial, touch),
        Calls(operator.call, Calls(getattr, touch, "__call__")),
        Calls(runpy.run_path, str(script)),
        Calls(pickle.loads, pickle.dumps(Calls(os.system, f"touch {mark}"))),
        Calls(torch.load, str(script)),
        Calls(pathlib.Path.touch, pathlib.Path(mark)),
        Calls(open, str(mark), "w"),
        Calls(operator.methodcaller("touch"), mark),
    ]


@pytest.mark.parametrize("protocol", [2, 4])
def test_nothing_in_a_pickle_runs(protocol, tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "evil.pt"
    for name, call in refused_by_name(mark).items():
        torch.save({"state_dict": WEIGHTS, "extra": call}, path, pickle_protocol=protocol)
        module, _, attribute = name.rpartition(".")
        module = "posix|nt|os" if module == "os" else module
        with pytest.raises(UserError, match=rf"asks for ({module})\.{attribute} and would run code"):
            read(path)
    for call in stand_ins(mark):
        torch.save({"state_dict": WEIGHTS, "extra": call}, path, pickle_protocol=protocol)
        assert read(path).system.state_size == 3
    assert not mark.exists()
    assert not hasattr(pathlib.PurePath, "dynlab_was_here")


def test_nothing_in_an_archive_of_arrays_runs(tmp_path):
    mark = tmp_path / "mark"
    numbers = {name: value.numpy() for name, value in WEIGHTS.items()}
    objects = np.array([*refused_by_name(mark).values(), *stand_ins(mark)], dtype=object)
    np.savez(tmp_path / "a.npz", **numbers, config=objects, note=np.array("x"))
    assert read(tmp_path / "a.npz").system.state_size == 3
    np.savez(tmp_path / "b.npz", **numbers | {"weight_hh_l0": objects})
    with pytest.raises(UserError, match=r"b\.npz"):
        read(tmp_path / "b.npz")
    assert not mark.exists()


# A global by name, its call with one argument, and by GLOBAL, STACK_GLOBAL, INST and OBJ; \x80\x02 is protocol 2.
OPCODES = {
    "GLOBAL, REDUCE": b"\x80\x02cos\nsystem\n(X\x05\x00\x00\x00touchtR.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x05touch\x85R.",
    "STACK_GLOBAL through the memo": b"\x80\x04\x8c\x02os\x94\x8c\x06system\x940h\x00h\x01\x93\x8c\x05touch\x85R.",
    "INST": b"\x80\x02(X\x05\x00\x00\x00touchios\nsystem\n.",
    "OBJ": b"\x80\x02(cos\nsystem\nX\x05\x00\x00\x00toucho.",
    "Python 2's name of eval": b"\x80\x02c__builtin__\neval\n(X\x05\x00\x00\x00touchtR.",
}


@pytest.mark.parametrize("opcodes", OPCODES.values(), ids=OPCODES)
def test_every_way_to_name_a_global_is_seen(opcodes, tmp_path):
    (tmp_path / "plain.pt").write_bytes(opcodes)
    with zipfile.ZipFile(tmp_path / "zipped.pt", "w") as archive:
        archive.writestr("archive/data.pkl", opcodes)
    sentences = {"zipped": r"asks for (os\.system|builtins\.eval) and would run code", "plain": "a plain pickle"}
    for name, sentence in sentences.items():
        with pytest.raises(UserError, match=sentence):
            read(tmp_path / f"{name}.pt")


PARTS = [
    *(bytes([code]) for code in b"()]}N012aesutRboQ"),
    *(bytes([code]) for code in (0x81, 0x85, 0x86, 0x87, 0x88, 0x8F, 0x90, 0x91, 0x93, 0x94)),
    *(b"h\x00", b"q\x00", b"h\x01", b"K\x01", b"\x82\x01"),
    *(b"cos\nsystem\n", b"c__builtin__\neval\n", b"cmine\nThing\n", b"ctorch._utils\n_rebuild_tensor_v2\n"),
    *(b"cbuiltins\ngetattr\n", b"ctorch\nload\n", b"ctorch\nfloat32\n", b"ccollections\nOrderedDict\n"),
    *(b"(imine\nX\n", b"\x8c\x02os", b"\x8c\x06system", b"\x8c\x05touch"),
]
PLAIN = (Foreign, dict, list, tuple, str, bytes, int, type(None), torch.Tensor, torch.dtype)
CALLABLE = (*REBUILT.values(), _no_ordinary_tensor, torch.device)


@settings(max_examples=10 * EXAMPLES)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=40))
@example(parts=[b"\x8c\x02os", b"\x8c\x06system", b"\x93", b"\x8c\x05touch", b"\x85", b"R"])
def test_a_pickle_of_any_opcodes_makes_nothing_but_containers_tensors_and_stand_ins(parts):
    reader = Reader(io.BytesIO(b"\x80\x04" + b"".join(parts) + b"."), lambda key: torch.zeros(12, dtype=torch.uint8))
    with contextlib.suppress(Exception):
        reader.load()
    left = [*reader.__dict__.get("stack", []), *reader.memo.values()]
    for value in left:
        assert isinstance(value, PLAIN) or value in CALLABLE, value


ODD = {
    "quantised": lambda w: torch.quantize_per_tensor(w, 0.1, 0, torch.qint8),
    "negated": lambda w: torch.complex(w, w).conj().imag,
    "sparse": lambda w: w.to_sparse(),
    "meta": lambda w: w.to("meta"),
    "nested": lambda w: torch.nested.nested_tensor([w, w[:2]]),
    "of eight bits": lambda w: w.to(torch.float8_e4m3fn),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_tensors_that_are_no_plain_numbers_are_said_to_be_none(odd, tmp_path):
    odd = odd(torch.ones(9, 3))
    torch.save({"other.table": odd} | {f"rnn.{name}": value for name, value in WEIGHTS.items()}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt").system.state_size == 3
    torch.save(WEIGHTS | {"weight_hh_l0": odd}, tmp_path / "a.pt")
    with pytest.raises(UserError, match="weight_hh_l0: no floating-point numbers as ordinary"):
        read(tmp_path / "a.pt")
