"""The official files of a data set: in a folder of the user's, in dynlab's cache, or at their public home.

However a file came, it is held against its checksum while it is read.
"""

import gzip
import hashlib
import io
import lzma
import os
import shutil
import struct
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from dynlab.errors import UserError
from dynlab.files import check_readable
from dynlab.tasks import downloads
from dynlab.tasks.tar_files import Bounded, members

Files = Path | dict[str, Path]  # an archive, or each file's path
Parsed = TypeVar("Parsed")
Found = TypeVar("Found")
CHUNK = 1 << 20  # bytes read at a time
MOST_BYTES = 1 << 26  # of a file that is held whole: the largest of the official ones has 15 MB
MOST_INNER_BYTES = 1 << 30  # of an archive within another: the largest of the official ones has 170 MB
# How a file may be packed, by what its name ends in, and what opens it.
PACKINGS: dict[str, Callable[[Path], Any]] = {"": io.FileIO, ".gz": gzip.GzipFile, ".xz": lzma.LZMAFile}
# RuntimeError: zipfile's of a packing that it does not know or a password, wave's of a length beyond the file
PYTHONS = (OSError, EOFError, LookupError, ValueError, RuntimeError)
DAMAGE = (*PYTHONS, struct.error, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


class NotAtHand(UserError):
    """A data set that is neither in a folder that was named nor in the cache, and was not to be downloaded."""


@dataclass(frozen=True)
class DataSet:
    """Which files a data set has, and where they are published.

    Attributes
    ----------
    title : str
    folder : str
        Its folder within the user's data folder and dynlab's cache.
    files : mapping of str to str
        Official name, unpacked, to the SHA-256 of its content; empty where `read` is not used.
    downloads : mapping of str to (address, checksum)
        What is published, by file name: the files, each packed, or one archive of them.
    unpacked : str
        The folder that the archive unpacks to.
    forms : tuple of str
        What else a copy of it may be called, a file.
    terms : str
        What its home asks for before it gives the files, as a clause: then they cannot be downloaded from here.
    """

    title: str
    folder: str
    files: Mapping[str, str]
    downloads: Mapping[str, tuple[str, str]]
    unpacked: str = ""
    forms: tuple[str, ...] = ()
    terms: str = ""

    @property
    def sha256(self) -> str:
        """The SHA-256 of its files' checksums, in their order."""
        return hashlib.sha256("".join(self.files.values()).encode()).hexdigest()

    @property
    def archive(self) -> str | None:
        """The name of the archive, where one is published."""
        names = [name for name in self.downloads if name.endswith((".tar.gz", ".tgz"))]
        return names[0] if names else None


class Checked:
    """A stream that remembers the checksum of what was read of it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.sha256 = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """At most `size` bytes; fewer at the end alone."""
        data = self.stream.read(size)
        self.sha256.update(data)
        return data

    def fill(self, array: np.ndarray) -> None:
        """Fill a contiguous array of bytes.

        Raises
        ------
        EOFError
            Where the stream ends before.
        """
        flat = array.reshape(-1)
        for start in range(0, len(flat), CHUNK):
            piece = flat[start : start + CHUNK]
            data = self.read(len(piece))
            if len(data) < len(piece):
                raise EOFError(f"it ends after {start + len(data)} of {len(flat)} bytes")
            piece[:] = np.frombuffer(data, np.uint8)

    def rest(self, most: int = MOST_BYTES) -> bytes:
        """All that is left.

        Raises
        ------
        ValueError
            Where that is more than `most` bytes.
        """
        pieces, size = [], 0
        while piece := self.read(CHUNK):
            size += len(piece)
            if size > most:
                raise ValueError(f"it goes on for more than {most:,} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    def skip(self) -> None:
        """Go through all that is left."""
        while self.read(CHUNK):
            pass


def read(
    dataset: DataSet,
    parse: Callable[[str, Checked], Parsed],
    data_dir: str | Path | None = None,
    *,
    download: bool = True,
) -> tuple[dict[str, Parsed], str]:
    """What `parse` makes of each official file, by its name, and the name of what was read.

    Looked for in this order: the folder `data_dir` or DYNLAB_DATA, there in the data set's own folder first, dynlab's
    cache, and the public home. A file may be packed by gzip or xz, or lie in the published archive.

    Raises
    ------
    NotAtHand
        Where nothing is found and nothing is to be downloaded.
    UserError
        Where nothing can be downloaded, where `data_dir` is no folder, and where a copy is damaged.
    """
    found = find(dataset, partial(_locate, dataset), data_dir, download=download)
    return _parsed(dataset, cast(Files, found), parse)  # mypy knows no union of a type variable's


def find(
    dataset: DataSet,
    locate: Callable[[Path], Found | None],
    data_dir: str | Path | None = None,
    *,
    download: bool = True,
) -> Found:
    """What `locate` finds in the first of the data set's folders that has it, or in the cache after a download.

    Raises
    ------
    NotAtHand
        Where nothing is found and nothing is to be downloaded, or can be.
    UserError
        Where a download fails, where `data_dir` is no folder, and where something else has a file's name.
    """
    places = folders(dataset, data_dir)
    for folder in places:
        found = locate(folder)
        if found is not None:
            return found
    _check_no_other_kind(dataset, places)
    if dataset.terms or not download:
        raise NotAtHand(f"{dataset.title} is not at hand: {by_hand(dataset)}.")
    cache = downloads.cache() / dataset.folder
    for name, (address, checksum) in dataset.downloads.items():
        downloads.fetch(dataset.title, address, checksum, cache / name, by_hand(dataset))
    found = locate(cache)
    if found is None:
        raise UserError(f"The files of {dataset.title} vanished from {cache} while they were read; start again.")
    return found


def _check_no_other_kind(dataset: DataSet, places: list[Path]) -> None:
    """Refuse what has the name of one of the data set's files and is none."""
    packed = (f"{name}{ending}" for name in dataset.files for ending in PACKINGS)
    names = (*dataset.downloads, *dataset.forms, *packed)
    for path in (folder / name for folder in places for name in names):
        if os.path.lexists(path) and not path.is_file():
            lost = "a link that leads nowhere" if not path.exists() else "a pipe or a device"
            kind = "a folder" if path.is_dir() else lost
            raise UserError(f"{path} is {kind}, where a file of {dataset.title} should be: move it away.")


def by_hand(dataset: DataSet) -> str:
    """What to get from where, and where to put it, as a clause."""
    homes = " and ".join(dict.fromkeys(address.rpartition("/")[0] + "/" for address, _ in dataset.downloads.values()))
    return (
        f"put {', '.join(dataset.downloads)}, from {homes}{dataset.terms and f' {dataset.terms}'}, in a folder that "
        f"--data-dir or DYNLAB_DATA names, or in {downloads.cache() / dataset.folder}"
    )


def folders(dataset: DataSet, data_dir: str | Path | None) -> list[Path]:
    """Where the data set may lie, in the order in which it is looked for."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UserError(f"There is no data folder {data_dir}; create it and put the files of {dataset.title} there.")
    named = data_dir or os.environ.get("DYNLAB_DATA")
    own = [Path(named) / dataset.folder, Path(named)] if named else []
    return [*own, downloads.cache() / dataset.folder]


def _locate(dataset: DataSet, folder: Path) -> Files | None:
    """The archive, or each file's path, where `folder` has all of them."""
    paths = {}
    for name in dataset.files:
        places = [where / f"{name}{ending}" for where in (folder, folder / dataset.unpacked) for ending in PACKINGS]
        there = [path for path in places if path.is_file()]
        if there:
            paths[name] = there[0]
    if len(paths) == len(dataset.files):
        return paths
    if dataset.archive is not None and (folder / dataset.archive).is_file():
        return folder / dataset.archive
    return None


def _parsed(dataset: DataSet, found: Files, parse: Callable[[str, Checked], Parsed]) -> tuple[dict[str, Parsed], str]:
    parsed: dict[str, Parsed] = {}
    for name, path, stream in _streams(dataset, found):
        with damage_is_named(dataset, path):
            checked = Checked(stream)
            parsed[name] = parse(name, checked)
            checked.skip()
            if checked.sha256.hexdigest() != dataset.files[name]:
                raise ValueError(f"{name} does not have its official checksum")
    if isinstance(found, Path) and len(parsed) < len(dataset.files):
        with damage_is_named(dataset, found):
            raise ValueError(f"it lacks {', '.join(name for name in dataset.files if name not in parsed)}")
    return parsed, found.name if isinstance(found, Path) else ", ".join(path.name for path in found.values())


def _streams(dataset: DataSet, found: Files) -> Iterator[tuple[str, Path, Any]]:
    """Each file's name, where it lies, and its bytes; an archive is gone through once."""
    if isinstance(found, dict):
        for name, path in found.items():
            with damage_is_named(dataset, path):
                stream = PACKINGS[path.suffix if path.suffix in PACKINGS else ""](path)
            with stream:
                yield name, path, stream
        return
    with damage_is_named(dataset, found), tarfile.open(found, "r|gz", tarinfo=Bounded) as archive:
        for member in members(archive):
            name = member.name.rpartition("/")[2]
            stream_or_none = archive.extractfile(member) if name in dataset.files else None
            if stream_or_none is not None:
                yield name, found, stream_or_none


def content(path: Path, most: int = MOST_BYTES) -> bytes:
    """What an ordinary file of an unpacked folder holds; a pipe of that name is refused, and not waited for.

    Raises
    ------
    ValueError
        Where it holds more than `most` bytes.
    """
    _check_bytes(path.name, check_readable(path), most)
    return path.read_bytes()


def unzipped(archive: zipfile.ZipFile, name: str, most: int = MOST_BYTES) -> bytes:
    """What a file of an archive holds, which is refused as `content` is."""
    _check_bytes(name, archive.getinfo(name).file_size, most)
    return archive.read(name)  # no more than it is said to hold, whatever is packed


def _check_bytes(name: str, size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"{name} has {size:,} bytes, more than the {most:,} that it may have")


@contextmanager
def zipped(path: Path, inner: str) -> Iterator[zipfile.ZipFile]:
    """The zip file at `path`, or where one named `inner` lies in it, that one."""
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(path))
        within = [name for name in archive.namelist() if name.rpartition("/")[2] == inner]
        if within:
            _check_bytes(inner, archive.getinfo(within[0]).file_size, MOST_INNER_BYTES)
            file = stack.enter_context(tempfile.TemporaryFile())
            with archive.open(within[0]) as packed:
                shutil.copyfileobj(packed, file)
            archive = stack.enter_context(zipfile.ZipFile(file))
        yield archive


@contextmanager
def damage_is_named(dataset: DataSet, path: Path) -> Iterator[None]:
    """Make what goes wrong while `path` is read the error that names it, and says where to get it anew.

    What numpy warns of, such as a table without a row, is refused later by its shape or checksum.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except UserError:
        raise
    except DAMAGE as error:
        published = [dataset.downloads[path.name]] if path.name in dataset.downloads else dataset.downloads.values()
        homes = " and ".join(address for address, _ in published)
        raise UserError(
            f"{path} cannot be read as {dataset.title} ({error}); remove it and get it anew from {homes}"
        ) from error
