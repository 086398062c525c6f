"""The official files of a data set: in a folder of the user's, in dynlab's cache, or at their public home.

However a file came, its checksum is compared.
"""

import gzip
import hashlib
import io
import lzma
import os
import tarfile
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import IO, Any

from dynlab.errors import UserError, told_of_damage
from dynlab.tasks.task import NotAtHand

with warnings.catch_warnings():
    # pooch imports tqdm, which warns in a notebook without ipywidgets of a progress bar that is not asked for here
    warnings.filterwarnings("ignore", message="IProgress not found")
    import pooch

Member = tuple[str, IO[bytes]]  # a file's name, and the file until the next one is asked for
PACKINGS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class DataSet:
    """The files of a data set, and where they are published.

    Attributes
    ----------
    title : str
    folder : str
        Its folder within the user's data folder and dynlab's cache.
    downloads : mapping of str to (address, checksum)
        The published files, by name: the files, each packed, or one archive of them.
    files : mapping of str to str
        Official name, unpacked, to the SHA-256 of its content; empty where `read` is not used.
    unpacked : str
        The folder that an archive unpacks to.
    marker : str
        A name in that folder, by which it is known where `files` is empty.
    forms : sequence of str
        Files that hold the whole set, the quickest to read first.
    terms : str
        The condition of its home for giving the files, as a clause: then they cannot be downloaded from here.
    """

    title: str
    folder: str
    downloads: Mapping[str, Sequence[str]]
    files: Mapping[str, str] = field(default_factory=dict)
    unpacked: str = ""
    marker: str = ""
    forms: Sequence[str] = ()
    terms: str = ""

    def held(self, folder: Path) -> list[Path]:
        """The files in a folder, each packed or not, or else a file or a folder that holds the whole set, or none."""
        wheres = (folder, folder / self.unpacked)
        places = [[where / f"{name}{end}" for where in wheres for end in ("", *PACKINGS)] for name in self.files]
        there = [path for each in places for path in [path for path in each if path.is_file()][:1]]
        if there and len(there) == len(self.files):
            return there
        whole = [folder / form for form in self.forms if (folder / form).is_file()]
        known = self.marker and (folder / self.unpacked / self.marker).exists()
        return (whole + [folder / self.unpacked] * bool(known))[:1]


with (resources.files("dynlab.tasks") / "data_sets.toml").open("rb") as table:
    DATA_SETS = {name: DataSet(**each) for name, each in tomllib.load(table).items()}


@contextmanager
def opened(
    dataset: DataSet, data_dir: str | Path | None = None, *, download: bool = True
) -> Iterator[tuple[list[Path], Iterator[Member]]]:
    """Find a data set and go through its files; an error while they are read names them and says where to get it anew.

    Raises
    ------
    UserError
        As `find`, and where a copy is damaged.
    """
    paths = find(dataset, data_dir, download=download)
    named = ", ".join(map(str, paths))
    with told_of_damage(f"{named} cannot be read as {dataset.title}", f", or {by_hand(dataset)}"):
        yield paths, chain.from_iterable(map(members, paths))


def read(
    dataset: DataSet, data_dir: str | Path | None = None, *, download: bool = True
) -> tuple[list[bytes], dict[str, str]]:
    """The contents of the official files, in the order of `DataSet.files`, and their ``origin`` and ``sha256``.

    Raises
    ------
    UserError
        As `opened`.
    """
    contents = dict.fromkeys(dataset.files, b"")
    with opened(dataset, data_dir, download=download) as (paths, found):
        for full, file in found:
            name = full.rpartition("/")[2]
            if name in contents:
                contents[name] = file.read()
        for name, checksum in dataset.files.items():
            if hashlib.sha256(contents[name]).hexdigest() != checksum:
                raise ValueError(f"{name} does not have its official checksum")
    checksum = hashlib.sha256("".join(dataset.files.values()).encode()).hexdigest()
    return list(contents.values()), {"origin": ", ".join(path.name for path in paths), "sha256": checksum}


def members(path: Path) -> Iterator[Member]:
    """Go through the files in a folder or an archive, and in the archives in it; or the file itself, unpacked."""
    folder = path if path.is_dir() else path.parent
    for place in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if place.is_file():
            with place.open("rb") as file:
                yield from _unpacked(place.relative_to(folder).as_posix(), file)


def _unpacked(name: str, file: Any) -> Iterator[Member]:
    if name.endswith(".zip"):
        # a zip is read from its end, which a packed stream does not reach at once
        whole = io.BytesIO(file.read()) if isinstance(file, zipfile.ZipExtFile) else file
        with zipfile.ZipFile(whole) as archive:
            for inner in archive.namelist():
                yield from _unpacked(inner, archive.open(inner))
    elif name.endswith((".tar", ".tgz", ".tar.gz")):
        with tarfile.open(fileobj=file, mode="r|*") as stream:
            for member in stream:
                if member.isfile():
                    yield from _unpacked(member.name.removeprefix("./"), stream.extractfile(member))
    else:
        stem, dot, suffix = name.rpartition(".")
        unpack = PACKINGS.get(dot + suffix)
        yield (name, file) if unpack is None else (stem, unpack(file))


def find(dataset: DataSet, data_dir: str | Path | None = None, *, download: bool = True) -> list[Path]:
    """Find the files of a data set, or the one file or folder that holds it all.

    Looked for in this order: the folder `data_dir` or DYNLAB_DATA, there in the data set's own folder first, dynlab's
    cache, and the public home.

    Raises
    ------
    NotAtHand
        If nothing is found and nothing is to be downloaded, or can be.
    UserError
        If a download fails, and where `data_dir` is no folder.
    """
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UserError(f"There is no data folder {data_dir}; create it and put the files of {dataset.title} there.")
    named = data_dir or os.environ.get("DYNLAB_DATA")
    own = [Path(named) / dataset.folder, Path(named)] if named else []
    for folder in (*own, cache() / dataset.folder):
        if found := dataset.held(folder):
            return found
    if dataset.terms or not download:
        raise NotAtHand(f"{dataset.title} is not at hand: {by_hand(dataset)}.")
    for name, (address, checksum) in dataset.downloads.items():
        try:
            pooch.retrieve(address, known_hash=checksum, fname=name, path=cache() / dataset.folder)
        except (OSError, ValueError) as error:  # requests' own errors are OSErrors; a wrong checksum is a ValueError
            raise UserError(
                f"{dataset.title} could not be downloaded ({error}): start again, or {by_hand(dataset)}."
            ) from error
    return dataset.held(cache() / dataset.folder)


def cache() -> Path:
    """Return the folder of dynlab's downloads."""
    return Path(pooch.os_cache("dynlab"))


def by_hand(dataset: DataSet) -> str:
    """The clause that says what to get from where, and where to put it."""
    homes = " and ".join(dict.fromkeys(address.rpartition("/")[0] + "/" for address, _ in dataset.downloads.values()))
    return (
        f"put {', '.join(dataset.downloads)}, from {homes}{dataset.terms and f' {dataset.terms}'}, in a folder that "
        f"--data-dir or DYNLAB_DATA names, or in {cache() / dataset.folder}"
    )
