"""What the store of a sweep is made of, and whether one that lies there is: this is seen before anything is read of it.

Anybody may have written what lies there. Its files are ordinary ones, and its arrays have the dimensions, the lengths
and the types that the sweep gave them; else it is left as it is.
"""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dynlab.errors import UserError
from dynlab.reading import bounded, check_size, damage_refused
from dynlab.stores import LARGEST_ROOT, ROOT, no_ordinary_file
from dynlab.sweep.grid import MOST_CELLS, Axis, size

STATUS, PROBLEM, DIGEST = "status", "problem", "digest"
RECORD = {STATUS: "i", PROBLEM: "OT", DIGEST: "u"}  # the kinds of their values
TEXTS = ("system", "settings", "verdict", "method", "source", "flags")  # attributes, one of each cell
WAITING, DONE, FAILED = 0, 1, 2
MOST_DESCRIBED = LARGEST_ROOT // 2  # bytes of the values along the axes, which stand in what the store says of itself
MOST_IN_CHUNK = 4096  # cells whose values of one variable are one chunk
SWEEP = "sweep"  # the attribute that says what is swept over what, and which arrays are the sweep's own
NOT_THERE = "not there"  # the text of a cell that has none
LEFT = "so it is left as it is"
EARLIER = "its cells have no digests, as in stores of earlier versions"


class Layout(NamedTuple):
    """What a store says of itself.

    Attributes
    ----------
    about : object
        What is computed.
    grid : list of Axis
    dims : tuple of str
        The names of the axes in the store.
    arrays : dict
        From the name of each other array to what its values are, for a coordinate: the first of numbers that count one
        by one, else their digest; None while it is being written, and for a variable of the cells.
    sizes : dict
        The lengths of the other dimensions.
    """

    about: Any
    grid: list[Axis]
    dims: tuple[str, ...]
    arrays: dict[str, int | str | None]
    sizes: dict[str, int]

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(each.values) for each in self.grid)

    def text(self) -> str:
        """As the attribute says it."""
        told = self._asdict() | {"grid": [[*each] for each in self.grid], "arrays": dict(sorted(self.arrays.items()))}
        return json.dumps(told | {"sizes": dict(sorted(self.sizes.items()))})


def check_description(grid: Sequence[Axis]) -> None:
    """Refuse a grid whose values are too many to stand in what a store says of itself.

    Raises
    ------
    UserError
    """
    described = len(json.dumps([[*each] for each in grid]))
    if described > MOST_DESCRIBED:
        longest = max(grid, key=lambda each: len(each.values))
        raise UserError(
            f"The values along the axes are {described:,} bytes of text, and a sweep takes at most {MOST_DESCRIBED:,}: "
            f"sweep parts of {longest.name}, with its {len(longest.values):,} values, into stores of their own."
        )


def check_files(path: Path) -> None:
    """Refuse what is no folder of ordinary files: a link leads elsewhere, and a pipe may be read without end.

    Raises
    ------
    UserError
    """
    if path.is_symlink():
        raise UserError(f"{path} is a symbolic link, and nothing is written through one: name the store itself.")
    try:
        odd = no_ordinary_file(path)
        large = (path / ROOT).stat().st_size > LARGEST_ROOT
    except OSError as error:
        if path.is_dir() and not isinstance(error, FileNotFoundError):
            raise UserError(f"{path} cannot be read ({error.strerror}): make its files readable.") from error
        odd, large = None, True
    if odd is not None:
        raise UserError(f"{path} has {odd}, which is a link, a pipe or a device, {LEFT}: remove that, or name another.")
    if large:
        raise _no_sweep(path)


