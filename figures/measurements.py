"""The Datasets that figures, tables and claims are made from, ``kept/NAME.KEY.nc`` beside the code."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import io

FOLDER = Path(__file__).parent / "kept"
COMPRESSED = {"zlib": True, "complevel": 9, "shuffle": True}
SAME = 1e-6  # relative: processors and kernels differ by less
WHEN = ("created", "dynlab_version")  # attributes that differ though nothing else does
Results = Mapping[str, xr.Dataset]


def kept(name: str) -> dict[str, xr.Dataset]:
    """Return the Datasets that are kept under `name`, by their keys."""
    return {path.stem.removeprefix(f"{name}."): io.open(path) for path in sorted(FOLDER.glob(f"{name}.*.nc"))}


@functools.cache
def trainings() -> xr.Dataset:
    """Return the record of all finished trainings, which ``make queue-results`` writes."""
    return io.open(FOLDER / "trainings.nc").load()


@functools.cache
def told(file: str) -> dict[str, Any]:
    """Return what a TOML file beside the code says."""
    return tomllib.loads((FOLDER.parent / file).read_text(encoding="utf-8"))


def keep(name: str, results: Results) -> None:
    """Keep Datasets under `name`; one that differs from the kept one by rounding alone leaves that file as it is."""
    for key, ds in results.items():
        path = FOLDER / f"{name}.{key}.nc"
        if path.exists() and same(io.open(path), ds):
            continue
        packed = ds.copy()
        for array in packed.variables.values():
            if array.dtype.kind in "fic" and array.ndim:
                array.encoding.update(COMPRESSED)
        io.save(packed, path, overwrite=True)


def same(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Tell whether two Datasets differ by rounding and by when they were made at most."""
    attributes = [{key: value for key, value in ds.attrs.items() if key not in WHEN} for ds in (one, other)]
    if attributes[0] != attributes[1] or one.sizes != other.sizes or set(one.variables) != set(other.variables):
        return False
    return all(_same_values(one[name].values, other[name].values) for name in one.variables)


def _same_values(one: Any, other: Any) -> bool:
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    scale = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME * scale, equal_nan=True))
