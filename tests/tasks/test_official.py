"""Official files in every form, whole and damaged; downloads from a server of the test's own."""

import functools
import gzip
import hashlib
import http.server
import io
import lzma
import os
import re
import tarfile
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import downloads, official

CONTENT = {name: np.random.default_rng(i).bytes(5000 + i) for i, name in enumerate(["a.bin", "b.bin", "c"])}
ARCHIVE = "set.tar.gz"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def archive(content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, data in [("README", b"x"), *reversed(content.items())]:
            member = tarfile.TarInfo(f"./top/{name}")
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


DATASET = official.DataSet(
    "SET",
    "set",
    {name: sha256(data) for name, data in CONTENT.items()},
    {ARCHIVE: ("http://nowhere.invalid/dir/set.tar.gz", "sha256:" + sha256(b""))},
    "top",
)


@pytest.fixture(autouse=True)
def no_other_copy(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNLAB_DATA", raising=False)
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "cache")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def put(folder, form, content=CONTENT):
    folder.mkdir(parents=True, exist_ok=True)
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
    if form == "archive":
        (folder / ARCHIVE).write_bytes(archive(content))
    else:
        for name, data in content.items():
            (folder / f"{name}{form}").write_bytes(pack[form](data))


def whole(_, stream):
    return stream.rest()


def read(data_dir, dataset=DATASET, **options):
    return official.read(dataset, whole, data_dir, **({"download": False} | options))


PLACES = [(form, place) for form in ("", ".gz", ".xz") for place in ("", "set", "top", "set/top")]


@pytest.mark.parametrize("form, place", [*PLACES, ("archive", ""), ("archive", "set")])
def test_every_form_is_read_bit_for_bit(form, place, folder):
    put(folder / place, form)
    found, _ = read(folder)
    assert found == CONTENT


def test_the_folder_that_is_named_goes_before_the_environment_and_the_cache(folder, tmp_path, monkeypatch):
    put(tmp_path / "cache" / "set", ".gz")
    assert read(None)[1] == "a.bin.gz, b.bin.gz, c.gz"
    put(tmp_path / "environment", ".xz")
    monkeypatch.setenv("DYNLAB_DATA", str(tmp_path / "environment"))
    assert read(None)[1] == "a.bin.xz, b.bin.xz, c.xz"
    put(folder, "archive")
    assert read(folder)[1] == ARCHIVE


def test_arrays_are_filled_and_the_checksum_covers_what_comes_after(folder):
    put(folder, ".gz")

    def start(_, stream):
        array = np.zeros((10, 7), np.uint8)
        stream.fill(array)
        return array

    found, _ = official.read(DATASET, start, folder, download=False)
    assert {name: array.tobytes() for name, array in found.items()} == {n: d[:70] for n, d in CONTENT.items()}


@pytest.mark.parametrize("form", ["", ".gz", ".xz", "archive"])
def test_a_changed_byte_is_named(form, folder):
    changed = bytearray(CONTENT["b.bin"])
    changed[-1] ^= 1
    put(folder, form, CONTENT | {"b.bin": bytes(changed)})
    name = ARCHIVE if form == "archive" else f"b.bin{form}"
    with pytest.raises(UserError, match=rf"{name} cannot be read as SET \(b.bin does not have its official"):
        read(folder)


@pytest.mark.parametrize("form", [".gz", ".xz", "archive"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: b"none" * 200, lambda data: data[: len(data) // 2]])
def test_a_damaged_file_is_named(form, damage, folder):
    put(folder, form)
    path = folder / (ARCHIVE if form == "archive" else f"a.bin{form}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=rf"{re.escape(str(path))} cannot be read as SET .*get it anew from http"):
        read(folder)


def test_an_archive_without_a_file_says_which(folder):
    put(folder, "archive", {name: data for name, data in CONTENT.items() if name != "c"})
    with pytest.raises(UserError, match=r"it lacks c\)"):
        read(folder)


def test_nothing_at_hand_says_what_to_get_and_where_to_put_it(tmp_path):
    where = re.escape(str(tmp_path / "cache" / "set"))
    message = rf"SET is not at hand: put {ARCHIVE}, from http://nowhere.invalid/dir/, .*DYNLAB_DATA.*{where}"
    with pytest.raises(official.NotAtHand, match=message):
        read(None)


def test_some_of_the_files_are_not_the_set(folder):
    put(folder, ".gz", {"a.bin": CONTENT["a.bin"]})
    with pytest.raises(official.NotAtHand):
        read(folder)


def test_a_data_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(UserError, match="There is no data folder"):
        read(tmp_path / "nowhere")


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `content`; once only the first `cut` bytes of it; remembers the ranges that were asked for."""

    def do_GET(self):
        self.server.ranges.append(self.headers["Range"])
        if self.server.missing:
            self.send_error(404)
            return
        start = 0
        if self.headers["Range"] and self.server.honest:
            start = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"]).group(1))
        content = self.server.content[start:]
        if start and not content:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.cut])
        self.server.cut = None

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(downloads, "CHUNK", 64)
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as serving:
        serving.ranges, serving.honest, serving.missing = [], True, False
        serving.cut, serving.content = None, archive(CONTENT)
        thread = threading.Thread(target=functools.partial(serving.serve_forever, poll_interval=0.01))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture
def published(server):
    address = f"http://127.0.0.1:{server.server_port}/{ARCHIVE}"
    return official.DataSet(
        "SET", "set", DATASET.files, {ARCHIVE: (address, "sha256:" + sha256(server.content))}, "top"
    )


def test_a_download_is_read_from_the_cache_and_made_once(server, published):
    for _ in range(2):
        assert read(None, published, download=True)[0] == CONTENT
    assert server.ranges == [None]


@pytest.mark.parametrize("honest", [True, False])
def test_a_download_that_was_cut_off_goes_on_where_it_was(honest, server, published, tmp_path):
    server.cut, server.honest = 1000, honest
    with pytest.raises(UserError, match=rf"SET .* \(the connection broke off\): start again, or put {ARCHIVE}"):
        read(None, published, download=True)
    part = tmp_path / "cache" / "set" / f"{ARCHIVE}.part"
    have = len(part.read_bytes())
    assert 900 < have <= 1000
    assert read(None, published, download=True)[0] == CONTENT
    assert server.ranges == [None, f"bytes={have}-"]
    assert [path.name for path in part.parent.iterdir()] == [ARCHIVE]


def test_a_part_that_is_whole_is_taken(server, published, tmp_path):
    (tmp_path / "cache" / "set").mkdir(parents=True)
    (tmp_path / "cache" / "set" / f"{ARCHIVE}.part").write_bytes(server.content)
    assert read(None, published, download=True)[0] == CONTENT


def test_a_corrupted_download_is_refused_and_not_kept(server, published, tmp_path):
    server.content = server.content[:-1] + b"?"
    with pytest.raises(UserError, match=r"SET could not be downloaded \(what came .* another checksum\)"):
        read(None, published, download=True)
    assert not list((tmp_path / "cache" / "set").iterdir())


def test_offline_the_error_names_the_file_to_place_by_hand(server, published):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        UserError, match=rf"\(no connection to 127.0.0.1\): start again, or put {ARCHIVE}, from http://127"
    ):
        read(None, published, download=True)


def test_a_missing_file_is_said_as_the_server_says_it(server, published):
    server.missing = True
    with pytest.raises(UserError, match=r"\(the server answered 404 Not Found\): start again"):
        read(None, published, download=True)


def test_how_far_a_long_download_is_is_said(server, published, monkeypatch):
    said = []
    monkeypatch.setattr(downloads, "TOLD_EVERY", 0)
    monkeypatch.setattr(downloads.pooch.get_logger(), "info", lambda text, *values: said.append(text % values))
    server.cut = 1000
    with pytest.raises(UserError, match="broke off"):
        read(None, published, download=True)
    monkeypatch.setattr(downloads, "MEGABYTE", 100)
    read(None, published, download=True)
    whole = round(len(server.content) / 100)
    assert said[-1] == f"{ARCHIVE}: {whole} of {whole} MB"
    assert next(line for line in said if line.startswith(ARCHIVE)) == f"{ARCHIVE}: 0 of 0 MB"


@pytest.mark.parametrize("place", ["", "set"])
@pytest.mark.parametrize("name", [ARCHIVE, "a.bin"])
@pytest.mark.parametrize("what", ["folder", "pipe", "link"])
def test_what_has_the_name_of_a_file_and_is_none_is_said(what, name, place, folder):
    path = folder / place / name
    path.parent.mkdir(exist_ok=True)
    make = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to("nowhere")}
    make[what]()
    with pytest.raises(UserError, match=rf"{name} is a {what}.*, where a file of SET should be: move it away"):
        read(folder)


def test_what_is_held_whole_is_bounded():
    with pytest.raises(ValueError, match="goes on for more than 2,000,000 bytes"):
        official.Checked(io.BytesIO(bytes(5_000_000))).rest(2_000_000)
    assert official.Checked(io.BytesIO(bytes(5000))).rest(5000) == bytes(5000)


@pytest.mark.parametrize("form", ["", ".gz", "archive"])
def test_a_bomb_in_place_of_a_file_is_refused_before_it_is_held(form, folder, monkeypatch):
    monkeypatch.setattr(official.Checked.rest, "__defaults__", (1_000_000,))
    put(folder, form, CONTENT | {"a.bin": bytes(100_000_000)})
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"cannot be read as SET .*it goes on for more than 1,000,000 bytes"):
            read(folder)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 50_000_000  # tarfile unpacks a block at a time, a thousandfold at most


def test_what_follows_the_end_of_a_file_is_not_held(folder):
    put(folder, ".gz", CONTENT | {"a.bin": bytes(50_000_000)})
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"a.bin does not have its official checksum"):
            official.read(DATASET, lambda name, stream: stream.read(4), folder, download=False)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 10_000_000


def test_a_bomb_within_an_archive_within_an_archive_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(official, "MOST_INNER_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", zipfile.ZIP_DEFLATED) as outer:
        outer.writestr("inner.zip", bytes(2000))
    found = official.zipped(tmp_path / "outer.zip", "inner.zip")
    with pytest.raises(ValueError, match=r"inner.zip has 2,000 bytes, more than the 1,000"), found:
        pytest.fail("it was opened")
