"""The results of one diagnostic at several steps of a training as one Dataset: what is padded, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.errors import UserError
from dynlab.wording import article

PRESENT, NOT_THERE = "present", "not there"
# Dimensions whose length may differ between checkpoints: things that are counted, and the points of curves.
COUNTED: tuple[str, ...] = (schema.FIXED_POINT, schema.ATTRACTOR, schema.BIFURCATION)
PADDED: tuple[str, ...] = (*COUNTED, schema.BRANCH, schema.POINT, schema.PHASE, schema.ITERATION)
WINDOWS = (schema.X, schema.Y, schema.TIME, schema.LEVEL)  # coordinates that each checkpoint may have its own of


def stacked(parts: Sequence[xr.Dataset], steps: Sequence[int]) -> xr.Dataset:
    """Every variable with ``step`` before its own dimensions; NaN, or "not there", where a checkpoint has none.

    Raises
    ------
    UserError
        Where the parts do not answer the same question about the same kind of network.
    """
    padded = PADDED
    if schema.FIXED_POINT in parts[0].sizes and "assignment" in parts[0]:  # a search adds starts in rounds
        padded = (*PADDED, schema.SAMPLE)
    for step, part in zip(steps[1:], parts[1:], strict=True):
        _check_alike(parts[0], part, padded, f"The results at steps {steps[0]} and {step}")
    lengths = {name: max(part.sizes.get(name, 0) for part in parts) for name in padded}
    lengths = {name: most for name, most in lengths.items() if any(part.sizes.get(name, 0) != most for part in parts)}
    own = sorted({key for part in parts for key in _differing(parts[0], part)} & set(WINDOWS))
    index = schema.variable((schema.TRAINING_STEP,), steps, "training step")
    prepared = [_prepared(part, lengths, own) for part in parts]
    whole = xr.concat(
        prepared, xr.IndexVariable(schema.TRAINING_STEP, index.values, index.attrs), data_vars="all",
        coords="minimal", compat="override", join="outer", combine_attrs="override",
    )  # fmt: skip
    for name, array in whole.data_vars.items():
        if array.dtype == object:
            whole[name] = array.fillna(NOT_THERE).astype(str)
        names = dict.fromkeys(str(part[name].attrs["long_name"]) for part in prepared)
        whole[name].attrs = prepared[0][name].attrs | {"long_name": " or ".join(names)}
    for name in set(COUNTED) & set(lengths):
        there = [np.arange(lengths[name]) < part.sizes[name] for part in parts]
        words = f"whether the checkpoint has {article(name.replace('_', ' '))} of that number"
        whole[PRESENT] = schema.variable((schema.TRAINING_STEP, name), np.array(there, dtype=np.int8), words)
    return whole.drop_vars(list(lengths))


def _prepared(part: xr.Dataset, lengths: Mapping[str, int], own: Sequence[str]) -> xr.Dataset:
    """The part with indices along what is padded, and with its own coordinates as variables."""
    for key in own:
        variable = part[key].variable
        words = f"{variable.attrs['long_name']}, each checkpoint's own"
        windows = schema.variable(list(map(str, variable.dims)), variable.values, words, variable.attrs["units"])
        part = part.drop_vars(key).assign({f"{key}_at_step": windows})
    if lengths:
        words_of = {name: array.astype(object) for name, array in part.data_vars.items() if array.dtype.kind in "UT"}
        part = part.assign(words_of).drop_vars([name for name in lengths if name in part.coords])
        part = part.assign_coords({name: np.arange(part.sizes[name]) for name in lengths if name in part.sizes})
    return part


def _check_alike(first: xr.Dataset, part: xr.Dataset, padded: Sequence[str], where: str) -> None:
    """Refuse results of another question or of another kind of network."""
    names = sorted(map(str, set(part.data_vars) ^ set(first.data_vars)))
    sizes = [name for name in map(str, first.sizes) if name not in padded and part.sizes.get(name) != first.sizes[name]]
    differing = [key for key in _differing(first, part) if key not in (*padded, *WINDOWS)]
    one, other = (each.attrs["system"] for each in (first, part))
    reasons = {
        f"differ in the variables {', '.join(names)}": names,
        f"are of a {one} and a {other}": one != other,
        **{f"have different lengths of {name}, {first.sizes[name]} and {part.sizes.get(name)}": True for name in sizes},
        f"have different values of {', '.join(differing)}": differing,
    }
    reason = next((words for words, holds in reasons.items() if holds), "")
    if reason:
        raise UserError(f"{where} {reason}: give the checkpoints of one run, with the same inputs and settings.")


def settings_of(parts: Sequence[xr.Dataset]) -> dict[str, Any]:
    """Each setting: the value that all have in common, or the list of their values."""
    each = [schema.settings(part) for part in parts]
    listed = {name: [one.get(name) for one in each] for name in sorted({name for one in each for name in one})}
    return {name: found[0] if all(value == found[0] for value in found) else found for name, found in listed.items()}


def flags_of(whole: xr.Dataset, parts: Sequence[xr.Dataset]) -> dict[str, str]:
    """Return the reasons of all parts, and that of what is not there."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        for name, reason in schema.flags(part).items():
            found.setdefault(name, {})[reason] = None
    for key, array in parts[0].data_vars.items():
        missing = [str(dim) for dim in array.dims if any(whole.sizes[dim] != part.sizes[dim] for part in parts)]
        if missing and array.dtype.kind not in "OUT":
            there = f" ({PRESENT} is 0)" if missing[0] in COUNTED else ""
            words = f"NaN where that checkpoint has no {missing[0].replace('_', ' ')} of that number{there}"
            found.setdefault(str(key), {})[words] = None
    return {name: "; ".join(words) for name, words in found.items()}


def _differing(first: xr.Dataset, part: xr.Dataset) -> list[str]:
    """The coordinates of `first` that `part` has other values of."""
    return [
        str(key)
        for key, coord in first.coords.items()
        if key not in part.coords or not np.array_equal(coord.values, part.coords[key].values)
    ]
