"""No damaged checkpoint runs code, or raises anything but dynlab's own error. `make fuzz` tries many more of each."""

import contextlib
import io
import os
import pathlib
import pickle
from collections import OrderedDict

import pytest
import safetensors.torch
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from dynlab import checkpoints, create
from dynlab.checkpoints import describe
from dynlab.checkpoints.inert import REBUILT, Foreign, Reader, _no_ordinary_tensor
from dynlab.errors import UserError

EXAMPLES = int(os.environ.get("DYNLAB_EXAMPLES", "60"))
FIRST = 2500  # bytes, where the heads and names of these small files lie


def saved(content, **how):
    made = io.BytesIO()
    torch.save(content, made, **how)
    return made.getvalue()


NETWORK = nn.LSTM(2, 3).state_dict()
DOCUMENT = checkpoints.document(create("lstm", input_size=2, hidden_size=3), nn.Linear(3, 2), "sine", {"epochs": 1})
WHOLE = {
    "zip": saved({"state_dict": NETWORK, "hp": pathlib.PurePosixPath("x")}),
    "before 1.6": saved(NETWORK, _use_new_zipfile_serialization=False),
    "module": saved(nn.Sequential(nn.GRU(2, 3))),
    "document": saved(DOCUMENT),
    "safetensors": safetensors.torch.save(NETWORK, {"format": "pt"}),
    "plain pickle": pickle.dumps(NETWORK, protocol=2),
}
changes = st.lists(
    st.tuples(st.integers(0, FIRST), st.sampled_from([0, 1, 4, 30]), st.binary(max_size=30)), min_size=1, max_size=5
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", WHOLE)
@settings(max_examples=EXAMPLES)
@given(changes=changes, kept=st.one_of(st.none(), st.integers(1, FIRST)))
@example(changes=[], kept=None)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(kind, changes, kept, tmp_path_factory):
    data = bytearray(WHOLE[kind])
    for start, length, new in changes:
        data[start : start + length] = new
    path = tmp_path_factory.getbasetemp() / "damaged.pt"
    path.write_bytes(data[:kept])
    said = ""
    try:
        describe(path)
    except UserError as error:
        said = str(error)
    assert "\n" not in said


PARTS = [
    *(bytes([code]) for code in b"()]}N012aesutRboQ"),
    *(bytes([code]) for code in (0x81, 0x85, 0x86, 0x87, 0x88, 0x8F, 0x90, 0x91, 0x93, 0x94)),
    *(b"h\x00", b"q\x00", b"h\x01", b"K\x01", b"\x82\x01"),
    *(b"cos\nsystem\n", b"c__builtin__\neval\n", b"cmine\nThing\n", b"ctorch._utils\n_rebuild_tensor_v2\n"),
    *(b"cbuiltins\ngetattr\n", b"ctorch\nload\n", b"ctorch\nfloat32\n", b"ccollections\nOrderedDict\n"),
    *(b"(imine\nX\n", b"\x8c\x02os", b"\x8c\x06system", b"\x8c\x05touch"),
]


PLAIN = (Foreign, dict, list, tuple, str, bytes, int, type(None), torch.Tensor, torch.dtype)
CALLABLE = (*REBUILT.values(), _no_ordinary_tensor, OrderedDict, tuple, torch.device)


@settings(max_examples=10 * EXAMPLES)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=40))
@example(parts=[b"\x8c\x02os", b"\x8c\x06system", b"\x93", b"\x8c\x05touch", b"\x85", b"R"])
def test_a_pickle_of_any_opcodes_makes_nothing_but_containers_tensors_and_stand_ins(parts):
    reader = Reader(io.BytesIO(b"\x80\x04" + b"".join(parts) + b"."), lambda key, dtype, count: torch.zeros(3))
    with contextlib.suppress(Exception):
        reader.load()
    left = [*reader.__dict__.get("stack", []), *reader.memo.values()]
    for value in left:
        plain = isinstance(value, PLAIN) or value in CALLABLE
        assert plain or (isinstance(value, type) and issubclass(value, Foreign)), value
