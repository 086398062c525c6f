"""Whose a picture is, as its title says: the system, of a matrix its formula, of a checkpoint the file and layer."""

import json
from fractions import Fraction
from typing import Any

import xarray as xr

from dynlab.errors import shown
from dynlab.words import number

FORMULAS = {"LinearMap": "h ↦ W h", "vanilla": "h ↦ tanh(W h)", "feedback": "h′ = tanh(W h)"}  # of a matrix
DIGITS_OF_W, MOST_OF_W = 4, 40  # of an entry, and letters of a matrix in a title


def of_whom(ds: xr.Dataset) -> str:
    """Return the system with the numbers of equations, or a checkpoint's file and layer: a dollar is no mathematics."""
    settings = json.loads(ds.attrs.get("settings") or "{}")
    source = json.loads(ds.attrs.get("source") or "{}").get("file", "")
    layer = f"layer {settings['layer']}" if settings.get("layer") else ""
    return shown(", ".join(filter(None, [source or named_system(ds), *_numbers(settings), layer]))).replace("$", r"\$")


def _numbers(settings: dict[str, Any]) -> list[str]:
    """The numbers of equations but for those that are varied: "mu = 2"."""
    numbers, varied = settings.get("config") or {}, (settings.get("parameter"), *settings.get("parameters", []))
    if "input_size" in numbers or not all(isinstance(value, int | float) for value in numbers.values()):
        return []  # of a network, or a matrix
    return [f"{key} = {number(value)}" for key, value in numbers.items() if key not in varied]


def named_system(ds: xr.Dataset) -> str:
    """Return the system's name; a matrix's formula; the map's name for Euler's map of a flow."""
    name, settings = str(ds.attrs["system"]), json.loads(ds.attrs.get("settings") or "{}")
    rows, step = settings.get("matrix"), settings.get("euler_step")
    if isinstance(rows, list) or settings.get("config") == {}:  # as of a matrix, without input and bias
        name = FORMULAS.get(name, name)
    if isinstance(rows, list):
        entries = [[float(Fraction(entry)) for entry in row] for row in rows]
        words = "; ".join(", ".join(number(entry, DIGITS_OF_W) for entry in row) for row in entries)
        exact = all(entry == float(f"{entry:.{DIGITS_OF_W}g}") for row in entries for entry in row)
        name += f", W {'=' if exact else '≈'} {words}" if len(words) <= MOST_OF_W else ""
    if step is None:
        return name
    varied = "step_size" in (settings.get("parameter"), *settings.get("parameters", []))
    return f"Euler's map of {name}" + ("" if varied else f", ε = {number(float(step))}")
