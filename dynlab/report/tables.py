"""The tables of a Dataset: what has one value along a dimension stands side by side, and what has one value at all."""

import math
from typing import Any, NamedTuple

import xarray as xr

from dynlab import schema
from dynlab.words import number

MOST_ROWS = 200


class TableCell(NamedTuple):
    """The text of a cell and its sort key."""

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
    plain = [each for each in ds.data_vars.values() if each.ndim < 2 and each.dtype.kind in "biufUO"]
    dims = sorted({dim for each in plain for dim in each.dims}, key=lambda dim: (dim != schema.FIXED_POINT, dim))
    found = [_along(ds[[each.name for each in plain if each.dims == (dim,)]], str(dim)) for dim in dims]
    alone = [each for each in plain if not each.dims]
    rows = [[TableCell(_heading(each), _heading(each)), _cell(each.values.item())] for each in alone]
    return found + [ReportTable("Single numbers", ["quantity", "value"], rows)] * bool(rows)


def _along(ds: xr.Dataset, dimension: str) -> ReportTable:
    """Everything that has one value for each place along a dimension."""
    frame = ds.reset_coords(drop=True).isel({dimension: slice(MOST_ROWS)}).to_dataframe().reset_index()
    rows = [[_cell(value) for value in row] for row in frame.astype(object).to_numpy().tolist()]
    word, count = dimension.replace("_", " "), ds.sizes[dimension]
    caption = f"By {word}" + (f", the first {MOST_ROWS} of {count:,}" if count > MOST_ROWS else "")
    return ReportTable(caption, [word, *map(_heading, ds.data_vars.values())], rows)


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
