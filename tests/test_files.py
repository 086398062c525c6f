"""What is written is whole, in its own place, and nothing else is touched: links, kills, full disks, many at once."""

import contextlib
import json
import os
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr

from dynlab import checkpoints, create, files, io, stores
from dynlab.errors import UserError

PRECIOUS = b"precious"
KILLS = 25
WRITERS = 8
PARTS = 12  # files of the light store below, so that a kill falls into the writing of one


def light_store(place, value):
    """What a Zarr store is on the disk, as far as `stores` knows: written in milliseconds."""
    for number in range(PARTS):
        (place / "a" / "c").mkdir(parents=True, exist_ok=True)
        (place / "a" / "c" / str(number)).write_text(value * 1000)
    (place / "zarr.json").write_text(json.dumps({"attributes": {"value": value}}))


def value_of(store):
    """The one value that every file of a light store has."""
    assert stores.missing_files(store) == []
    values = {(store / "a" / "c" / str(number)).read_text()[0] for number in range(PARTS)}
    (value,) = values | {json.loads((store / "zarr.json").read_text())["attributes"]["value"]}
    return value


def start(code, *arguments):
    """A process of its own that runs `code` after the imports, without torch, xarray and zarr."""
    head = "import sys, os, json, pathlib; sys.path.insert(0, sys.argv[1]); from dynlab import files, stores\n"
    here = os.path.dirname(os.path.dirname(files.__file__))
    return subprocess.Popen([sys.executable, "-c", head + code, here, *map(str, arguments)], stderr=subprocess.PIPE)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_link_in_the_way_is_never_written_through(tmp_path, suffix):
    victim, path = tmp_path / "victim", tmp_path / f"result{suffix}"
    victim.write_bytes(PRECIOUS)
    for name in (f"{path.name}.partial", f".{path.name}.partial", f".{path.name}.partial{suffix}"):
        (tmp_path / name).symlink_to(victim)
    if suffix == ".nc":
        path.symlink_to(victim)
    io.save(xr.Dataset(), path, overwrite=True)
    assert victim.read_bytes() == PRECIOUS
    assert not path.is_symlink()


@pytest.mark.parametrize("leads_to", ["victim", "nowhere"])
def test_without_leave_a_link_is_not_replaced(tmp_path, leads_to):
    (tmp_path / "victim").write_bytes(PRECIOUS)
    path = tmp_path / "a.txt"
    path.symlink_to(tmp_path / leads_to)
    with pytest.raises(UserError, match="exists"):
        files.write_text(path, "new", overwrite=False)
    assert path.is_symlink()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.txt", "victim"]


def test_what_appears_while_a_file_is_made_is_kept_where_it_may_not_be_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    monkeypatch.setattr("os.fsync", lambda file: path.write_bytes(PRECIOUS))
    with pytest.raises(UserError, match="exists"):
        files.write_text(path, "new", overwrite=False)
    assert [found.read_bytes() for found in tmp_path.iterdir()] == [PRECIOUS]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_is_not_replaced_by_a_file(tmp_path, make):
    make(tmp_path / "a.png")
    with pytest.raises(UserError, match="no ordinary file"):
        files.write_bytes(tmp_path / "a.png", b"new")


@pytest.mark.parametrize("name", ["x" * 300, "nul\0", "file/below", "missing/below"])
def test_a_name_that_cannot_be_is_refused_in_a_sentence(tmp_path, name):
    (tmp_path / "file").write_bytes(PRECIOUS)
    with pytest.raises(UserError, match="could not be written"):
        files.write_text(tmp_path / name, "new")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file"]


def users_notes(path):
    path.mkdir()
    (path / "notes.txt").write_bytes(PRECIOUS)


def notes_in_a_store(path):
    io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), path)
    (path / "a" / "notes.txt").write_bytes(PRECIOUS)


def anothers_store(path):
    xr.Dataset({"a": ("x", np.arange(3.0))}).to_zarr(path, consolidated=False)


def link_to_a_store(path):
    io.save(xr.Dataset(), path.with_name("real.zarr"))
    path.symlink_to(path.with_name("real.zarr"))


def store_with_a_link(path):
    io.save(xr.Dataset(), path)
    (path / "c").symlink_to(path.parent)


def changed_by_its_owner(path):
    """A copy that xarray wrote: it keeps the attributes, and has the files of the same names and sizes."""
    io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), path.with_name("first.zarr"))
    found = xr.open_zarr(path.with_name("first.zarr"), consolidated=False).load()
    (found.sortby("a", ascending=False)).to_zarr(path, consolidated=False)
    assert stores.LIST in found.attrs


def with_a_note_among_its_attributes(path):
    io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), path)
    root = json.loads((path / "zarr.json").read_text())
    root["attributes"]["note"] = "mine"
    (path / "zarr.json").write_text(json.dumps(root))


def with_one_of_its_files_changed(path):
    io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), path)
    (path / "a" / "c" / "0").write_bytes(PRECIOUS)


FOLDERS = [users_notes, notes_in_a_store, anothers_store, store_with_a_link]
FOLDERS += [changed_by_its_owner, with_a_note_among_its_attributes, with_one_of_its_files_changed]


