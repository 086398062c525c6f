"""Any diagnostic over the checkpoints of one run: how what a network does changes while it learns."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.checkpoints.of_run import read_run
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.diagnostics.wording import ranged
from dynlab.errors import UserError, lookup
from dynlab.systems import System

PRESENT = "present"
# What is drawn and said of each diagnostic: the first of these variables that there is and is known, and where in it.
HEADLINES: dict[str, dict[str, int]] = {
    "log_norm": {schema.TIME: 1},  # ‖∂h_T/∂h_1‖: what h_0 does is the start's
    "log_singular_value": {schema.TIME: -1, schema.MODE: 0},
    "spectral_radius": {},
    "finite_time_exponent": {schema.MODE: 0},
    "exponent": {schema.MODE: 0},
    "rate": {},
    "predicted_rate": {},
    "participation_ratio": {},
    "critical_step": {},
    "eigenvalue": {schema.MODE: 0},
}
NOT_THERE = "NaN where that checkpoint has no {dimension} of that number (present is 0)"
PADDED = (schema.FIXED_POINT,)  # dimensions whose lengths checkpoints may differ in


def over_training(
    diagnostic: str | Callable[..., xr.Dataset],
    checkpoints: str | Path | Sequence[str | Path] | Mapping[int, System],
    inputs: Any = None,
    *,
    layer: str | None = None,
    system_factory: str | None = None,
    nonlinearity: str = "tanh",
    **settings: Any,
) -> xr.Dataset:
    """A diagnostic of every checkpoint of a training run, joined along the dimension ``step``.

    Parameters
    ----------
    diagnostic : str or callable
        A diagnostic's name, ``spectrum``, or any function of a system and inputs that returns a Dataset.
    checkpoints : str, Path, sequence of them, or mapping of int to System
        A run's folder, its files, or systems by the step of their training.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        The same for every checkpoint; handed on where it is given.
    layer, system_factory, nonlinearity
        As `dynlab.checkpoints.read` takes them.
    **settings
        The diagnostic's own.

    Returns
    -------
    xarray.Dataset
        The diagnostic's variables with ``step`` before their own dimensions, and ``checkpoint(step)`` and
        ``sha256(step)`` of files. Where checkpoints have different numbers of fixed points, ``present(step,
        fixed_point)`` says which there are, and what is not there is NaN (a text: "not there"), never a number.

    Raises
    ------
    UserError
        As `dynlab.checkpoints.of_run.read_run`; where two checkpoints give different variables or dimensions.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> run = {100 * k: from_function(lambda h, x, k=k: h * 2.0 ** -k, state_size=1) for k in range(3)}
    >>> over_training("spectrum", run, np.zeros((4, 0)), times=1)["spectral_radius"].values.ravel().tolist()
    [1.0, 0.5, 0.25]
    """
    compute = (
        lookup(DIAGNOSTICS, diagnostic.replace("-", "_"), "diagnostic") if isinstance(diagnostic, str) else diagnostic
    )
    given = [] if inputs is None else [inputs]
    if isinstance(checkpoints, Mapping):
        return joined({step: compute(system, *given, **settings) for step, system in checkpoints.items()})
    snapshots = read_run(checkpoints, layer=layer, system_factory=system_factory, nonlinearity=nonlinearity)
    return joined(
        {each.step: compute(each.checkpoint.system, *given, **settings) for each in snapshots},
        {each.step: each.checkpoint.source for each in snapshots},
    )


def joined(results: Mapping[int, xr.Dataset], sources: Mapping[int, Mapping[str, str]] | None = None) -> xr.Dataset:
    """The Datasets of one diagnostic at several steps of a training as one.

    Parameters
    ----------
    results : mapping of int to Dataset
        By step.
    sources : mapping of int to mapping, optional
        The file and its SHA-256 of each.
    """
    steps = sorted(results)
    if len(steps) < 2:
        raise UserError(f"A run is followed over at least two steps, got {len(steps)}.")
    parts = [results[step] for step in steps]
    _check(parts, steps)
    lengths = {name: max(part.sizes.get(name, 0) for part in parts) for name in PADDED}
    varying = [name for name in PADDED if len({part.sizes.get(name) for part in parts}) > 1]
    variables = {str(name): _stacked(str(name), parts, varying, lengths) for name in parts[0].data_vars}
    for name in varying:
        there = [[number < part.sizes[name] for number in range(lengths[name])] for part in parts]
        words = f"whether the checkpoint has a {name.replace('_', ' ')} of that number"
        variables[PRESENT] = schema.variable((schema.TRAINING_STEP, name), np.array(there, dtype=np.int8), words)
    if sources is not None:
        for name, key in (("checkpoint", "file"), ("sha256", "sha256")):
            values = [sources[step][key] for step in steps]
            variables[name] = schema.variable((schema.TRAINING_STEP,), values, f"{name} of the network at that step")
    coords = {str(name): coord for name, coord in parts[0].coords.items() if name not in varying}
    ds = schema.dataset(
        variables,
        system=parts[0].attrs["system"],
        settings=_settings(parts) | {"training_steps": steps},
        method=f"{parts[0].attrs.get('method', '')}; of each of {len(steps)} checkpoints, joined along step",
        coords=coords | {schema.TRAINING_STEP: schema.variable((schema.TRAINING_STEP,), steps, "training step")},
        flags=_flags(parts, steps, varying),
    )
    candidates = [key for key in HEADLINES if key in ds] or [str(key) for key in parts[0].data_vars]
    variable = next((key for key in candidates if _is_known(ds[key])), candidates[0])
    chosen = ds[variable].isel(HEADLINES.get(variable, {}))
    name = _name(chosen, HEADLINES.get(variable, {}))
    headline = {"variable": variable, "isel": HEADLINES.get(variable, {}), "name": name}
    ds.attrs["headline"] = json.dumps(headline, ensure_ascii=False)
    ds.attrs["verdict"] = _verdict(ds, chosen, name, steps)
    return ds


def _check(parts: Sequence[xr.Dataset], steps: Sequence[int]) -> None:
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
            if dim not in PADDED and part.sizes.get(dim) != first.sizes[dim]:
                raise UserError(
                    f"{where} have different lengths of {dim}, {first.sizes[dim]} and {part.sizes.get(dim)}: name "
                    f"the checkpoints of one run, and the same inputs."
                )
        for key, coord in first.coords.items():
            if key not in PADDED and not np.array_equal(coord.values, part.coords[key].values):
                raise UserError(f"{where} have different values of {key}: give the same inputs and settings.")


def _stacked(name: str, parts: Sequence[xr.Dataset], varying: Sequence[str], lengths: Mapping[str, int]) -> xr.Variable:
    """One variable of all checkpoints; where it is padded, in a type that has a value for what is not there."""
    arrays = [part[name].variable for part in parts]
    padded = [dim for dim in varying if dim in arrays[0].dims]
    if padded:
        arrays = [_padded(array, {dim: lengths[dim] - array.sizes[dim] for dim in padded}) for array in arrays]
    stacked = np.stack([array.values for array in arrays])
    return xr.Variable((schema.TRAINING_STEP, *arrays[0].dims), stacked, arrays[0].attrs)


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


def _settings(parts: Sequence[xr.Dataset]) -> dict[str, Any]:
    """What all have in common, and lists of what they have not."""
    each = [schema.settings(part) for part in parts]
    names = sorted({name for one in each for name in one})
    listed = {name: [one.get(name) for one in each] for name in names}
    return {name: found[0] if all(value == found[0] for value in found) else found for name, found in listed.items()}


def _flags(parts: Sequence[xr.Dataset], steps: Sequence[int], varying: Sequence[str]) -> dict[str, str]:
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
    for dimension in varying:
        words = NOT_THERE.format(dimension=dimension.replace("_", " "))
        for key, array in parts[0].data_vars.items():
            if dimension in array.dims and array.dtype.kind not in "OUT":
                found[str(key)] = "; ".join(filter(None, [found.get(str(key), ""), words]))
    return found


def _name(chosen: xr.DataArray, where: Mapping[str, int]) -> str:
    """What is drawn, with the time at which it is taken in the place of every t."""
    name = str(chosen.attrs["long_name"])
    time = {1: "h_1", -1: "h_T"}.get(where.get(schema.TIME, 0), "h_t")
    name = name.replace("h_t", time).replace("_i", "_1" if schema.MODE in where else "_i")
    return ("modulus of the " if chosen.dtype.kind == "c" else "") + name


def _is_known(array: xr.DataArray) -> bool:
    return array.dtype.kind in "fc" and bool(np.isfinite(array.values).any())


def _verdict(ds: xr.Dataset, chosen: xr.DataArray, name: str, steps: Sequence[int]) -> str:
    start = f"Over {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}, "
    if schema.FIXED_POINT in ds.dims:
        counts = ds[PRESENT].values.sum(axis=1) if PRESENT in ds else np.full(len(steps), ds.sizes[schema.FIXED_POINT])
        start += f"the number of fixed points found goes from {counts[0]} to {counts[-1]} ({ranged(counts, '.0f')}); "
    if chosen.dtype.kind not in "fc":
        return f"{start}{name} is joined along step."
    values = np.abs(chosen.values) if chosen.dtype.kind == "c" else chosen.values
    medians = np.array([_median(row) for row in values.reshape(len(steps), -1)])
    known = np.flatnonzero(np.isfinite(medians))
    name += "" if values.ndim == 1 else " (median)"
    if not known.size:
        return f"{start}{name} is not known at any."
    low, high = known[np.argmin(medians[known])], known[np.argmax(medians[known])]
    first, last = known[0], known[-1]
    at = {index: f"{medians[index]:.4g}".replace("-", "−") for index in (first, last, low, high)}
    return (
        f"{start}{name} goes from {at[first]} at step {steps[first]:,} to {at[last]} at step {steps[last]:,}, between "
        f"{at[low]} (step {steps[low]:,}) and {at[high]} (step {steps[high]:,})."
    )


def _median(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")
