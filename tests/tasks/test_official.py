"""Official files in every form, whole and damaged; downloads from a server of the test's own."""

import functools
import gzip
import hashlib
import http.server
import lzma
import re
import threading

import numpy as np
import pytest
from archives import put, tarred

from dynlab.errors import UserError
from dynlab.tasks import official

CONTENT = {name: np.random.default_rng(i).bytes(500 + i) for i, name in enumerate(["a.bin", "b.bin", "c"])}
ARCHIVE = "set.tar.gz"
ADDRESS = "http://nowhere.invalid/dir/set.tar.gz"


def archive(content):
    return tarred({"README": b"x"} | dict(reversed(content.items())), folder="./top/")


def dataset(address=ADDRESS, sum_of=b""):
    files = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()}
    checksum = f"sha256:{hashlib.sha256(sum_of).hexdigest()}"
    return official.DataSet("SET", "set", {ARCHIVE: (address, checksum)}, files, "top", forms=[ARCHIVE])


@pytest.fixture(autouse=True)
def no_other_copy(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNLAB_DATA", raising=False)
    monkeypatch.setattr(official, "cache", lambda: tmp_path / "cache")


FORMS = {
    "": lambda content: content,
    ".gz": lambda content: {f"{name}.gz": gzip.compress(data) for name, data in content.items()},
    ".xz": lambda content: {f"{name}.xz": lzma.compress(data) for name, data in content.items()},
    "archive": lambda content: {ARCHIVE: archive(content)},
}


def read(data_dir, of=None, download=False):
    contents, source = official.read(of or dataset(), data_dir, download=download)
    return dict(zip(CONTENT, contents, strict=True)), source["origin"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["", "set"])
def test_every_form_is_read_bit_for_bit(form, place, tmp_path):
    put(tmp_path / "data" / place, FORMS[form](CONTENT))
    put(tmp_path / "unpacked" / place / "top", CONTENT)
    assert read(tmp_path / "data")[0] == read(tmp_path / "unpacked")[0] == CONTENT


def test_the_folder_that_is_named_goes_before_the_environment_and_the_cache(tmp_path, monkeypatch):
    put(tmp_path / "cache" / "set", FORMS[".gz"](CONTENT))
    assert read(None)[1] == "a.bin.gz, b.bin.gz, c.gz"
    monkeypatch.setenv("DYNLAB_DATA", str(put(tmp_path / "environment", FORMS[".xz"](CONTENT))))
    assert read(None)[1] == "a.bin.xz, b.bin.xz, c.xz"
    assert read(put(tmp_path / "data", FORMS["archive"](CONTENT)))[1] == ARCHIVE


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("form", FORMS)
def test_a_changed_byte_is_named(form, tmp_path):
    put(tmp_path, FORMS[form](CONTENT | {"b.bin": flipped(CONTENT["b.bin"])}))
    with pytest.raises(UserError, match=r"cannot be read as SET: b.bin does not have its official"):
        read(tmp_path)


@pytest.mark.parametrize("form", [".gz", ".xz", "archive"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: b"none" * 200, lambda data: data[: len(data) // 2]])
def test_a_damaged_file_is_named(form, damage, tmp_path):
    path = put(tmp_path, FORMS[form](CONTENT)) / (ARCHIVE if form == "archive" else f"a.bin{form}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=rf"{re.escape(str(path))}.* cannot be read as SET: .*put {ARCHIVE}, from http"):
        read(tmp_path)


def test_what_is_not_at_hand_is_said(tmp_path):
    where = re.escape(str(tmp_path / "cache" / "set"))
    with pytest.raises(official.NotAtHand, match=rf"put {ARCHIVE}, from http://nowhere.invalid/.*DYNLAB_DATA.*{where}"):
        read(None)
    put(tmp_path, FORMS["archive"]({name: data for name, data in CONTENT.items() if name != "c"}))
    with pytest.raises(UserError, match="c does not have its official checksum"):
        read(tmp_path)


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A folder that is served, and the data set whose archive is to lie in it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "served")
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=functools.partial(serving.serve_forever, poll_interval=0.01))
        thread.start()
        whole = archive(CONTENT)
        served = put(tmp_path / "served", {ARCHIVE: whole})
        yield served, dataset(f"http://127.0.0.1:{serving.server_port}/{ARCHIVE}", whole)
        serving.shutdown()
        thread.join()


def test_a_download_is_read_from_the_cache_and_made_once(server):
    folder, of = server
    assert read(None, of, download=True)[0] == CONTENT
    (folder / ARCHIVE).unlink()
    assert read(None, of, download=True)[0] == CONTENT


def test_a_corrupted_or_missing_download_is_refused_and_not_kept(server, tmp_path):
    folder, of = server
    put(folder, {ARCHIVE: flipped(archive(CONTENT))})
    with pytest.raises(UserError, match=r"SET could not be downloaded \(.*hash of downloaded file"):
        read(None, of, download=True)
    (folder / ARCHIVE).unlink()
    with pytest.raises(UserError, match=r"could not be downloaded \(404 Client Error: .*127\.0\.0\.1"):
        read(None, of, download=True)
    assert not list((tmp_path / "cache" / "set").iterdir())
