"""The results of one diagnostic at several steps of a training as arrays: what is padded, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.errors import UserError
from dynlab.wording import article

PRESENT = "present"
# What checkpoints may have different numbers of: things that are counted, and the points of curves.
COUNTED: tuple[str, ...] = (schema.FIXED_POINT, schema.ATTRACTOR, schema.BIFURCATION)
PADDED: tuple[str, ...] = (*COUNTED, schema.BRANCH, schema.POINT, schema.PHASE, schema.ITERATION)
WINDOWS = (schema.X, schema.Y, schema.TIME, schema.LEVEL)  # coordinates that each checkpoint may have its own of
NOT_THERE = "NaN where that checkpoint has no {dimension} of that number"


def padded(first: xr.Dataset) -> tuple[str, ...]:
    """What the checkpoints may have different numbers of: also the starts of a search that adds them in rounds."""
    return (*PADDED, schema.SAMPLE) if schema.FIXED_POINT in first.sizes and "assignment" in first else PADDED


def check_alike(parts: Sequence[xr.Dataset], steps: Sequence[int]) -> None:
    """Refuse what is not the same question asked of the same kind of network."""
    first = parts[0]
    for step, part in zip(steps[1:], parts[1:], strict=True):
        where = f"The results at steps {steps[0]} and {step}"
        if set(part.data_vars) != set(first.data_vars):
            names = ", ".join(sorted(map(str, set(part.data_vars) ^ set(first.data_vars))))
            raise UserError(f"{where} differ in the variables {names}: join the same question with the same inputs.")
        if part.attrs["system"] != first.attrs["system"]:
            raise UserError(
                f"{where} are of a {first.attrs['system']} and a {part.attrs['system']}: name the checkpoints of one "
                f"run."
            )
        for dim in map(str, first.sizes):
            if dim not in padded(first) and part.sizes.get(dim) != first.sizes[dim]:
                raise UserError(
                    f"{where} have different lengths of {dim}, {first.sizes[dim]} and {part.sizes.get(dim)}: name "
                    f"the checkpoints of one run, and the same inputs."
                )
        for key in _differing(parts[0], part):
            if key not in (*padded(first), *WINDOWS):
                raise UserError(f"{where} have different values of {key}: give the same inputs and settings.")


def varying_lengths(parts: Sequence[xr.Dataset]) -> dict[str, int]:
    """Of each dimension whose length is not that of every part, the largest."""
    return {
        name: max(part.sizes.get(name, 0) for part in parts)
        for name in padded(parts[0])
        if len({part.sizes.get(name) for part in parts}) > 1
    }


def stacked(parts: Sequence[xr.Dataset], lengths: Mapping[str, int]) -> dict[str, xr.Variable]:
    """Every variable with the step before its own dimensions, and what tells which things are there."""
    variables = {str(name): _stacked(str(name), parts, lengths) for name in parts[0].data_vars}
    for name in [name for name in COUNTED if name in lengths]:
        there = [[number < part.sizes[name] for number in range(lengths[name])] for part in parts]
        words = f"whether the checkpoint has {_a(name)} of that number"
        variables[PRESENT] = schema.variable((schema.TRAINING_STEP, name), np.array(there, dtype=np.int8), words)
    return variables


def coordinates(
    parts: Sequence[xr.Dataset], lengths: Mapping[str, int]
) -> tuple[dict[str, xr.Variable], dict[str, xr.Variable]]:
    """The coordinates that all have in common, and as variables those that each has its own of."""
    own = {key for part in parts[1:] for key in _differing(parts[0], part)} & set(WINDOWS)
    common = {str(key): coord.variable for key, coord in parts[0].coords.items() if key not in own | set(lengths)}
    windows = {}
    for key in sorted(own):
        whole = _stacked(key, parts, lengths)
        words = f"{whole.attrs['long_name']}, each checkpoint's own"
        windows[f"{key}_at_step"] = schema.variable(
            list(map(str, whole.dims)), whole.values, words, whole.attrs["units"]
        )
    return common, windows


def settings_of(parts: Sequence[xr.Dataset]) -> dict[str, Any]:
    """What all have in common, and lists of what they have not."""
    each = [schema.settings(part) for part in parts]
    names = sorted({name for one in each for name in one})
    listed = {name: [one.get(name) for one in each] for name in names}
    return {name: found[0] if all(value == found[0] for value in found) else found for name, found in listed.items()}


def flags_of(parts: Sequence[xr.Dataset], steps: Sequence[int], lengths: Mapping[str, int]) -> dict[str, str]:
    """The reasons of all parts, each with its steps, and that of what is not there."""
    reasons: dict[str, dict[str, list[int]]] = {}
    for step, part in zip(steps, parts, strict=True):
        for name, reason in schema.flags(part).items():
            reasons.setdefault(name, {}).setdefault(reason, []).append(step)
    found = {
        name: "; ".join(
            reason if len(at) == len(steps) else f"at step {', '.join(map(str, at))}: {reason}"
            for reason, at in of_it.items()
        )
        for name, of_it in reasons.items()
    }
    for key, array in parts[0].data_vars.items():
        missing = [name for name in lengths if name in array.dims]
        if missing and array.dtype.kind not in "OUT":
            words = NOT_THERE.format(dimension=" or ".join(name.replace("_", " ") for name in missing))
            words += f" ({PRESENT} is 0)" if missing[0] in COUNTED else ""
            found[str(key)] = "; ".join(filter(None, [found.get(str(key), ""), words]))
    return found


def _a(name: str) -> str:
    return article(name.replace("_", " "))


def _differing(first: xr.Dataset, part: xr.Dataset) -> list[str]:
    return [
        str(key)
        for key, coord in first.coords.items()
        if key not in part.coords or not np.array_equal(coord.values, part.coords[key].values)
    ]


def _stacked(name: str, parts: Sequence[xr.Dataset], lengths: Mapping[str, int]) -> xr.Variable:
    """One variable of all checkpoints; where it is padded, in a type that has a value for what is not there."""
    arrays = [part[name].variable for part in parts]
    padded = [dim for dim in lengths if dim in arrays[0].dims]
    if padded:
        arrays = [_padded(array, {dim: lengths[dim] - array.sizes[dim] for dim in padded}) for array in arrays]
    values = np.stack([array.values for array in arrays])
    # such as the coordinate that a diagram observes, which each checkpoint may have another of
    names = dict.fromkeys(str(array.attrs["long_name"]) for array in arrays)
    return xr.Variable(
        (schema.TRAINING_STEP, *arrays[0].dims), values, arrays[0].attrs | {"long_name": " or ".join(names)}
    )


def _padded(array: xr.Variable, missing: Mapping[str, int]) -> xr.Variable:
    values = array.values
    if values.dtype.kind in "OUT":
        filler: Any = "not there"
        values = values.astype(object)
    else:
        filler = np.nan
        values = values if values.dtype.kind in "fc" else values.astype(float)
    widths = [(0, missing.get(str(dim), 0)) for dim in array.dims]
    whole = np.pad(values, widths, constant_values=filler)
    return xr.Variable(array.dims, whole.astype(str) if whole.dtype == object else whole, array.attrs)
