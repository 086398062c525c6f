"""Any diagnostic over the checkpoints of one run: how what a network does changes while it learns."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from dynlab import schema
from dynlab.checkpoints.of_run import read_run
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.diagnostics.over_training.panels import described, panels_of
from dynlab.diagnostics.over_training.sentence import verdict
from dynlab.diagnostics.over_training.stacking import (
    check_alike,
    coordinates,
    flags_of,
    settings_of,
    stacked,
    varying_lengths,
)
from dynlab.errors import UserError, lookup
from dynlab.systems import System


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
        method=f"{parts[0].attrs.get('method', '')}; of each of {len(steps)} checkpoints, joined along step",
        coords=coords | {schema.TRAINING_STEP: schema.variable((schema.TRAINING_STEP,), steps, "training step")},
        flags=flags_of(parts, steps, lengths),
    )
    panels = panels_of(ds)
    ds.attrs["panels"] = json.dumps([described(panel, ds) for panel in panels], ensure_ascii=False)
    ds.attrs["verdict"] = verdict(ds, panels, steps)
    return ds
