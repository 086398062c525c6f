"""A part of a report: what one command says of one network."""

from dataclasses import dataclass, field
from pathlib import Path

import xarray as xr


@dataclass(frozen=True)
class Part:
    """The result of one command for one network; if it is left out, the first three fields alone.

    Attributes
    ----------
    network : str
    section : str
        The heading that it stands under.
    command : str
    dataset : Dataset
        With its verdict; empty where it failed.
    picture : str
        The figure as a data URL.
    table : str
        Table that the command prints.
    seconds : float
        Time taken.
    problem : str
        Why it failed; empty where it did not.
    certificates : list of Path
        The proofs that it wrote.
    """

    network: str
    section: str
    command: str
    dataset: xr.Dataset = field(default_factory=xr.Dataset)
    picture: str = ""
    table: str = ""
    seconds: float = 0.0
    problem: str = ""
    certificates: list[Path] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """Return the verdict, empty where it failed."""
        return str(self.dataset.attrs.get("verdict", ""))
