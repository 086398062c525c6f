"""Arrays and Datasets from files that are made to hang, crash or swell their reader: refused in a sentence, in time."""

import contextlib
import gzip
import io
import json
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import dynlab as dl
from dynlab import checkpoints, reading, reading_child
from dynlab.choice import Choice
from dynlab.errors import UserError
from dynlab.tasks.array_files import read_sequences

QUICK = 10.0  # seconds of the processor


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setenv("DYNLAB_READ_SECONDS", "20")
    monkeypatch.setenv("DYNLAB_READ_GIB", "0.25")


def read_array(path):
    """All sequences of a file."""
    return read_sequences(path, Choice(10**9))


def refused(read, path):
    """The sentence that refuses a file; None where it is read."""
    try:
        read(path)
    except UserError as error:
        return str(error)
    return None


def head(text, version=1):
    """The start of a .npy file with any head."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(line)) + line


def described(shape, kind="<f8"):
    return head(f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}")


ARRAYS = {
    "far too large": described("(1000000, 1000000, 9)"),
    "larger than itself": described("(4, 5, 9)") + b"\0" * 100,
    "negative": described("(-4, -5, 9)") + b"\0" * 2000,
    "of wide items": described("(1,)", "|V2000000000"),
    "of arrays of arrays": described("(1,)", "(1000,1000,1000)<f8"),
    "of objects": described("(1,)", "|O") + b"cos\nsystem\n(S'touch mark'\ntR.",
    "no head": head("not a dictionary"),
    "a call": head("__import__('os').system('touch mark')"),
    "unfinished": head("{'descr': '<f8', 'shape': (((("),
    "a deep head": head("(" * 9000),
    "a long number": head("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 9000 + ",)}"),
    "another version": b"\x93NUMPY\x07\x00" + b"\0" * 50,
    "only a start": b"\x93NUMPY",
    "empty": b"",
    "text": b"hello",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("content", ARRAYS.values(), ids=ARRAYS)
def test_an_array_that_claims_what_it_has_not_is_refused_in_a_sentence(content, packed, tmp_path):
    path = tmp_path / ("x.npz" if packed else "x.npy")
    path.write_bytes(content)
    if packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inputs.npy", content)
    with pytest.raises(UserError, match=r"x\.np"):
        read_array(path)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("content", ARRAYS.values(), ids=ARRAYS)
def test_a_weight_that_claims_what_it_has_not_is_refused_in_a_sentence(content, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weight_hh_l0.npy", content)
    with pytest.raises(UserError, match=r"x\.npz"):
        checkpoints.read(tmp_path / "x.npz")
    assert not (tmp_path / "mark").exists()


def unknown_method(path):
    np.savez_compressed(path, inputs=np.zeros((2, 3, 9)))
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<H", 8), struct.pack("<H", 99)))


def encrypted(path):
    np.savez(path, inputs=np.zeros((2, 3, 9)))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("inputs.npy", "w") as file:
        file.write(described("(1, 35000000, 1)"))
        for _ in range(35):
            file.write(bytes(8_000_000))


MADE = {
    "another method": unknown_method,
    "encrypted": encrypted,
    "a bomb": bomb,
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "several arrays": lambda path: np.savez(path, a=np.ones(2), b=np.ones(2)),
    "no zip": lambda path: path.write_bytes(b"PK\x03\x04"),
}


@pytest.mark.parametrize("use", [read_array, checkpoints.read])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_an_archive_that_cannot_be_unpacked_is_refused_in_a_sentence(make, use, tmp_path):
    before = time.process_time()
    make(tmp_path / "x.npz")
    with pytest.raises(UserError, match=r"x\.npz"):
        use(tmp_path / "x.npz")
    assert time.process_time() - before < QUICK


def one_array():
    made = io.BytesIO()
    np.save(made, np.zeros((2, 3, 9)))
    return made.getvalue()


def zipped(name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


def locked():
    """An archive with an array that is said to be encrypted."""
    data = bytearray(zipped("inputs.npy", one_array()))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


CAUSES = {
    "gzip": ("x.npy", gzip.compress(b"x"), "x.npy is no .npy file: it begins as gzip; unpack it first."),
    "a pickle": ("x.npy", pickle.dumps([1]), "x.npy is no .npy file: it begins as a pickle; save the array by"),
    "an archive": ("x.npy", zipped("x.npy", b""), "x.npy is no .npy file: it begins as an archive; let its name end"),
    "another start": ("x.npy", b"\x93NUMPX\x01\x00", "x.npy is no .npy file: it does not begin as one."),
    "nothing": ("x.npy", b"", "x.npy is no .npy file: it is empty."),
    "a start alone": ("x.npy", b"\x93NUMPY", "x.npy is cut short: it ends with its first 6 bytes."),
    "a negative shape": ("x.npy", described("(2, 5, -3)"), "has the shape (2, 5, -3): no length is negative."),
    "two negative lengths": ("x.npy", described("(-2, -3)") + bytes(48), "has the shape (-2, -3): no length"),
    "too few bytes": ("x.npy", described("(2, 3)"), "says that its array takes 48 bytes, and has 0."),
    "an array as archive": ("x.npz", one_array(), "x.npz is no .npz file: it begins as a .npy file; let its name end"),
    "a pickle as archive": ("x.npz", pickle.dumps([1]), "x.npz is no .npz file: it begins as a pickle;"),
    "nothing as archive": ("x.npz", b"", "x.npz is no .npz file: it is empty."),
    "an encrypted archive": ("x.npz", locked(), "x.npz is encrypted: save it without a password."),
    "a text in an archive": ("x.npz", zipped("a.txt", b"hello"), "holds 'a.txt', which is no .npy file: it does not"),
    "a negative shape in an archive": ("x.npz", zipped("x.npy", described("(-2,)")), "the shape (-2,): no length"),
    "a long name": (
        "x.npz",
        zipped(60_000 * "n" + ".npy", one_array()),
        f"x.npz holds an array whose name '{60 * 'n'}…' has 60,000 letters: shorten it.",
    ),
    "a long name of no array": ("x.npz", zipped(900 * "n", b"hello"), f"x.npz holds '{60 * 'n'}…', which is no .npy"),
}


@pytest.mark.parametrize("name, content, sentence", CAUSES.values(), ids=CAUSES)
def test_what_is_wrong_with_an_array_is_named(name, content, sentence, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert sentence in refused(read_array, tmp_path / name)


def test_numbers_of_every_kind_are_read_as_they_were_saved(tmp_path):
    shapes, kinds = {"one": (), "x": (3,), "nothing": (0,)}, ("M8[ns]", "m8[ns]", "bool", "c8", ">f8")
    ds = xr.Dataset(
        {
            f"{dim}-{kind}": ((dim,) * len(shape), np.ones(shape, kind))
            for dim, shape in shapes.items()
            for kind in kinds
        }
    )
    dl.save(ds, tmp_path / "x.nc")
    xr.testing.assert_identical(dl.open(tmp_path / "x.nc"), ds)


def test_records_are_no_numbers(tmp_path):
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file.create_dataset("n", data=np.zeros(2, [("a", "f8"), ("b", "f8")]))
    assert "x.nc cannot be read as a NetCDF file: its variable n holds neither numbers nor text" in refused(
        dl.open, tmp_path / "x.nc"
    )


@pytest.mark.parametrize("kind", ["<f4", ">f8", "<f2", "<i2", ">u4", "|b1", "<f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_kind_and_order_are_read(kind, order, tmp_path):
    values = np.asarray(np.arange(24).reshape(2, 3, 4), kind, order=order)
    np.save(tmp_path / "x.npy", values)
    np.savez_compressed(tmp_path / "x.npz", inputs=values)
    for name in ("x.npy", "x.npz"):
        assert read_array(tmp_path / name).tolist() == values.tolist()


def large_claim(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("u", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="f8", compression="gzip")


def a_loop(path):
    with h5py.File(path, "w") as file:
        file["a"] = h5py.SoftLink("/a")
        file.create_group("g")["up"] = file["/"]


def outside(path):
    path.with_name("other.h5").write_bytes(b"")
    with h5py.File(path, "w") as file:
        file["a"] = h5py.ExternalLink(str(path.with_name("other.h5")), "/x")


def sizes_that_clash(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(3)).make_scale("x")
        file.create_dataset("v", data=np.zeros(4)).dims[0].attach_scale(file["x"])


def raw_bytes_of_another(path):
    path.with_name("secret").write_bytes(b"root:x:0:0:root:/root")
    with h5py.File(path, "w") as file:
        file.create_group("g").create_dataset("a", (20,), "u1", external=[(str(path.with_name("secret")), 0, 20)])


def a_view_of_another(path):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(str(path.with_name("other.h5")), "x", (3,))
    with h5py.File(path.with_name("other.h5"), "w") as file:
        file["x"] = np.ones(3)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("a", layout)


def unknown_types(path):
    with h5py.File(path, "w") as file:
        file["c"] = np.ones(3, complex)
        file["r"] = np.array([file["c"].ref], dtype=h5py.ref_dtype)


def pairs(path):
    with h5py.File(path, "w") as file:
        file["c"] = np.ones(3, [("r", "f8"), ("x", "i2")])


def lists(path):
    with h5py.File(path, "w") as file:
        made = file.create_dataset("l", (2,), dtype=h5py.vlen_dtype(np.dtype("f8")))
        made[0], made[1] = [1.0, 2.0], [3.0, 4.0]


FILES = {
    "pairs": pairs,
    "lists": lists,
    "a large claim": large_claim,
    "a link to itself": a_loop,
    "a link to another file": outside,
    "raw bytes of another file": raw_bytes_of_another,
    "a view of another file": a_view_of_another,
    "unknown types": unknown_types,
    "text": lambda path: path.write_bytes(b"hello"),
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "only a start": lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n"),
    "a cut": lambda path: (dl.save(xr.Dataset({"a": ("x", np.arange(999.0))}), path), os.truncate(path, 5000)),
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_a_netcdf_file_that_cannot_be_read_is_refused_in_a_sentence(make, tmp_path):
    make(tmp_path / "x.nc")
    with pytest.raises(UserError, match=r"x\.nc"):
        read_array(tmp_path / "x.nc")


def test_a_netcdf_file_whose_sizes_clash_is_refused_in_a_sentence(tmp_path):
    """The oldest h5netcdf that is allowed sees it itself, and says it in other words."""
    sizes_that_clash(tmp_path / "x.nc")
    with pytest.raises(UserError, match=r"x\.nc (holds no Dataset: conflicting sizes|cannot be read as a NetCDF file)"):
        dl.open(tmp_path / "x.nc")


def test_a_reader_that_hangs_is_stopped(tmp_path, monkeypatch):
    """What a damaged file does to HDF5, which hears no signal meanwhile."""
    monkeypatch.setenv("DYNLAB_READ_SECONDS", "1")
    monkeypatch.setattr(
        reading_child, "STARTED", "import signal; signal.pthread_sigmask(0, range(1, 30)); signal.pause()"
    )
    dl.save(xr.Dataset(), tmp_path / "x.nc")
    before = time.monotonic()
    with pytest.raises(UserError, match="takes longer than 1 s"):
        dl.open(tmp_path / "x.nc")
    assert time.monotonic() - before < 5


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 11)", "os._exit(3)", "os.write(1, b'junk\\n')"])
def test_a_reader_that_crashes_is_told_of(end, tmp_path, monkeypatch):
    monkeypatch.setattr(reading_child, "STARTED", f"import os; {end}")
    dl.save(xr.Dataset(), tmp_path / "x.nc")
    with pytest.raises(UserError, match="it is damaged"):
        dl.open(tmp_path / "x.nc")


def damaged(path, change):
    root = json.loads((path / "zarr.json").read_text())
    inner = json.loads((path / "a" / "zarr.json").read_text())
    change(root, inner)
    (path / "zarr.json").write_text(json.dumps(root))
    (path / "a" / "zarr.json").write_text(json.dumps(inner))


STORES = {
    "a large claim": lambda root, inner: inner.update(shape=[10**7, 10**6]),
    "small chunks": lambda root, inner: inner["chunk_grid"]["configuration"].update(chunk_shape=[1]),
    "an unknown codec": lambda root, inner: inner.update(codecs=[{"name": "mine"}]),
    "no shape": lambda root, inner: inner.pop("shape"),
    "an unknown format": lambda root, inner: root.update(zarr_format=9),
    "a negative size": lambda root, inner: inner.update(shape=[-3]),
}


@pytest.mark.parametrize("change", STORES.values(), ids=STORES)
def test_a_store_that_cannot_be_read_is_refused_in_a_sentence(change, tmp_path):
    xr.Dataset({"a": ("x", np.arange(3.0))}).to_zarr(tmp_path / "x.zarr", consolidated=False)
    damaged(tmp_path / "x.zarr", change)
    said = refused(dl.open, tmp_path / "x.zarr")
    assert said is None or "x.zarr" in said


@pytest.mark.parametrize("make", [lambda p: os.mkfifo(p / "a" / "pipe"), lambda p: (p / "a" / "l").symlink_to("/")])
def test_a_store_with_pipes_or_links_is_not_opened(make, tmp_path):
    xr.Dataset({"a": ("x", np.arange(3.0))}).to_zarr(tmp_path / "x.zarr", consolidated=False)
    make(tmp_path / "x.zarr")
    with pytest.raises(UserError, match="a folder of ordinary files"):
        dl.open(tmp_path / "x.zarr")


def mutated(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice([1, 2, 5])):
        start = draw.randrange(len(data))
        end = start + draw.choice([1, 1, 4, 30])
        data[start:end] = draw.choice([draw.randbytes(end - start), data[start:end] * 2, b"", b"\xff" * (end - start)])
    return bytes(data[: draw.choice([len(data), len(data), draw.randrange(1, len(data))])])


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("suffix, count", [(".npy", 300), (".npz", 300), (".nc", 4)])
def test_mutated_arrays_are_read_or_refused(suffix, count, tmp_path):
    made, draw = tmp_path / f"made{suffix}", random.Random(suffix)
    values = np.zeros((2, 3, 9))
    if suffix == ".nc":
        dl.save(xr.Dataset({"u": (("sample", "time", "input"), values)}), made)
    else:
        {".npy": np.save, ".npz": np.savez_compressed}[suffix](made, values)
    whole, path = made.read_bytes(), tmp_path / f"x{suffix}"
    for _ in range(count):
        path.write_bytes(mutated(draw, whole))
        said = refused(read_array, path)
        assert said is None or path.name in said


def test_time_is_bounded_and_the_clock_is_the_callers_again(monkeypatch):
    monkeypatch.setenv("DYNLAB_READ_SECONDS", "0.2")
    before = signal.getsignal(signal.SIGALRM)

    def for_ever(_):
        with reading.bounded("x"):
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(0.01)

    assert "To read x takes longer than 0.2 s" in refused(for_ever, None)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_memory_is_bounded_in_every_thread():
    said = []

    def work():
        try:
            with reading.bounded("x"):
                np.ones(2**28)
        except UserError as error:
            said.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [said[0]] * 3
    assert said[0].startswith("To read x takes more memory than 0.25 GiB")
    assert np.ones(2**27).size == 2**27


@pytest.mark.parametrize(
    "error",
    [
        IndexError("list index out of range"),
        KeyError("storage"),
        AttributeError("'function' object has no attribute 'dtype'"),
        TypeError("unsupported operand type(s) for *"),
        ValueError("invalid literal for int() with base 10: b'xx'"),
        ValueError("malformed node or string on line 1: <ast.Call object at 0x7f6e871cd420>"),
        RuntimeError("set_() received an invalid combination of arguments - got (int), but expected one of"),
        OSError("[Errno 22] Invalid argument"),
        RuntimeError("storage has wrong byte size: expected %ld got %ld137168388"),
        ValueError("9" * 6000),
        ValueError(""),
        EOFError(),
    ],
)
def test_what_python_says_of_its_own_objects_is_no_reason(error):
    assert reading.damage(error) == "it is cut short or damaged; copy it again"


def test_a_librarys_own_sentence_is_a_reason():
    error = RuntimeError("unexpected EOF, expected 300 more bytes.\nsecond line")
    assert reading.damage(error) == "unexpected EOF, expected 300 more bytes; copy it again"


def test_what_a_netcdf_file_holds_is_kept_once(tmp_path, monkeypatch):
    values = np.arange(4.0e6)
    dl.save(xr.Dataset({"a": ("x", values)}), tmp_path / "x.nc")
    told = io.BytesIO()
    reading_child.tell(tmp_path / "x.nc", reading.limits().bytes, told)
    told.seek(0)
    monkeypatch.setattr(reading_child, "told_by_another_process", lambda path, wanted: contextlib.nullcontext(told))
    tracemalloc.start()
    try:
        variables, _ = reading_child.read(tmp_path / "x.nc")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(variables["a"][0][1], values)
    assert peak < 1.1 * values.nbytes


@pytest.mark.parametrize("shape", [(2, 4, 2), (2, 6, 2)])
def test_an_array_with_more_or_fewer_numbers_than_it_says_is_refused(shape, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 5, 2)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(2, 5, 2)", str(shape).encode()))
    assert "says that its array takes" in refused(read_array, tmp_path / "a.npy")


def test_variables_are_counted_before_they_are_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_child, "MOST_VARIABLES", 3)
    with h5py.File(tmp_path / "a.nc", "w") as file:
        for index in range(4):
            file[f"v{index}"] = 0.0
    monkeypatch.setattr(xr, "open_dataset", lambda *_, **__: pytest.fail("it was opened"))
    told = io.BytesIO()
    reading_child.tell(tmp_path / "a.nc", 10**6, told)
    assert b"more than" in told.getvalue()


def running(name):
    """The processes whose command line names that file."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            found += [int(place.parent.name)] if os.fsencode(name) in place.read_bytes().split(b"\0") else []
    return found


def wait_until(met):
    end = time.monotonic() + 60
    while not met():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone ends a process with its parent")
@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_the_reading_process_ends_with_a_dynlab_that_is_killed(seconds, tmp_path):
    os.mkfifo(tmp_path / "a.nc")
    code = f"import pathlib, dynlab.reading_child as child; child.read(pathlib.Path({str(tmp_path / 'a.nc')!r}))"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as reader:
        wait_until(lambda: running(tmp_path / "a.nc"))
        time.sleep(seconds)  # before it is ready, and when it waits for the pipe
        reader.kill()
    wait_until(lambda: not running(tmp_path / "a.nc"))
