"""Checkpoints: both containers of torch, Lightning's, dynlab's own documents, and safetensors."""

import functools
import io
import json
import pathlib
import pickle
import struct
import tempfile
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import safetensors.torch
import torch
from mutation import EDGES, TEXTS, changed, damaged, hostile_value, in_archive, in_json, packed
from reader import Reader, Wrong
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.checkpoints.contents import NOT_READ
from dynlab.checkpoints.document import document
from dynlab.checkpoints.document import write as write_document
from dynlab.errors import UserError
from dynlab.systems import create

PIECES = tuple(b"weight_hh_l0 state_dict cbuiltins\neval\n cos\nsystem\n \x80\x02 } ] ( t R u s e q h X".split(b" "))
NAMES = """
    torch._utils._rebuild_tensor_v2 torch.FloatStorage collections.OrderedDict torch._utils._rebuild_parameter
    builtins.getattr builtins.bytearray builtins.eval builtins.set os.system mine.Cell _codecs.encode torch.Size
    torch.nn.modules.rnn.LSTM pathlib.PosixPath numpy._core.multiarray.scalar torch.device argparse.Namespace
    lightning.fabric.utilities.data.AttributeDict torch._utils._rebuild_qtensor torch.per_tensor_affine
    torch._utils._rebuild_sparse_tensor torch._utils._rebuild_meta_tensor_no_storage
""".split()
PAIRS = ((b"(", b"t"), (b"](", b"e"), (b"}(", b"u"), (b"(", b"l"), (b"(", b"d"), (b"(", b""))
KEYS = ("a", "state_dict", "weight_ih_l0", "weight_hh_l0")


def saved(content: Any, *, old: bool = False) -> bytes:
    """What `torch.save` makes of it, in the container of today or of before 1.6."""
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=not old)
    return buffer.getvalue()


@functools.cache
def contents() -> dict[str, Any]:
    """Small networks as training scripts save them."""
    torch.manual_seed(0)
    lstm, gru = nn.LSTM(2, 3, num_layers=2), nn.GRU(2, 3, bidirectional=True)
    normed = nn.utils.parametrizations.weight_norm(nn.RNN(2, 3), "weight_hh_l0")
    own = create("vanilla", input_size=2, state_size=3)
    made = document(own, nn.Linear(3, 2), {"name": "adding", "length": 20}, {"epochs": 2, "loss": [1.0, 0.5]})
    optimizer = torch.optim.Adam(lstm.parameters())
    sum(value.sum() for value in lstm.parameters()).backward()
    optimizer.step()
    hyper = {"size": 3, "folder": pathlib.PurePosixPath("/data"), "name": "x", "betas": (0.9, 0.999)}
    lightning = {"pytorch-lightning_version": "2.5.0", "epoch": 3, "global_step": 70, "hyper_parameters": hyper}
    return {
        "weights": lstm.state_dict(),
        "directions": {"model": {f"module.encoder.{name}": value for name, value in gru.state_dict().items()}},
        "training": {"state_dict": lstm.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
        "normed": normed.state_dict(),
        "lightning": lightning | {"state_dict": {f"net.{name}": value for name, value in gru.state_dict().items()}},
        "own": made,
        "own in lightning": lightning | {"state_dict": {}, "dynlab": made},
    }


@functools.cache
def files(kind: str) -> list[bytes]:
    """Valid files of a kind."""
    every = contents()
    some = {"lightning": ["lightning", "own in lightning"], "document": ["own"]}.get(kind, list(every))
    made = [saved(every[name], old=kind == "old-checkpoint") for name in some]
    return [*made, saved(nn.RNN(2, 3))] if kind == "checkpoint" else made


def pickled(draw: Random) -> bytes:
    """A pickle of random opcodes, of which most can be followed."""

    def text(value: str) -> bytes:
        raw = value.encode("utf-8", "surrogatepass")
        return b"X" + struct.pack("<I", len(raw)) + raw

    def called() -> bytes:
        module, _, name = draw.choice(NAMES).rpartition(".")
        arguments = b"".join(value(0) for _ in range(draw.randrange(4)))  # deeper ones would nest without end
        named = f"c{module}\n{name}\n".encode() if draw.random() < 0.8 else text(module) + text(name) + b"\x93"
        return named + b"(" + arguments + b"t" + draw.choice((b"R", b"R", b"\x81", b"Rb", b""))

    def value(depth: int) -> bytes:
        simple = (
            lambda: b"K" + draw.randbytes(1),
            lambda: b"\x8a\x09" + (draw.choice(EDGES) & 2**64 - 1).to_bytes(9, "little"),
            lambda: text(draw.choice((*TEXTS, "weight_hh_l0", "state_dict", "nonlinearity", "cpu", "storage", "0"))),
            lambda: draw.choice((b"N", b"\x88", b"\x89", b")", b"]", b"}", b"G" + draw.randbytes(8))),
            lambda: draw.choice((b"q\x00h\x00", b"q\x01", b"h\x00", b"2", b"0", b"Q", b"(", b"1")),
            called,
        )
        if depth and draw.random() < 0.4:
            inner = b"".join(value(depth - 1) for _ in range(draw.randrange(5)))
            opener, closer = draw.choice(PAIRS)
            return opener + inner * (300 if depth == 1 and draw.random() < 0.2 else 1) + closer
        return draw.choice(simple)()

    entries = b"".join(text(draw.choice(KEYS)) + value(3) for _ in range(3))
    return b"\x80" + bytes([draw.choice((2, 2, 2, 3, 4, 5))]) + b"}(" + entries + b"u."


def in_a_file(content: bytes, old: bool) -> bytes:
    """A torch file with this pickle."""
    if old:
        head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}]
        return b"".join(pickle.dumps(each, protocol=2) for each in head) + content + pickle.dumps([], protocol=2)
    members = {"a/data.pkl": content, "a/byteorder": b"little", "a/version": b"3\n", "a/data/0": bytes(64)}
    return packed(members)


