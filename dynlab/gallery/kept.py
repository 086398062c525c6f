"""The small Datasets that figures, tables and the audit are drawn from: kept beside the code, and made again on demand.

``kept/NAME.KEY.nc`` is one of them. A Dataset that comes out as it was is left as it is, so that making all of them
again changes a file only where a number changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from dynlab import io
from dynlab.gallery.made import Made

FOLDER = Path(__file__).parent / "kept"
COMPRESSED = {"zlib": True, "complevel": 9, "shuffle": True}
SAME = 1e-6  # relative: processors and kernels differ by less in what is drawn
WHEN = ("created", "dynlab_version")  # attributes that differ though nothing else does
Results = Mapping[str, xr.Dataset]


@dataclass(frozen=True)
class Script:
    """A figure whose Datasets are kept: how they are computed, and how they are drawn.

    Attributes
    ----------
    name : str
        Of the figure, in the files' names.
    compute : callable
        Takes ``fast``, and gives the Datasets by name.
    draw : callable
        Takes the Datasets, and gives the figure with its claim and measurement.
    """

    name: str
    compute: Callable[[bool], Results]
    draw: Callable[[Results], Made]

    def __call__(self, fast: bool = False, recompute: bool = False) -> Made:
        """The figure from the kept Datasets; `recompute` makes these first, `fast` others from less data."""
        return self.draw(self.compute(True) if fast else kept(self.name, lambda: self.compute(False), recompute))


def kept(name: str, compute: Callable[[], Results], recompute: bool = False) -> dict[str, xr.Dataset]:
    """The Datasets that are kept under `name`, with `recompute` those of `compute`, kept from now on.

    Where none are kept they are computed, and not kept.
    """
    if recompute:
        for key, ds in compute().items():
            _keep(FOLDER / f"{name}.{key}.nc", ds)
    start = len(name) + 1
    found = {path.stem[start:]: io.open(path) for path in sorted(FOLDER.glob(f"{name}.*.nc"))}
    return found or dict(compute())


def _keep(path: Path, ds: xr.Dataset) -> None:
    if path.exists() and same(io.open(path), ds):
        return
    path.parent.mkdir(exist_ok=True)
    packed = ds.copy()
    for array in packed.variables.values():
        if array.dtype.kind in "fic" and array.ndim:
            array.encoding.update(COMPRESSED)
    io.save(packed, path, overwrite=True)


def same(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Whether two Datasets differ by rounding and by when they were made at most."""
    attributes = [{key: value for key, value in ds.attrs.items() if key not in WHEN} for ds in (one, other)]
    if attributes[0] != attributes[1] or set(one.variables) != set(other.variables):
        return False
    return all(_same_values(one[name], other[name]) for name in one.variables)


def _same_values(one: xr.DataArray, other: xr.DataArray) -> bool:
    if one.dims != other.dims or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool((one.values == other.values).all())
    scale = np.abs(one.values[np.isfinite(one.values)]).max(initial=0.0)
    return bool(np.allclose(one.values, other.values, rtol=SAME, atol=SAME * scale, equal_nan=True))
