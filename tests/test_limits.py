"""Each limit that SECURITY.md states, at it, below and above: the limit is made small, and the file grows by one."""

import importlib
import io
import struct
import zipfile

import h5py
import pytest
import torch
import xarray as xr
from safetensors.torch import save_file
from test_security import STATED

from dynlab import reading, reading_child, stores
from dynlab.checkpoints import contents, opcodes
from dynlab.checkpoints.document import _check_sizes
from dynlab.errors import UserError
from dynlab.tasks import mnist

LIMIT = 7  # in the place of the one that is stated
REFUSED, WHOLE, CUT = "refused", "whole", "cut"
ELSEWHERE = ("DYNLAB_READ_SECONDS",)  # tests/test_reading.py: of a time there is no "at"


def of_opcodes(count, _):
    opcodes.collect_names(io.BytesIO(b"\x80\x04" + b"N" * (count - 2) + b"."), {})


def of_names(count, _):
    opcodes.collect_names(io.BytesIO(b"\x80\x04" + b"".join(b"cm\nn%d\n0" % k for k in range(count)) + b"N."), {})


def of_items(count, _):
    """The tuple itself is one of them."""
    opcodes.collect_names(io.BytesIO(b"\x80\x04(" + b"N" * (count - 1) + b"t."), {})


def of_tuples(count, _):
    opcodes.collect_names(io.BytesIO(b"\x80\x04N" + b"\x85" * count + b"."), {})


def of_containers(count, path):
    tree = torch.zeros(2)
    for _ in range(count):
        tree = {"a": tree}
    torch.save(tree, path)
    contents.read_contents(path)


def of_facts(count, _):
    return WHOLE if len(contents.plain({str(k): k for k in range(count)})) == count else CUT


def of_letters(count, _):
    return WHOLE if contents.plain("a" * count) == "a" * count else CUT


def of_unproved(count, _):
    _check_sizes({"length": count}, {}, "x.pt")


def of_netcdf(count, path):
    with h5py.File(path.with_suffix(".nc"), "w") as file:
        for k in range(count):
            file.create_dataset(f"v{k}", data=k)
    return told(path.with_suffix(".nc"))


def of_zarr(count, path):
    xr.Dataset({f"v{k}": k for k in range(count)}).to_zarr(path.with_suffix(".zarr"), consolidated=False)
    return told(path.with_suffix(".zarr"))


def told(path):
    out = io.BytesIO()
    reading_child.tell(path, 2**20, out)
    return REFUSED if b"more than" in out.getvalue() else WHOLE


def of_files(count, path):
    path.mkdir()
    for k in range(count):
        (path / str(k)).touch()
    return REFUSED if stores.found_files(path) is None else WHOLE


class Stream(io.BytesIO):
    """As a data set's files are read."""

    def fill(self, array):
        self.readinto(memoryview(array).cast("B"))


def of_pixels(count, _):
    mnist.idx("x", Stream(struct.pack(">HBBI", 0, 8, 1, count) + bytes(count)))


GROWING = {
    "dynlab.checkpoints.opcodes.MOST_OPCODES": of_opcodes,
    "dynlab.checkpoints.opcodes.MOST_NAMES": of_names,
    "dynlab.checkpoints.opcodes.MOST_ITEMS": of_items,
    "dynlab.checkpoints.opcodes.DEEPEST_TUPLE": of_tuples,
    "dynlab.checkpoints.contents.DEEPEST": of_containers,
    "dynlab.checkpoints.contents.MOST_FACTS": of_facts,
    "dynlab.checkpoints.contents.LONGEST_FACT": of_letters,
    "dynlab.checkpoints.document.LARGEST_UNPROVED": of_unproved,
    "dynlab.reading_child.MOST_VARIABLES": of_netcdf,
    "dynlab.stores.MOST_FILES": of_files,
    "dynlab.tasks.mnist.LARGEST": of_pixels,
}


def outcome(make, count, path):
    try:
        return make(count, path) or WHOLE
    except (UserError, ValueError):
        return REFUSED


@pytest.mark.parametrize("name", [*GROWING, "dynlab.reading_child.MOST_VARIABLES of Zarr"])
def test_up_to_the_limit_all_is_read_and_beyond_it_is_refused_or_cut(name, tmp_path, monkeypatch):
    place, _, kind = name.partition(" of ")
    make = of_zarr if kind else GROWING[place]
    module, _, attribute = place.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), attribute, LIMIT)
    found = [outcome(make, LIMIT + more, tmp_path / f"x{more}") for more in (-1, 0, 1)]
    assert found[:2] == [WHOLE, WHOLE]
    assert found[2] in (REFUSED, CUT)


def of_pickle(path):
    torch.save({"weight": torch.zeros(2)}, path)
    with zipfile.ZipFile(path) as archive:
        return next(each.file_size for each in archive.infolist() if each.filename.endswith("/data.pkl"))


def of_header(path):
    save_file({"weight": torch.zeros(2)}, path)
    return int.from_bytes(path.read_bytes()[:8], "little")


SHRINKING = {
    "dynlab.checkpoints.inert.LARGEST_PICKLE": of_pickle,
    "dynlab.checkpoints.contents.LONGEST_HEADER": of_header,
}


@pytest.mark.parametrize("name", SHRINKING)
def test_a_file_is_read_where_the_limit_is_its_own_size_and_not_where_it_is_less(name, tmp_path, monkeypatch):
    size = SHRINKING[name](tmp_path / "x")
    module, _, attribute = name.rpartition(".")
    found = []
    for limit in (size + 1, size, size - 1):
        monkeypatch.setattr(importlib.import_module(module), attribute, limit)
        found.append(outcome(lambda _, path: contents.read_contents(path) and WHOLE, 0, tmp_path / "x"))
    assert found == [WHOLE, WHOLE, REFUSED]


def test_a_file_may_take_as_many_bytes_as_it_may(monkeypatch, tmp_path):
    monkeypatch.setenv("DYNLAB_READ_GIB", str(1000 / 2**30))
    reading.check_size(tmp_path, 999)
    reading.check_size(tmp_path, 1000)
    with pytest.raises(UserError, match="takes more memory"):
        reading.check_size(tmp_path, 1001)


def test_every_limit_that_is_stated_has_a_case():
    """Those of certificates have theirs beside the other tests of the checker, which imports nothing of dynlab's."""
    of_certificates = {"dynlab.certificate_check.MOST_BYTES", "dynlab.certificate_check.MOST_DEPTH"}
    cases = {*GROWING, *SHRINKING, "DYNLAB_READ_GIB", *ELSEWHERE} | of_certificates
    assert {name for _, name in STATED} == cases
