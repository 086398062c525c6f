"""The official files of a data set: in a folder of the user's, in dynlab's cache, or at their public home.

However a file came, its checksum is compared.
"""

import gzip
import hashlib
import io
import lzma
import os
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import numpy as np

from dynlab.errors import UserError

with warnings.catch_warnings():
    # pooch imports tqdm, which warns in a notebook without ipywidgets of a progress bar that is not asked for here
    warnings.filterwarnings("ignore", message="IProgress not found")
    import pooch

Files = Path | dict[str, Path]  # an archive, or each file's path
Parsed = TypeVar("Parsed")
Found = TypeVar("Found")
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


def read(
    dataset: DataSet,
    parse: Callable[[str, bytes], Parsed],
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
    found = cast(Files, find(dataset, partial(_locate, dataset), data_dir, download=download))
    parsed: dict[str, Parsed] = {}
    for name, path, content in _contents(dataset, found):
        with damage_is_named(dataset, path):
            if hashlib.sha256(content).hexdigest() != dataset.files[name]:
                raise ValueError(f"{name} does not have its official checksum")
            parsed[name] = parse(name, content)
    return parsed, found.name if isinstance(found, Path) else ", ".join(path.name for path in found.values())


def _contents(dataset: DataSet, found: Files) -> Iterator[tuple[str, Path, bytes]]:
    """Yield each file's name, where it lies, and its bytes."""
    if isinstance(found, dict):
        for name, path in found.items():
            with damage_is_named(dataset, path), PACKINGS[path.suffix if path.suffix in PACKINGS else ""](path) as file:
                content = file.read()
            yield name, path, content
        return
    with damage_is_named(dataset, found), tarfile.open(found) as archive:
        inside = {member.name.rpartition("/")[2]: archive.extractfile(member) for member in archive}
        files = {name: inside.get(name) for name in dataset.files}
        if lacking := [name for name, file in files.items() if file is None]:
            raise ValueError(f"it lacks {', '.join(lacking)}")
        contents = {name: file.read() for name, file in files.items() if file is not None}
    yield from ((name, found, content) for name, content in contents.items())


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
        Where a download fails, and where `data_dir` is no folder.
    """
    for folder in folders(dataset, data_dir):
        found = locate(folder)
        if found is not None:
            return found
    if dataset.terms or not download:
        raise NotAtHand(f"{dataset.title} is not at hand: {by_hand(dataset)}.")
    for name, (address, checksum) in dataset.downloads.items():
        try:
            pooch.retrieve(address, known_hash=checksum, fname=name, path=cache() / dataset.folder)
        except (OSError, ValueError) as error:  # requests' own errors are OSErrors; a wrong checksum is a ValueError
            answer = getattr(error, "response", None)
            reason = f"no connection to {urlsplit(address).hostname}" if isinstance(error, OSError) else str(error)
            reason = reason if answer is None else f"the server answered {answer.status_code} {answer.reason}"
            raise UserError(
                f"{dataset.title} could not be downloaded ({reason}): start again, or {by_hand(dataset)}."
            ) from error
    found = locate(cache() / dataset.folder)
    if found is None:
        raise UserError(f"The files of {dataset.title} vanished from {cache()} while they were read; start again.")
    return found


def cache() -> Path:
    """Return the folder of dynlab's downloads."""
    return Path(pooch.os_cache("dynlab"))


def by_hand(dataset: DataSet) -> str:
    """What to get from where, and where to put it, as a clause."""
    homes = " and ".join(dict.fromkeys(address.rpartition("/")[0] + "/" for address, _ in dataset.downloads.values()))
    return (
        f"put {', '.join(dataset.downloads)}, from {homes}{dataset.terms and f' {dataset.terms}'}, in a folder that "
        f"--data-dir or DYNLAB_DATA names, or in {cache() / dataset.folder}"
    )


def folders(dataset: DataSet, data_dir: str | Path | None) -> list[Path]:
    """Where the data set may lie, in the order in which it is looked for."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UserError(f"There is no data folder {data_dir}; create it and put the files of {dataset.title} there.")
    named = data_dir or os.environ.get("DYNLAB_DATA")
    own = [Path(named) / dataset.folder, Path(named)] if named else []
    return [*own, cache() / dataset.folder]


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


@contextmanager
def zipped(path: Path, inner: str) -> Iterator[zipfile.ZipFile]:
    """Open the zip file at `path`, or the one named `inner` in it."""
    with zipfile.ZipFile(path) as outer:
        within = [name for name in outer.namelist() if name.rpartition("/")[2] == inner]
        if not within:
            yield outer
            return
        with zipfile.ZipFile(io.BytesIO(outer.read(within[0]))) as archive:
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