def odd_tensor(draw: Random, old: Any) -> Any:
    """What may stand in the place of a tensor or a fact."""
    if not isinstance(old, torch.Tensor) or draw.random() < 0.2:
        return hostile_value(draw, old)
    shape = [draw.choice((0, 1, 2, 3, 9)) for _ in range(draw.randrange(4))]
    kind = draw.choice((torch.float16, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.float64))
    made = (
        lambda: torch.zeros(shape, dtype=kind),
        lambda: old.to(kind),
        lambda: old.T,
        lambda: old.flatten()[:1].expand(4, 3),
        lambda: old * float("nan"),
        lambda: old * 1e38 * 1e38,
        lambda: old.to_sparse(),
        lambda: nn.Parameter(old.clone()),
        lambda: old[..., None],
        lambda: torch.quantize_per_tensor(old.float(), 0.1, 0, torch.qint8),
        lambda: torch.zeros(shape, device="meta"),
        lambda: torch.cat([old, old]),
    )
    return draw.choice(made)()


def make(kind: str, draw: Random) -> bytes:
    """An input of a kind."""
    how, old = draw.random(), kind == "old-checkpoint"
    if draw.random() < 0.05:
        return of_any_kind(draw)
    if how < 0.25:
        return in_a_file(pickled(draw), old)
    if how < 0.5 or kind == "document":
        every = contents()
        name = {"lightning": draw.choice(("lightning", "own in lightning")), "document": "own"}.get(kind)
        tree = every[name or draw.choice(list(every))]
        try:
            for _ in range(draw.choice((1, 1, 2, 4))):
                tree = changed(draw, dict(tree) if isinstance(tree, dict) else tree, odd_tensor)
            return saved(tree, old=old)
        except Exception:  # what torch cannot save, or make of a tensor that is odd already
            return saved(hostile_value(draw, 1), old=old)
    if how < 0.75 and not old:
        return in_archive(draw, files(kind), PIECES)
    return damaged(draw, files(kind), PIECES)