def layout_of(path: Path) -> Layout:
    """What a store says of itself.

    Raises
    ------
    UserError
        Where it is not that of a sweep, or has no digests.
    """
    try:
        with bounded(path):
            told = json.loads(json.loads((path / ROOT).read_bytes())["attributes"][SWEEP])
            grid = [Axis(str(name), tuple(values)) for name, values in told["grid"]]
            found = Layout(told["about"], grid, tuple(map(str, told["dims"])), {}, {})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _no_sweep(path) from error
    if "arrays" not in told or "sizes" not in told:
        raise UserError(f"{path} is not gone on with, as {EARLIER}: name another store.")
    with damage_refused(path / ROOT, "that of a sweep"):
        found.arrays.update(told["arrays"])
        found.sizes.update({name: int(length) for name, length in told["sizes"].items()})
    if not 1 <= size(grid) <= MOST_CELLS or len(found.dims) != len(grid) or found.sizes.keys() & {*found.dims}:
        raise _no_sweep(path)
    return found


def arrays_in(path: Path, group: Any, layout: Layout) -> dict[str, Any]:
    """The sweep's own arrays in a store, by name; other things that lie there are no part of it.

    Raises
    ------
    UserError
        Where one that the store cannot do without is missing, and where one is not as a sweep makes it.
    """
    there = {each.name for each in path.iterdir() if (each / ROOT).is_file()}
    found = {}
    for name in dict.fromkeys((*layout.dims, *RECORD, *layout.arrays)):
        if name in there:
            with reading(path, name):
                found[name] = _checked(path, name, group[name], layout)
        elif name in RECORD or name in layout.dims or layout.arrays[name] is not None:
            raise damaged(path, name, "is missing")
    return found


@contextmanager
def reading(path: Path, name: str, fix: str = "") -> Iterator[None]:
    """Read an array of the store at `path` inside of this block: one that is damaged is a sentence, and a `fix`."""
    try:
        with bounded(path / name), damage_refused(path / name, "an array of a sweep"):
            yield
    except UserError as error:
        raise UserError(f"{error} {fix}".strip()) from error


def damaged(path: Path, name: str, how: str) -> UserError:
    """The error for an array without which nobody knows what the cells are."""
    return UserError(f"{path}: its {name} {how}, {LEFT}: copy the store again, or name another.")


def dims_of(array: Any) -> tuple[str, ...]:
    """The names of an array's dimensions."""
    return tuple(array.metadata.dimension_names or ())


def nothing_of(name: str, kind: str) -> Any:
    """What stands in an array where there is no value, by the kind of its values."""
    if name == PROBLEM:
        return ""
    if kind in "OUT":
        return NOT_THERE
    return math.nan if kind == "f" else 0


def _checked(path: Path, name: str, array: Any, layout: Layout) -> Any:
    """The array, if it is as a sweep makes it."""
    kind, dims, axes = array.dtype.kind, dims_of(array), len(layout.dims)
    along, own = dims[:axes] == layout.dims, dims == (name,)
    right_dims = own if name in layout.dims else dims == layout.dims if name in RECORD else own or along
    if not right_dims or len({*dims}) < len(dims) or len(dims) != array.ndim:
        raise damaged(path, name, f"has other dimensions than a sweep gives it, ({', '.join(map(str, dims))})")
    if kind not in RECORD.get(name, "biufOUT" if own else "fOT"):
        raise damaged(path, name, f"has values of another type than a sweep gives it, {array.dtype}")
    known = dict(zip(layout.dims, layout.lengths, strict=True))
    for dim, length, chunk in zip(dims, array.shape, array.chunks, strict=True):
        right = length == known[dim] if dim in known else 0 <= length <= layout.sizes.get(dim, -1)
        if not right:
            raise damaged(path, name, f"has another length along {dim} than a sweep gives it, {length:,}")
        if not 1 <= chunk <= max(1, length):
            raise damaged(path, name, f"has other chunks along {dim} than a sweep gives it, of {chunk:,}")
    check_size(path / name, 8.0 * math.prod(array.shape if own else array.shape[axes:]))
    if not _same(array.fill_value, nothing_of(name, kind)):
        raise damaged(path, name, "has another value than a sweep gives it where there is none")
    return array


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # NaN is not itself


def _no_sweep(path: Path) -> UserError:
    return UserError(f"{path} is not the store of a sweep, {LEFT}: name another.")
