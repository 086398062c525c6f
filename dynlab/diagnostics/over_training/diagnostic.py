"""Any diagnostic over the checkpoints of one run: how what a network does changes while it learns, and in words."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.checkpoints.of_run import read_run
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.diagnostics.over_training.panels import Course, Drawing, chosen, described, name_of, panels_of
from dynlab.diagnostics.over_training.stacking import (
    COUNTED,
    PRESENT,
    check_alike,
    coordinates,
    flags_of,
    settings_of,
    stacked,
    varying_lengths,
)
from dynlab.errors import UserError, lookup
from dynlab.systems import System
from dynlab.wording import number, plural_of


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
    check_alike(parts, steps)
    lengths = varying_lengths(parts)
    coords, windows = coordinates(parts, lengths)
    variables = stacked(parts, lengths) | windows
    if sources is not None:
        for name, key in (("checkpoint", "file"), ("sha256", "sha256")):
            values = [sources[step][key] for step in steps]
            variables[name] = schema.variable((schema.TRAINING_STEP,), values, f"{name} of the network at that step")
    ds = schema.dataset(
        variables,
        system=parts[0].attrs["system"],
        settings=settings_of(parts) | {"training_steps": steps},
        method=f"Each of {len(steps)} checkpoints alone, joined along step. {parts[0].attrs.get('method', '')}",
        coords=coords | {schema.TRAINING_STEP: schema.variable((schema.TRAINING_STEP,), steps, "training step")},
        flags=flags_of(parts, steps, lengths),
    )
    panels = panels_of(ds)
    ds.attrs["panels"] = json.dumps([described(panel, ds) for panel in panels], ensure_ascii=False)
    ds.attrs["verdict"] = verdict(ds, panels, steps)
    return ds


MOST_SAID = 6  # curves


def _of_known(what: Callable[[NDArray[np.float64]], Any]) -> Callable[[NDArray[np.float64]], float]:
    return lambda values: float(what(values[~np.isnan(values)])) if not np.isnan(values).all() else float("nan")


FOLLOWED = {"median": _of_known(np.median), "largest": _of_known(np.max), "smallest": _of_known(np.min)}


def verdict(ds: xr.Dataset, panels: Sequence[Drawing], steps: Sequence[int]) -> str:
    """From where to where the first curve goes, and between what; of the others the ends."""
    start = f"Over {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}, "
    counts = [_count(ds, name) for name in COUNTED if name in ds.dims]
    told = list(_told(ds, panels))
    if not told and not counts:
        curve = panels[0].curves[0]
        return f"{start}{name_of(chosen(ds, curve), curve)} is joined along step."
    known = [each for each in told if not np.isnan(each[1]).all()] or ([] if counts else told[:1])
    said = [_course(*each, steps, whole=place == 0) for place, each in enumerate(known[:MOST_SAID])]
    return f"{start}{'; '.join([*counts, *said])}."


def _count(ds: xr.Dataset, name: str) -> str:
    counts = ds[PRESENT].values.sum(axis=1) if PRESENT in ds else np.full(1, ds.sizes[name])
    first, last, low, high = (int(count) for count in (counts[0], counts[-1], counts.min(), counts.max()))
    found = f"the number of {plural_of(name.replace('_', ' '))} found "
    if low == high:
        return f"{found}is {first}"
    ends = f"is {first} at both ends" if first == last else f"goes from {first} to {last}"
    return f"{found}{ends}" + (f", between {low} and {high} on the way" if {low, high} - {first, last} else "")


def _told(ds: xr.Dataset, panels: Sequence[Drawing]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The name of every curve of numbers, and what is followed of it at each step."""
    for panel in panels:
        for curve in panel.curves:
            array = chosen(ds, curve)
            if array.dtype.kind not in "fc":
                continue
            name = name_of(array, curve)
            for category, values in _categories(ds, array, curve):
                if panel.log and curve.said != "median":  # a time constant is negative where a mode grows
                    values = np.where(values > 0, values, np.nan)
                if panel.drawn == "parts" and not values.any():
                    continue
                words = ", ".join(filter(None, [category, "" if values.shape[1] == 1 else curve.said]))
                yield name + (f" ({words})" if words else ""), np.array([FOLLOWED[curve.said](row) for row in values])


def _categories(ds: xr.Dataset, array: xr.DataArray, curve: Course) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The values (step, value) of each category of the curve, or of all of it."""
    real: xr.DataArray = abs(array) if array.dtype.kind == "c" or curve.modulus else array
    if not curve.each:
        yield "", real.values.reshape(len(array), -1)
    elif curve.each in ds.data_vars:
        words = ds[curve.each].values
        for word in sorted(set(words.ravel()) - {"not there"}):
            yield word, np.nansum(np.where(words == word, real.values, 0.0), axis=1)[:, None]
    elif curve.each in ds.coords:
        for value in ds[curve.each].values:
            yield str(value), real.sel({curve.each: value}).values.reshape(len(array), -1)


def _course(name: str, medians: NDArray[np.float64], steps: Sequence[int], whole: bool) -> str:
    """From where to where a curve goes; as a `whole` also between what, and at which steps."""
    known = np.flatnonzero(np.isfinite(medians))
    if not known.size:
        return f"{name} is {'infinite at every one' if np.isposinf(medians).all() else 'not known at any'}"
    places = known[0], known[-1], known[np.argmin(medians[known])], known[np.argmax(medians[known])]
    first, last, low, high = (number(medians[place]) for place in places)
    at = [f" at step {steps[place]:,}" for place in places]
    infinite = int(np.isposinf(medians).sum())
    rest = f", infinite at {infinite}" if infinite else ""
    if known.size == 1:
        return f"{name} is {first}{at[0]}{rest}"
    if low == high:
        return f"{name} stays at {low}{rest}"
    if whole:
        between = f"between {low} (step {steps[places[2]]:,}) and {high} (step {steps[places[3]]:,})"
        return f"{name} goes from {first}{at[0]} to {last}{at[1]}, {between}{rest}"
    if first == last:
        return f"{name} is {first} at both ends, between {low} and {high} on the way{rest}"
    ends = ["", ""] if known.size == len(steps) else at
    return f"{name} from {first}{ends[0]} to {last}{ends[1]}{rest}"