@pytest.mark.parametrize(
    "make, suffix", [(link_to_a_store, ".zarr"), *((make, end) for make in FOLDERS for end in (".nc", ".zarr"))]
)
def test_a_folder_that_holds_more_than_dynlab_wrote_is_never_replaced(tmp_path, make, suffix):
    path = tmp_path / "x.zarr"
    make(path)
    path = path.rename(tmp_path / f"u{suffix}")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(UserError, match=r"not replaced|no ordinary file"):
        io.save(xr.Dataset(), path, overwrite=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_users_file_is_no_store(tmp_path):
    (tmp_path / "x.zarr").write_bytes(PRECIOUS)
    with pytest.raises(UserError, match="not replaced"):
        io.save(xr.Dataset(), tmp_path / "x.zarr", overwrite=True)
    assert (tmp_path / "x.zarr").read_bytes() == PRECIOUS


def test_a_store_that_was_copied_in_part_is_not_opened(tmp_path):
    path = io.save(xr.Dataset({"a": ("x", np.arange(3.0))}), tmp_path / "x.zarr")
    (path / "a" / "c" / "0").unlink()
    with pytest.raises(UserError, match="lacks a/c/0"):
        io.open(path)
    io.save(xr.Dataset(), path, overwrite=True)
    assert io.open(path).sizes == {}


WRITE = """
def light(place):
    for number in range(PARTS):
        (place / "a" / "c").mkdir(parents=True, exist_ok=True)
        (place / "a" / "c" / str(number)).write_text(value * 1000)
    (place / "zarr.json").write_text(json.dumps({"attributes": {"value": value}}))
path, times, PARTS = pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if sys.argv[5] == "False":
    files.renamed = lambda *_: False
for turn in range(times):
    value = "abcdefgh"[(turn + int(sys.argv[6])) % 8]
    if path.suffix == ".zarr":
        stores.write_store(path, light, overwrite=True)
    else:
        files.write_text(path, value * 100_000)
"""


@pytest.mark.parametrize("exchange", [True, False])
def test_a_store_is_whole_whenever_its_writer_is_killed(tmp_path, exchange):
    path = tmp_path / "x.zarr"
    stores.write_store(path, lambda place: light_store(place, "z"), overwrite=False)
    chance = random.Random(0)
    for _ in range(KILLS if exchange else KILLS // 2):
        process = start(WRITE, path, 10_000, PARTS, exchange, chance.randrange(8))
        time.sleep(0.08 + chance.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        assert process.communicate()[1] == b""
        stores.recover(path)
        assert value_of(path) in "abcdefghz"


def test_an_interruption_leaves_nothing_of_a_store_though_the_library_that_writes_it_has_threads(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    library = ThreadPoolExecutor(1)

    def slowly(place):
        for number in range(PARTS):
            (place / "c").mkdir(parents=True, exist_ok=True)
            (place / "c" / str(number)).write_text("part")
            if number == 1:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.02)

    with pytest.raises(KeyboardInterrupt):
        stores.write_store(tmp_path / "x.zarr", lambda place: library.submit(slowly, place).result(), overwrite=False)
    library.shutdown()
    signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_between_two_renamings_of_a_system_without_exchange_the_old_store_is_found(tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests behind it
    io.save(xr.Dataset(attrs={"title": "old"}), path)
    monkeypatch.setattr(files, "renamed", lambda *_: False)
    monkeypatch.setattr(files, "put", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        io.save(xr.Dataset(attrs={"title": "new"}), path, overwrite=True)
    monkeypatch.undo()
    signal.signal(signal.SIGINT, before)
    assert not path.exists()
    assert io.open(path).attrs["title"] == "old"


@pytest.mark.parametrize("name", ["x.zarr", "x.txt"])
def test_many_writers_at_once_leave_one_whole_result(tmp_path, name):
    path = tmp_path / name
    writers = [start(WRITE, path, 8, PARTS, True, number) for number in range(WRITERS)]
    assert [writer.communicate()[1] for writer in writers] == [b""] * WRITERS
    if path.suffix == ".zarr":
        assert value_of(path) in "abcdefgh"
    else:
        assert len(set(path.read_text())) == 1
    assert [found.name for found in tmp_path.iterdir()] == [name]


@contextlib.contextmanager
def full_disk():
    """No file can grow beyond a few bytes, nor can what pytest writes to while this holds."""
    kept, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("name", ["x.nc", "x.zarr", "x.pt", "x.safetensors", "x.txt"])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path, name):
    path, network = tmp_path / name, create("vanilla", input_size=1, state_size=2)
    write = {
        ".nc": lambda: io.save(xr.Dataset({"a": ("x", np.arange(99.0))}), path),
        ".zarr": lambda: io.save(xr.Dataset({"a": ("x", np.arange(99.0))}), path),
        ".txt": lambda: files.write_text(path, "long" * 99),
    }
    with full_disk(), pytest.raises(UserError, match=r"could not be written \(File too large"):
        write.get(path.suffix, lambda: checkpoints.save_checkpoint(network, path))()
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_has_the_same_bytes_under_every_name_and_from_run_to_run(tmp_path):
    network = create("vanilla", input_size=1, state_size=2)
    written = [checkpoints.save_checkpoint(network, tmp_path / name) for name in ("a.pt", "another.pt")]
    assert written[0].read_bytes() == written[1].read_bytes()


@pytest.mark.parametrize("name", ["shutil.rmtree", "dynlab.stores._is_own"])
def test_an_interruption_while_the_old_store_goes_leaves_nothing_of_it(tmp_path, monkeypatch, name):
    path = tmp_path / "d.zarr"
    stores.write_store(path, lambda place: light_store(place, "a"), overwrite=False)
    untouched = pkgutil.resolve_name(name)
    interrupted = []

    def once(place, *arguments, **options):
        if str(place).endswith(".old") and not interrupted:
            interrupted.append(place)
            if name == "shutil.rmtree":
                (place / "a" / "c" / "0").unlink()
            raise KeyboardInterrupt
        return untouched(place, *arguments, **options)

    monkeypatch.setattr(name, once)
    with pytest.raises(KeyboardInterrupt):
        stores.write_store(path, lambda place: light_store(place, "b"), overwrite=True)
    assert interrupted
    assert value_of(path) == "b"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
