"""Scripts that make a source's figures and tables from kept numbers, beside the claims of ``sources.toml``.

Numbers are Datasets, ``kept/NAME.KEY.nc`` beside the code.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr

from dynlab import io
from dynlab.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynlab.tasks.driving import Driving

FOLDER = Path(__file__).parent / "kept"
COMPRESSED = {"zlib": True, "complevel": 9, "shuffle": True}
Results = Mapping[str, xr.Dataset]
Panels = Any  # axes as `plt.subplots` or `plt.subplot_mosaic` gives them


def kept(name: str) -> dict[str, xr.Dataset]:
    """Return the Datasets that are kept under `name`, by their keys."""
    return {path.stem.removeprefix(f"{name}."): io.open(path) for path in sorted(FOLDER.glob(f"{name}.*.nc"))}


@functools.cache
def trainings() -> xr.Dataset:
    """Return the record of all finished trainings, which ``make queue-results`` writes."""
    return io.open(FOLDER / "trainings.nc").load()


def trained(name: str, samples: int) -> tuple[Any, Driving]:
    """Return a network of the zoo, and test sequences of its task: of HAR those that ship with dynlab."""
    from dynlab import zoo
    from dynlab.tasks import driving_inputs

    system = zoo.load(name)
    return system, driving_inputs(f"task:{system.task}", system, samples=samples, shipped=True)


@functools.cache
def told(file: str) -> dict[str, Any]:
    """Return what a TOML file beside the code says."""
    return tomllib.loads((FOLDER.parent / file).read_text(encoding="utf-8"))


def keep(name: str, results: Results) -> None:
    """Keep Datasets under `name`."""
    for key, ds in results.items():
        packed = ds.copy()
        for array in packed.variables.values():
            if array.dtype.kind in "fic" and array.ndim:
                array.encoding.update(COMPRESSED)
        io.save(packed, FOLDER / f"{name}.{key}.nc", overwrite=True)


class Drawn(NamedTuple):
    """The sentences with the numbers of a figure, and the legend's entries where it has one for all panels.

    `animation` gives the figure at each frame of the movie that ends with it.
    """

    measured: str
    named: Mapping[str, Any] | None = None
    animation: Callable[[], Iterator[Figure]] | None = None


class Made(NamedTuple):
    """A figure with what its source claims and what was measured, and what was drawn, by name."""

    title: str
    claim: str
    measured: str
    figure: Figure
    results: Results
    animation: Callable[[], Iterator[Figure]] | None


@dataclass(frozen=True)
class Script:
    """A figure of a source.

    Attributes
    ----------
    name : str
        Its key in ``sources.toml``.
    draw : callable
        Takes the kept Datasets and axes, and gives what is said of the figure.
    compute : callable, optional
        Takes ``fast``, and gives the Datasets by name; a figure of recorded trainings has none.
    size : tuple of float
        Size of the figure without its words, in inches.
    panels : mapping, optional
        Arguments of `plt.subplots` or `plt.subplot_mosaic`; without them `draw` gets no axes and makes the figure.
    """

    name: str
    draw: Callable[[Results, Panels], Drawn]
    compute: Callable[[bool], Results] | None
    size: tuple[float, float] = (8.0, 5.0)
    panels: Mapping[str, Any] | None = None

    def __call__(self, fast: bool = False, recompute: bool = False) -> Made:
        """Return the figure from the kept Datasets; `recompute` makes these first, `fast` others from less data.

        Raises
        ------
        UserError
            For `recompute` where nothing is computed: recorded trainings are drawn.
        """
        import matplotlib.pyplot as plt

        from dynlab.plots import layout, style

        if recompute:
            _keep_anew(self.name, self.compute)
        results = self.compute(True) if fast and self.compute else kept(self.name)
        said = told("sources.toml")["figures"][self.name]
        with style.style(self.size):
            make = plt.subplot_mosaic if "mosaic" in (self.panels or {}) else plt.subplots
            axes = None if self.panels is None else make(**self.panels)[1]
            drawn, figure = self.draw(results, axes), plt.gcf()  # of the axes, or the one that `draw` made
            layout.caption(figure, style.subscripts(said["title"]), said["caption"], drawn.named)
        return Made(said["title"], said["claim"], drawn.measured, figure, results, drawn.animation)


def script(
    name: str, size: tuple[float, float], compute: Callable[[bool], Results] | None = None, **panels: Any
) -> Callable[[Callable[[Results, Panels], Drawn]], Script]:
    """Make a `Script` of the function that draws it, on axes that pyplot makes of `panels`."""
    return lambda draw: Script(name, draw, compute, size, panels)


def whole(name: str, plot: Callable[[xr.Dataset], Axes], key: str, compute: Callable[[bool], Results]) -> Script:
    """Make a `Script` that draws a kept Dataset as the plot's own figure, with the verdict as its measurement."""

    def draw(results: Results, _: None) -> Drawn:
        plot(results[key])
        return Drawn(results[key].attrs["verdict"])

    return Script(name, draw, compute)


@dataclass(frozen=True)
class Table:
    """A table of a source.

    Attributes
    ----------
    name : str
        Its key in ``sources.toml``.
    measured : str
        Findings, in sentences with numbers.
    headings : list of str
    rows : list of list of str
    numeric : list of str
        The headings whose columns are flush right.
    dataset : Dataset
        The numbers.
    """

    name: str
    measured: str
    headings: list[str]
    rows: list[list[str]]
    numeric: list[str]
    dataset: xr.Dataset

    @property
    def title(self) -> str:
        """The source and the table's number."""
        return str(told("sources.toml")["tables"][self.name]["title"])

    @property
    def claim(self) -> str:
        """Return what the source says, in its terms."""
        return str(told("sources.toml")["tables"][self.name]["claim"])


@dataclass(frozen=True)
class TableScript:
    """A table of a source: called, it is made from what is kept; `recompute` makes that first.

    Attributes
    ----------
    name : str
        Names of the kept Datasets.
    make : callable
        Gives the table.
    compute : callable, optional
        As of a `Script`.
    """

    name: str
    make: Callable[[], Table]
    compute: Callable[[bool], Results] | None

    def __call__(self, recompute: bool = False) -> Table:
        if recompute:
            _keep_anew(self.name, self.compute)
        return self.make()


def table_script(
    name: str, compute: Callable[[bool], Results] | None = None
) -> Callable[[Callable[[], Table]], TableScript]:
    """Make a `TableScript` of the function that makes its table."""
    return lambda make: TableScript(name, make, compute)


def _keep_anew(name: str, compute: Callable[[bool], Results] | None) -> None:
    """Compute the Datasets of a script again, and keep them."""
    if compute is None:
        raise UserError(
            f"{name} shows recorded trainings, which --recompute does not repeat: leave it out. `python -m "
            f"dynlab.figures.training_queue train NAME FOLDER` repeats one of them."
        )
    keep(name, compute(False))