@functools.cache
def tensor_files() -> list[bytes]:
    """Valid safetensors files: dynlab's own, and another's."""
    with tempfile.TemporaryDirectory() as folder:
        own = write_document(Path(folder) / "own.safetensors", contents()["own"]).read_bytes()
    return [own, safetensors.torch.save(contents()["weights"], {"format": "pt"})]


def make_safetensors(draw: Random) -> bytes:
    """An input of safetensors: its bytes damaged, or the JSON of its head."""
    if draw.random() < 0.4:
        return damaged(draw, tensor_files(), (b'"F32"', b"data_offsets", b"__metadata__"))
    whole = draw.choice(tensor_files())
    length = int.from_bytes(whole[:8], "little")
    head = json.loads(whole[8 : 8 + length])
    if "dynlab" in head["__metadata__"] and draw.random() < 0.6:
        head["__metadata__"]["dynlab"] = in_json(draw, [head["__metadata__"]["dynlab"].encode()]).decode()
        new = json.dumps(head).encode()
    else:
        new = in_json(draw, [json.dumps(head).encode()])
    return len(new).to_bytes(8, "little") + new + whole[8 + length :]


@functools.cache
def numpy_files() -> list[bytes]:
    """Valid .npz files of weights, one with what is no number beside them."""
    made = []
    for name, more in (("weights", {}), ("normed", {"note": np.array("x")})):
        buffer = io.BytesIO()
        np.savez(buffer, **{each: value.numpy() for each, value in contents()[name].items()}, **more)
        made.append(buffer.getvalue())
    return made


def of_any_kind(draw: Random) -> bytes:
    """An input of another kind under this one's name: its content says what it is."""
    if draw.random() < 0.5:
        return in_a_file(pickled(draw), draw.random() < 0.5)
    return damaged(draw, [*files("checkpoint"), *files("old-checkpoint"), *tensor_files(), *numpy_files()], PIECES)


def make_numpy(draw: Random) -> bytes:
    """An input of a .npz checkpoint: its bytes damaged, or its members."""
    if draw.random() < 0.1:
        return of_any_kind(draw)
    if draw.random() < 0.4:
        return damaged(draw, numpy_files(), PIECES)
    return in_archive(draw, numpy_files(), (b"'shape'", b"'descr'", b"<f4", b"|O", b"(9, 3)", b"True"))


def _check_sums(archive: zipfile.ZipFile, unread: set[str]) -> None:
    for entry in archive.infolist():
        try:
            if entry.filename.removesuffix(".npy") not in unread:
                archive.read(entry)
        except (zipfile.BadZipFile, EOFError) as error:
            raise Wrong(f"a member of the archive was read that is damaged: {error!r}") from error


def read_checkpoint(path: Path) -> None:
    """Describe it, as JSON can hold, and read the layers that it is said to have.

    The checksums of an archive, where it has them, are held against its contents by another library.
    """
    found = describe(path)
    json.dumps(found, allow_nan=False)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if all(entry.CRC for entry in archive.infolist()):
                _check_sums(archive, {name for name, said in found["training"].items() if said == NOT_READ})
    refusals = 0
    for each in found["systems"][:4]:
        try:
            system = read(path, layer=each["layer"]).system
        except UserError:
            refusals += 1
            continue
        if system.state_size != each["state_size"]:
            raise Wrong("the system is of another size than is said")
    if refusals:
        raise Wrong("what is described as a system is refused where it is read")


KINDS = {"checkpoint": ".pt", "old-checkpoint": ".pt", "lightning": ".ckpt", "document": ".pt"}
READERS = [
    *(Reader(kind, suffix, functools.partial(make, kind), read_checkpoint) for kind, suffix in KINDS.items()),
    Reader("safetensors", ".safetensors", make_safetensors, read_checkpoint),
    Reader("npz-weights", ".npz", make_numpy, read_checkpoint),
]
