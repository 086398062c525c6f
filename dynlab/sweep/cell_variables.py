"""What is laid of one cell: its variables, its attributes as texts, and coordinates that are its own."""

from typing import Any

import xarray as xr

from dynlab import schema
from dynlab.errors import UserError
from dynlab.io import split_complex
from dynlab.sweep.arrays import Arrays
from dynlab.sweep.layout import RECORD, TEXTS, dims_of

OWN = "{}_of_cell"  # what has the name of the sweep's own, and a coordinate that is not the first cell's


def variables(ds: xr.Dataset, arrays: Arrays) -> dict[str, xr.Variable]:
    """What is laid of a cell, by its name in the store.

    Raises
    ------
    UserError
        Where a variable has no place in the array of the cells before.
    """
    plain = split_complex(ds)
    found: dict[str, xr.Variable] = {}
    for key, variable in plain.variables.items():
        name = str(key)
        if name in plain.dims and variable.ndim == 1:
            if arrays.shared(name, variable):
                continue
            name = OWN.format(name)
        elif name in RECORD or name in arrays.layout.dims:
            name = OWN.format(name)
        array = arrays.named.get(name)
        if array is not None:
            _check_alike(arrays.layout.dims, name, array, variable)
        found[name] = variable
    told = {*TEXTS} & ds.attrs.keys()
    for name in sorted(told - found.keys()):
        found[name] = schema.variable((), str(ds.attrs[name]), f"{name} of the cell")
    return {name: _with_a_value_for_nothing(variable) for name, variable in found.items()}


def _check_alike(axes: tuple[str, ...], name: str, array: Any, variable: xr.Variable) -> None:
    """Refuse a variable of a cell that has no place in the array of those before."""
    if dims_of(array) != (*axes, *variable.dims):
        had = ", ".join(dims_of(array)[len(axes) :]) or "none"
        raise UserError(f"its variable {name} has other dimensions than that of cells before, which has {had}.")
    kinds = ["texts" if each.dtype.kind in "OUT" else "numbers" for each in (variable, array)]
    if kinds[0] != kinds[1]:
        raise UserError(f"its variable {name} has {kinds[0]}, and that of cells before has {kinds[1]}.")


def _with_a_value_for_nothing(variable: xr.Variable) -> xr.Variable:
    """The variable in a type that can say that there is no value."""
    if variable.dtype.kind in "fOUT":
        return variable
    return variable.astype(float)
