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
import pickletools
import runpy
import shutil
import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn

from dynlab.checkpoints import read
from dynlab.checkpoints.inert import load
from dynlab.errors import UserError

SAVERS = {
    "zip": torch.save,
    "before 1.6": functools.partial(torch.save, _use_new_zipfile_serialization=False),
    "protocol 4": functools.partial(torch.save, pickle_protocol=4),
    "a bare pickle": lambda content, path: path.write_bytes(pickle.dumps(content, protocol=4)),
}


class Calls:
    """Pickles as a call of `function`, which an ordinary unpickler makes."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def payloads(mark):
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


@pytest.mark.parametrize("save", SAVERS.values(), ids=SAVERS)
@pytest.mark.parametrize("name", payloads("x"))
def test_a_pickle_that_would_run_code_is_refused_by_name(name, save, tmp_path):
    mark = tmp_path / "mark"
    save({"state_dict": nn.GRU(2, 3).state_dict(), "extra": payloads(mark)[name]}, tmp_path / "evil.pt")
    module, _, attribute = name.rpartition(".")
    module = "posix|nt|os" if module == "os" else module
    with pytest.raises(UserError, match=rf"asks for ({module})\.{attribute} and would run code.*state_dict"):
        read(tmp_path / "evil.pt")
    assert not mark.exists()
    assert not hasattr(pathlib.PurePath, "dynlab_was_here")


def sneaky(mark):
    """Calls by names that are not refused as such: they load as stand-ins, which do nothing."""
    script = mark.with_suffix(".py")
    touch = Calls(getattr, pathlib.Path(mark), "touch")
    return {
        "a method by getattr": Calls(functools.partial, touch),
        "getattr of getattr": Calls(operator.call, Calls(getattr, touch, "__call__")),
        "runpy": Calls(runpy.run_path, str(script)),
        "pickle in a pickle": Calls(pickle.loads, pickle.dumps(Calls(os.system, f"touch {mark}"))),
        "torch.load": Calls(torch.load, str(script)),
        "Path.touch": Calls(pathlib.Path.touch, pathlib.Path(mark)),
        "io.open": Calls(open, str(mark), "w"),
        "what a call returned": Calls(operator.methodcaller("touch"), mark),
    }


@pytest.mark.parametrize("name", sneaky(pathlib.Path("x")))
def test_what_is_not_refused_is_inert(name, tmp_path):
    mark = tmp_path / "mark"
    mark.with_suffix(".py").write_text(f"open({str(mark)!r}, 'w').close()")
    torch.save({"state_dict": nn.GRU(2, 3).state_dict(), "extra": sneaky(mark)[name]}, tmp_path / "evil.pt")
    assert read(tmp_path / "evil.pt").system.state_size == 3
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


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("opcodes", OPCODES.values(), ids=OPCODES)
def test_every_way_to_name_a_global_is_seen(opcodes, zipped, tmp_path):
    path = tmp_path / "evil.pt"
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", opcodes)
            archive.writestr("archive/version", "3")
    else:
        path.write_bytes(opcodes)
    with pytest.raises(UserError, match=r"asks for (os\.system|builtins\.eval) and would run code"):
        read(path)


def test_a_tensor_with_attributes_of_its_own_has_its_numbers(tmp_path):
    weights = nn.GRU(2, 3).state_dict()
    weights["weight_hh_l0"].note = "mine"
    torch.save(weights, tmp_path / "a.pt")
    assert b"_rebuild_from_type_v2" in (tmp_path / "a.pt").read_bytes()
    assert torch.equal(read(tmp_path / "a.pt").system.weight_hh, weights["weight_hh_l0"])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "odd",
    [
        lambda w: torch.quantize_per_tensor(w, 0.1, 0, torch.qint8),
        lambda w: torch.complex(w, w).conj().imag,
        lambda w: w.to_sparse(),
        lambda w: w.to("meta"),
        lambda w: torch.nested.nested_tensor([w, w[:2]]),
        lambda w: w.to(torch.float8_e4m3fn),
    ],
    ids=["quantised", "negated", "sparse", "meta", "nested", "of eight bits"],
)
def test_tensors_that_are_no_plain_numbers_are_said_to_be_none(odd, tmp_path):
    odd = odd(torch.ones(9, 3))
    torch.save({"other.table": odd} | {f"rnn.{k}": v for k, v in nn.GRU(2, 3).state_dict().items()}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt").system.state_size == 3
    torch.save(nn.GRU(2, 3).state_dict() | {"weight_hh_l0": odd}, tmp_path / "a.pt")
    with pytest.raises(UserError, match="weight_hh_l0: no floating-point numbers as ordinary"):
        read(tmp_path / "a.pt")


def test_weights_that_an_old_file_leaves_out_are_not_what_lay_in_memory(tmp_path):
    """Its fifth pickle lists the storages that follow; torch leaves those that are not listed as they were made."""
    written = io.BytesIO()
    torch.save(torch.nn.GRU(2, 3).state_dict(), written, _use_new_zipfile_serialization=False)
    content = io.BytesIO(written.getvalue())
    for _ in range(4):
        list(pickletools.genops(content))
    head, keys, rest = written.getvalue()[: content.tell()], pickle.load(content), content.read()
    path = tmp_path / "old.pt"
    for listed, refused in ((keys, False), (keys[:-1], True), (dict.fromkeys(keys[:-1], "more"), True)):
        path.write_bytes(head + pickle.dumps(listed, protocol=2) + rest)
        with pytest.raises(UserError, match=r"old\.pt") if refused else contextlib.nullcontext():
            load(path)
