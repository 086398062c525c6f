"""Any diagnostic over the checkpoints of one run: how what a network does changes while it learns, and in words."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import dynlab
from dynlab import schema
from dynlab.checkpoints.of_run import read_run
from dynlab.diagnostics.over_training.panels import Course, Drawing, chosen, described, name_of, panels_of
from dynlab.errors import UserError, unknown
from dynlab.systems import System
from dynlab.words import article, number, plural_of

PRESENT, NOT_THERE = "present", "not there"
# Dimensions whose length may differ between checkpoints: things that are counted, and the points of curves.
COUNTED: tuple[str, ...] = (schema.FIXED_POINT, schema.ATTRACTOR, schema.BIFURCATION)
PADDED: tuple[str, ...] = (*COUNTED, schema.BRANCH, schema.POINT, schema.PHASE, schema.ITERATION)
WINDOWS = (schema.X, schema.Y, schema.TIME, schema.LEVEL)  # coordinates that each checkpoint may have its own of


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
        The same for every checkpoint; handed on where it is given. To `dynlab.pseudospectrum` it is the state, to
        `dynlab.basins` the states that span its plane.
    layer, system_factory, nonlinearity
        As `dynlab.checkpoints.read` takes them.
    **settings
        The diagnostic's own.

    Returns
    -------
    xarray.Dataset
        The diagnostic's variables with ``step`` before their own dimensions, and ``checkpoint(step)`` and
        ``sha256(step)`` of files. Where checkpoints have different numbers of fixed points, attractors or bifurcations,
        ``present(step, fixed_point)`` says which there are, and what is not there is NaN (a text: "not there"), never a
        number. Of a grid or times that each checkpoint has its own of, ``x_at_step(step, x)`` and its like hold them.

    Raises
    ------
    UserError
        As `dynlab.checkpoints.of_run.read_run`; where two checkpoints give different variables or dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from dynlab.systems import from_function
    >>> run = {100 * k: from_function(lambda h, x, k=k: h * 2.0 ** -k, state_size=1) for k in range(3)}
    >>> over_training("spectrum", run, np.zeros((4, 0)), times=1)["spectral_radius"].values.ravel().tolist()
    [1.0, 0.5, 0.25]
    """
    compute = _public(diagnostic) if isinstance(diagnostic, str) else diagnostic
    given = [] if inputs is None else [inputs]
    if isinstance(checkpoints, Mapping):
        return joined({step: compute(system, *given, **settings) for step, system in checkpoints.items()})
    snapshots = read_run(checkpoints, layer=layer, system_factory=system_factory, nonlinearity=nonlinearity)
    return joined(
        {each.step: compute(each.checkpoint.system, *given, **settings) for each in snapshots},
        {each.step: each.checkpoint.source for each in snapshots},
    )


def _public(diagnostic: str) -> Callable[..., xr.Dataset]:
    """Return the diagnostic of that public name, in which a hyphen may stand for an underscore."""
    name = diagnostic.replace("-", "_")
    if name not in dynlab.__all__:
        raise unknown("diagnostic", diagnostic, dynlab.__all__, "dir(dynlab)")
    return getattr(dynlab, name)


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
    whole = stacked(parts, steps)
    variables = {str(name): array.variable for name, array in whole.data_vars.items()}
    if sources is not None:
        for name, key in (("checkpoint", "file"), ("sha256", "sha256")):
            values = [sources[step][key] for step in steps]
            variables[name] = schema.variable((schema.TRAINING_STEP,), values, f"{name} of the network at that step")
    panels = panels_of(whole)
    ds = schema.dataset(
        variables,
        system=parts[0].attrs["system"],
        settings=settings_of(parts) | {"training_steps": steps},
        method=f"Each of {len(steps)} checkpoints alone, joined along step. {parts[0].attrs.get('method', '')}",
        coords={str(name): coord.variable for name, coord in whole.coords.items()},
        flags=flags_of(whole, parts),
        verdict=lambda ds: verdict(ds, panels, steps),
    )
    return ds.assign_attrs(panels=json.dumps([described(panel, ds) for panel in panels], ensure_ascii=False))


MOST_CURVES = 3  # that a verdict follows
FOLLOWED: dict[str, Callable[..., Any]] = {"median": np.nanmedian, "largest": np.nanmax, "smallest": np.nanmin}


def verdict(ds: xr.Dataset, panels: Sequence[Drawing], steps: Sequence[int]) -> str:
    """Say from where to where the counts and the first curves go."""
    parts = []
    for name in COUNTED:
        if name in ds.dims:
            counts = ds[PRESENT].values.sum(axis=1) if PRESENT in ds else [ds.sizes[name]]
            parts.append(f"the number of {plural_of(name.replace('_', ' '))} found {_from_to(counts)}")
    for panel in panels:
        for curve in panel.curves:
            array = chosen(ds, curve)
            if array.dtype.kind in "fc" and not curve.each and array.notnull().any():
                parts.append(_course(array, curve, panel.log, steps))
    said = "; ".join(parts[:MOST_CURVES]) or "the results are joined along step"
    return f"Over {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}, {said}."


def _course(array: xr.DataArray, curve: Course, only_positive: bool, steps: Sequence[int]) -> str:
    """Return from where to where the median, largest or smallest value of a curve goes."""
    values = (abs(array) if array.dtype.kind == "c" or curve.modulus else array).values.reshape(len(array), -1)
    if only_positive and curve.said != "median":  # a time constant is negative where a mode grows
        values = np.where(values > 0, values, np.nan)
    name = name_of(array, curve) + (f" ({curve.said})" if values.shape[1] > 1 else "")
    each = np.array([FOLLOWED[curve.said](row) if np.isfinite(row).any() else np.nan for row in values])
    known = np.isfinite(each)
    return f"{name} {_from_to(each[known], np.array(steps)[known])}" if known.any() else f"{name} is finite at no step"


def _from_to(values: Sequence[float], steps: Sequence[int] | NDArray[np.int64] = ()) -> str:
    """The two ends, and the range where that reaches beyond them."""
    first, last, low, high = (number(float(each)) for each in (values[0], values[-1], min(values), max(values)))
    at = [f" at step {steps[0]:,}", f" at step {steps[-1]:,}"] if len(steps) else ["", ""]
    if low == high:
        return f"stays at {low}"
    between = f", between {low} and {high}" if {low, high} - {first, last} else ""
    return f"goes from {first}{at[0]} to {last}{at[1]}{between}"


def stacked(parts: Sequence[xr.Dataset], steps: Sequence[int]) -> xr.Dataset:
    """Every variable with ``step`` before its own dimensions; NaN, or "not there", where a checkpoint has none.

    Raises
    ------
    UserError
        If the parts do not answer the same question about the same kind of network.
    """
    searched = schema.FIXED_POINT in parts[0].sizes and "assignment" in parts[0]  # which adds starts in rounds
    padded = (*PADDED, *[schema.SAMPLE] * searched)
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
    """Return each setting: the value that all have in common, or the list of their values."""
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
