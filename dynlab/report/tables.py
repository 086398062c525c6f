"""The tables of a Dataset: what has one value along a dimension stands side by side, and what has one value at all."""

import math
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.words import number

MOST_ROWS = 200
MOST_COLUMNS = 14


class TableCell(NamedTuple):
    """What is shown, and what it is sorted by."""

    text: str
    key: float | str


class ReportTable(NamedTuple):
    """A table with its caption."""

    caption: str
    headings: list[str]
    rows: list[list[TableCell]]


def tables(ds: xr.Dataset) -> list[ReportTable]:
    """The tables, those along fixed points first.

    Examples
    --------
    >>> ds = xr.Dataset({"a": ("fixed_point", [2.0, float("nan")], {"long_name": "size", "units": "s"})})
    >>> found = tables(ds)[0]
    >>> found.headings, found.rows[1]
    (['fixed point', 'size (s)'], [TableCell(text='1', key=1.0), TableCell(text='—', key=-inf)])
    """
    names = sorted((str(name) for name in ds.dims), key=lambda name: (name != schema.FIXED_POINT, name))
    found = [_along(ds, name) for name in names]
    alone = [variable for variable in ds.data_vars.values() if not variable.dims and _plain(variable)]
    rows = [[TableCell(_heading(variable), _heading(variable)), _cell(variable.values.item())] for variable in alone]
    return [table for table in found if table] + (
        [ReportTable("Single numbers", ["quantity", "value"], rows)] if rows else []
    )


def _along(ds: xr.Dataset, dimension: str) -> ReportTable | None:
    """Everything that has one value for each place along a dimension."""
    variables = [each for each in ds.data_vars.values() if each.dims == (dimension,) and _plain(each)][:MOST_COLUMNS]
    if not variables:
        return None
    word = dimension.replace("_", " ")
    places = ds[dimension].values if dimension in ds.coords else np.arange(ds.sizes[dimension])
    columns = [places, *(variable.values for variable in variables)]
    rows = [
        [_cell(value) for value in row]
        for row in zip(*(column[:MOST_ROWS].tolist() for column in columns), strict=True)
    ]
    count = ds.sizes[dimension]
    rest = f", the first {MOST_ROWS} of {count:,}" if count > MOST_ROWS else ""
    return ReportTable(f"By {word}{rest}", [word, *map(_heading, variables)], rows)


def _plain(variable: xr.DataArray) -> bool:
    return variable.dtype.kind in "biufUO"


def _heading(variable: xr.DataArray) -> str:
    name, units = variable.attrs.get("long_name", str(variable.name)), variable.attrs.get("units", "1")
    return str(name) if units == "1" else f"{name} ({units})"


def _cell(value: Any) -> TableCell:
    if isinstance(value, bool | str) or value is None:
        return TableCell(str(value), str(value))
    if not math.isfinite(value):
        return TableCell(
            "—" if math.isnan(value) else "∞" if value > 0 else "−∞", -math.inf if math.isnan(value) else value
        )
    return TableCell(number(value, 0) if isinstance(value, int) else number(value), float(value))
