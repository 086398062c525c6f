"""Files that are damaged, or made to hang, crash or swell their reader: each is read, or refused in a sentence."""

import copy
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import zipfile

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dynlab import checkpoints, create
from dynlab.checkpoints import describe
from dynlab.errors import UserError

EXAMPLES = int(os.environ.get("DYNLAB_EXAMPLES", "60"))
FIRST = 2500  # bytes, where the heads and names of these small files lie
NETWORK = nn.LSTM(2, 3).state_dict()
DOCUMENT = checkpoints.document(create("lstm", input_size=2, hidden_size=3), nn.Linear(3, 2), "sine", {"epochs": 1})


def refusal(path):
    """The sentence that refuses a file, or nothing where it is read and JSON can hold what is found."""
    said = ""
    try:
        json.dumps(describe(path), allow_nan=False)
    except UserError as error:
        said = str(error)
    assert "\n" not in said
    return said


def saved(content):
    made = io.BytesIO()
    torch.save(content, made)
    return made.getvalue()


WHOLE = {
    "zip": saved({"state_dict": NETWORK, "hp": pathlib.PurePosixPath("x")}),
    "module": saved(nn.Sequential(nn.GRU(2, 3))),
    "document": saved(DOCUMENT),
    "safetensors": safetensors.torch.save(NETWORK, {"format": "pt"}),
}
changes = st.lists(
    st.tuples(st.integers(0, FIRST), st.sampled_from([0, 1, 4, 30]), st.binary(max_size=30)), min_size=1, max_size=5
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", WHOLE)
@settings(max_examples=EXAMPLES)
@given(changes=changes, kept=st.none() | st.integers(1, FIRST))
def test_a_damaged_file_is_read_or_refused_in_one_sentence(kind, changes, kept, tmp_path_factory):
    data = bytearray(WHOLE[kind])
    for start, length, new in changes:
        data[start : start + length] = new
    path = tmp_path_factory.getbasetemp() / "damaged.pt"
    path.write_bytes(data[:kept])
    refusal(path)


def zipped(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in (("data.pkl", content), ("byteorder", "little"), ("version", "3\n"), ("data/0", bytes(4))):
            archive.writestr(f"a/{name}", part)


EMPTY, END = b"\x80\x02}", b"."  # of pickles by hand: protocol 2, the opcodes that torch knows


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def call(name, *arguments):
    module, _, attribute = name.rpartition(".")
    return f"c{module}\n{attribute}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def number(value):
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def doubled(levels, opcode):
    """Something that holds itself twice, in so many levels."""
    return b"".join(b"q\x00h\x00" + opcode for _ in range(levels))


def entry(key, value):
    return EMPTY + key + value + b"s" + END


def storage(count):
    return b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(count) + b"tQ"


def tensor(count, shape, strides):
    def sizes(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    made = (storage(count), number(0), sizes(shape), sizes(strides), b"\x89", call("collections.OrderedDict"))
    return call("torch._utils._rebuild_tensor_v2", *made)


PICKLES = {
    "a key that takes for ever to hash": entry(b")" + doubled(60, b"\x86"), b"N"),
    "a dictionary of itself": EMPTY + b"q\x00" + b"".join(text(str(n)) + b"h\x00s" for n in range(300)) + END,
    "deep lists": entry(text("a"), b"]q\x00" + b"]q\x01h\x00a0h\x01q\x00" * 100_000),
    "deep dictionaries": entry(text("state_dict"), (b"}" + text("a")) * 5_000 + b"N" + b"s" * 5_000),
    "an object of itself twice": entry(
        text("hyper_parameters"),
        b"}"
        + text("p")
        + b"cmine\nP\n)\x81"
        + b"".join(b"q\x00cmine\nP\nh\x00h\x00\x86\x81" for _ in range(60))
        + b"s",
    ),
    "many facts": entry(text("hyper_parameters"), b"}" + text("x") + b"](" + b"K\x01" * 300_000 + b"es"),
    "a great number": entry(text("epoch"), b"\x8b" + struct.pack("<I", 100_000) + b"\x01" * 100_000),
    "much room": entry(text("a"), call("builtins.bytearray", number(2**33))),
    "a key to hash in a call": entry(
        text("a"), call("collections.OrderedDict", b"]](" + b")" + doubled(60, b"\x86") + b"Neea")
    ),
    "an array of bytes": b"\x80\x05\x96" + struct.pack("<Q", 2**33) + END,
    "names of all kinds": EMPTY + text("a") + b"(" + b"".join(b"cm\n%d\n" % k for k in range(100_000)) + b"ts" + END,
    "copies": entry(
        text("a"),
        text("x" * 500_000) + b"q\x00ctorch\nSize\nq\x01(" + b"h\x01h\x00\x85R" * 500 + b"t0",
    ),
    "an unknown size": entry(text("weight_hh_l0"), tensor(2**40, [2**20, 2**20], [2**20, 1])),
    "a repeated number": entry(text("weight_hh_l0"), tensor(1, [2**20, 2**20], [0, 0])),
    "negative sizes": entry(text("weight_hh_l0"), tensor(1, [-1, -1], [1, 1])),
}


@pytest.mark.parametrize("content", PICKLES.values(), ids=PICKLES)
def test_a_pickle_that_is_made_to_harm_does_none(content, tmp_path):
    zipped(tmp_path / "a.pt", content)
    refusal(tmp_path / "a.pt")


def test_parts_that_overlap_are_refused(tmp_path):
    """Many names for one place in the file would make a small file a large one."""
    torch.save(NETWORK, tmp_path / "a.pt")
    whole = (tmp_path / "a.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        entries = archive.infolist()
    with zipfile.ZipFile(tmp_path / "b.pt", "w") as archive:
        archive.fp.write(whole[: whole.index(b"PK\x01\x02")])  # where a zip's list of its parts begins
        for number in range(100):
            for entry in entries:
                copied = copy.copy(entry)
                copied.filename = f"{entry.filename}{number or ''}"
                archive.filelist.append(copied)
        archive._didModify, archive.start_dir = True, archive.fp.tell()
    assert "overlap" in refusal(tmp_path / "b.pt")


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_two_parts_of_one_name_are_refused(tmp_path):
    torch.save(NETWORK, tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt", "a") as archive:
        name = next(each for each in archive.namelist() if each.endswith("/data/1"))
        archive.writestr(name, bytes(archive.getinfo(name).file_size))
    assert "two have one name" in refusal(tmp_path / "a.pt")


MEASURED = """
import resource, sys
from dynlab.checkpoints import describe
from dynlab.errors import UserError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        describe(path)
    except UserError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_no_small_file_takes_more_memory_than_a_file_may(tmp_path):
    for name in (
        "much room",
        "a repeated number",
        "an unknown size",
        "an array of bytes",
        "names of all kinds",
        "copies",
    ):
        zipped(tmp_path / f"{name}.pt", PICKLES[name])
    many = {"config": {"input_size": 999, "hidden_size": 999, "num_layers": 999}}
    torch.save(DOCUMENT | many, tmp_path / "many.pt")
    files = [str(path) for path in sorted(tmp_path.iterdir())]
    assert sum(os.path.getsize(file) for file in files) < 2**21
    done = subprocess.run([sys.executable, "-c", MEASURED, *files], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 600  # mebibytes, of which 512 are allowed


@pytest.mark.parametrize("member", ["data/0", "data.pkl"])
def test_a_file_whose_contents_have_changed_since_it_was_written_is_refused(member, tmp_path):
    """torch itself reads another number where one bit of a weight has changed."""
    path = tmp_path / "x.pt"
    torch.save(NETWORK, path)
    with zipfile.ZipFile(path) as archive:
        content = next(archive.read(name) for name in archive.namelist() if name.endswith(f"/{member}"))
    whole = path.read_bytes()
    place = whole.index(content) + len(content) - 1
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
    assert refusal(path)


def test_a_weight_under_many_names_is_refused(tmp_path):
    """Each layer of a stack would have a copy of its own."""
    weight = torch.ones(300, 300)
    torch.save({f"weight_{part}_l{k}": weight for k in range(500) for part in ("ih", "hh")}, tmp_path / "a.pt")
    assert "the same numbers under many names" in refusal(tmp_path / "a.pt")
    torch.save({f"weight_{part}_l{k}": weight for k in range(5) for part in ("ih", "hh")}, tmp_path / "b.pt")
    assert not refusal(tmp_path / "b.pt")
