"""What makes a figure or a table of a source: kept numbers, with the claim beside them that ``sources.toml`` has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .kept import Results, keep, kept, told

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class Drawn(NamedTuple):
    """A figure without its title, the sentences with numbers, and the legend's entries where it has one for all panels.

    `animation` gives the figure at each frame of the movie that ends with it.
    """

    figure: Figure
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
        Takes the kept Datasets, and gives the figure with its measurement.
    size : tuple of float
        Of the figure without its words, in inches.
    compute : callable, optional
        Takes ``fast``, and gives the Datasets by name; a figure of recorded trainings has none.
    of : str
        Whose Datasets are drawn, where not its own.
    """

    name: str
    draw: Callable[[Results], Drawn]
    size: tuple[float, float] = (8.0, 5.0)
    compute: Callable[[bool], Results] | None = None
    of: str = ""

    def __call__(self, fast: bool = False, recompute: bool = False) -> Made:
        """Return the figure from the kept Datasets; `recompute` makes these first, `fast` others from less data."""
        import matplotlib.pyplot as plt

        from dynlab.plots import style

        if recompute and self.compute is not None:
            keep(self.name, self.compute(False))
        results = self.compute(True) if fast and self.compute is not None else kept(self.of or self.name)
        said = told("sources.toml")["figures"][self.name]
        with style.style(self.size) as size, plt.rc_context({"figure.figsize": size}):
            drawn = self.draw(results)
            if not drawn.figure.texts:
                style.caption(drawn.figure, style.subscripts(said["title"]), said["caption"], drawn.named)
        return Made(said["title"], said["claim"], drawn.measured, drawn.figure, results, drawn.animation)


@dataclass(frozen=True)
class Table:
    """A table of a source.

    Attributes
    ----------
    name : str
        Its key in ``sources.toml``.
    measured : str
        What was found here, in sentences with numbers.
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
        """What the source says, in its terms."""
        return str(told("sources.toml")["tables"][self.name]["claim"])
