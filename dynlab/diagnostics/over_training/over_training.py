"""Any diagnostic over the checkpoints of one run: how what a network does changes while it learns, and in words."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.checkpoints.of_run import read_run
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.diagnostics.over_training.panels import Course, Drawing, chosen, described, name_of, panels_of
from dynlab.diagnostics.over_training.stacking import COUNTED, PRESENT, flags_of, settings_of, stacked
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
    parts = [_count(ds, name) for name in COUNTED if name in ds.dims]
    for panel in panels:
        for curve in panel.curves:
            array = chosen(ds, curve)
            if array.dtype.kind in "fc" and not curve.each and array.notnull().any():
                parts.append(_course(array, curve, panel.log, steps))
    said = "; ".join(parts[:MOST_CURVES]) or "the results are joined along step"
    return f"Over {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}, {said}."


def _count(ds: xr.Dataset, name: str) -> str:
    """From where to where the number of fixed points, attractors or bifurcations goes."""
    counts = ds[PRESENT].values.sum(axis=1) if PRESENT in ds else np.full(2, ds.sizes[name])
    found = f"the number of {plural_of(name.replace('_', ' '))} found"
    return f"{found} {_from_to([int(count) for count in counts])}"


def _course(array: xr.DataArray, curve: Course, only_positive: bool, steps: Sequence[int]) -> str:
    """From where to where the median, largest or smallest value of a curve goes."""
    values = (abs(array) if array.dtype.kind == "c" or curve.modulus else array).values.reshape(len(array), -1)
    if only_positive and curve.said != "median":  # a time constant is negative where a mode grows
        values = np.where(values > 0, values, np.nan)
    name = name_of(array, curve) + (f" ({curve.said})" if values.shape[1] > 1 else "")
    followed = [FOLLOWED[curve.said](row) if np.isfinite(row).any() else np.nan for row in values]
    rows = [(float(value), step) for value, step in zip(followed, steps, strict=True) if np.isfinite(value)]
    if not rows:
        return f"{name} is finite at no step"
    known, at = zip(*rows, strict=True)
    left = f", finite at {len(rows)} of {len(steps)}" if len(rows) < len(steps) else ""
    return f"{name} {_from_to(known, at)}{left}"


def _from_to(values: Sequence[float], steps: Sequence[int] = ()) -> str:
    """The two ends, and the range where that reaches beyond them."""
    first, last, low, high = (number(float(each)) for each in (values[0], values[-1], min(values), max(values)))
    at = [f" at step {steps[0]:,}", f" at step {steps[-1]:,}"] if steps else ["", ""]
    if low == high:
        return f"stays at {low}"
    between = f", between {low} and {high}" if {low, high} - {first, last} else ""
    return f"goes from {first}{at[0]} to {last}{at[1]}{between}"
