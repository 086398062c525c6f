"""Official files in every form, whole and damaged; downloads from a server of the test's own."""

import functools
import gzip
import hashlib
import http.server
import io
import lzma
import re
import tarfile
import threading

import numpy as np
import pytest

from dynlab.errors import UserError
from dynlab.tasks import official

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
    monkeypatch.setattr(official, "cache", lambda: tmp_path / "cache")


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


def whole(_, content):
    return content


def read(data_dir, dataset=DATASET, **options):
    return official.read(dataset, whole, data_dir, **({"download": False} | options))


PLACES = [("", ""), ("", "set/top"), (".gz", "set"), (".xz", "top")]


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


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `content`, and counts how often."""

    def do_GET(self):
        self.server.asked += 1
        if self.server.missing:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as serving:
        serving.asked, serving.missing, serving.content = 0, False, archive(CONTENT)
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
    assert server.asked == 1


def test_a_corrupted_download_is_refused_and_not_kept(server, published, tmp_path):
    server.content = server.content[:-1] + b"?"
    with pytest.raises(UserError, match=r"SET could not be downloaded \(.*hash of downloaded file"):
        read(None, published, download=True)
    assert not list((tmp_path / "cache" / "set").iterdir())


def test_a_missing_file_is_said_as_the_server_says_it(server, published):
    server.missing = True
    with pytest.raises(UserError, match=r"\(the server answered 404 Not Found\): start again"):
        read(None, published, download=True)
