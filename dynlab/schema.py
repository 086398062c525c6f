"""Names of dimensions, units, and the one way a result becomes a Dataset.

Every result of dynlab is an `xarray.Dataset` made by `dataset`. This module is the only place that spells
dimension names and units; what computes and what draws import them from here.
"""

import datetime
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import dynlab
from dynlab.errors import UserError

SAMPLE = "sample"  # a sequence of the batch, or an initial state
TIME = "time"  # a map's coordinate is the step t, a flow's is in seconds; t = 0 is the initial state
STATE = "state"
INPUT = "input"
OUTPUT = "output"  # of a read-out
MODE = "mode"  # index of an eigenvalue, singular value or exponent, in decreasing modulus, value or exponent
ITERATION = "iteration"
FIXED_POINT = "fixed_point"
X, Y = "x", "y"  # the grids of a plane
CLOSE_X, CLOSE_Y = "close_x", "close_y"  # those of a smaller window of it
AXIS = "axis"  # the directions that span a plane
SIDE = "side"  # the two sides on which a curve leaves a point
ATTRACTOR = "attractor"
POINT = "point"  # along a curve: a separatrix, or branches of fixed points, one after the other
BRANCH = "branch"  # of fixed points, periodic orbits or equilibria
BIFURCATION = "bifurcation"
LEVEL = "level"  # of a function around a fixed point
PHASE = "phase"  # the points of one periodic orbit
PARAMETER = "parameter"  # values of the parameter that a coordinate's long_name names
BOUND = "bound"  # what a network is held to, by name
DIFFUSION = "diffusion"  # values of γ, beside those of an integrator's step
STEP_SIZE = "step_size"
INTEGRATOR = "integrator"  # by name
WINDOW = "window"  # parts of a plane, by name
TRAINING_STEP = "step"  # how many batches a network has learned from, over checkpoints of one run
NETWORK = "network"  # several networks beside each other, by name
PANEL = "panel"  # the panels of a source's figure, by letter
TRAINING = "training"  # several trainings, by name
EPOCH = "epoch"  # of a training, from 1
RECIPE = "recipe"  # how networks were trained, by name
SELECTION = "selection"  # which epoch of a training is reported, by name
DIMENSIONS = (
    SAMPLE,
    TIME,
    STATE,
    INPUT,
    OUTPUT,
    MODE,
    ITERATION,
    FIXED_POINT,
    X,
    Y,
    CLOSE_X,
    CLOSE_Y,
    AXIS,
    SIDE,
    ATTRACTOR,
    POINT,
    BRANCH,
    BIFURCATION,
    LEVEL,
    PHASE,
    PARAMETER,
    "angle",  # of the lines that touch a convex set
    BOUND,
    DIFFUSION,
    STEP_SIZE,
    INTEGRATOR,
    WINDOW,
    TRAINING_STEP,
    NETWORK,
    "run",  # shares of the sequences, of which each is a run of its own
    "relabelling",  # ways in which runs may be said to be of the one network or of the other
    PANEL,
    TRAINING,
    EPOCH,
    RECIPE,
    SELECTION,
)

ONE = "1"
STEP = "step"
SECOND = "s"
PER_SECOND = "1/s"
NAT_PER_STEP = "nat/step"
NAT_PER_SECOND = "nat/s"
NAMED = 3  # states, up to which settings have their names, and tables their coordinates
KNOWN = 0.1  # times max(1, abs(value)): a value with a larger error is not known
UNITS = (ONE, STEP, SECOND, PER_SECOND, NAT_PER_STEP, NAT_PER_SECOND, "cycle/step", "cycle/s")


def variable(dims: Sequence[str], values: Any, long_name: str, units: str = ONE) -> xr.Variable:
    """A variable with its dimensions, its name in words and its units.

    Parameters
    ----------
    dims : sequence of str
        Names from this module, or the name of a swept parameter.
    values : array_like
        The values, complex where they are complex.
    long_name : str
        Label of a plot's axis.
    units : str
        One of `UNITS`.
    """
    return xr.Variable(tuple(dims), np.asarray(values), {"long_name": long_name, "units": units})


def time_coordinate(values: Any, units: str = STEP) -> xr.Variable:
    """The coordinate of `TIME`: the number of the step, or seconds."""
    return variable((TIME,), values, "time" if units == SECOND else "step t", units)


def columns(table: Mapping[str, tuple[Any, ...]], size: int) -> dict[str, xr.Variable]:
    """The variables of a table of dimensions, type, values (one, or `size` of them, for each item), name and units."""
    return {
        name: variable(dims, np.array(values, dtype).reshape(-1, *(size,) * (len(dims) - 1)), *words)
        for name, (dims, dtype, values, *words) in table.items()
    }


def plane_axes(lines: Iterable[Any], names: Iterable[str], units: str = ONE) -> dict[str, xr.Variable]:
    """The coordinates `X` and `Y` of a plane: their values, and what a plot writes on each axis."""
    each = zip((X, Y), lines, names, strict=True)
    return {axis: variable((axis,), line, name, units) for axis, line, name in each}


def dataset(
    variables: Mapping[str, xr.Variable],
    *,
    system: str,
    settings: Mapping[str, Any],
    verdict: str | Callable[[xr.Dataset], str] = "",
    method: str = "",
    source: Mapping[str, str] | None = None,
    coords: Mapping[str, Any] | None = None,
    flags: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """A result: its variables, and how they came about.

    Parameters
    ----------
    variables : mapping of str to Variable
        Each made by `variable`.
    system : str
        The system's public name.
    settings : mapping
        Every argument of the computation, JSON-able, the seed included.
    verdict : str or callable
        One or two plain sentences with numbers, or what makes them of the result.
    method : str
        The method and its tolerances, in words.
    source : mapping, optional
        ``{"file": name, "sha256": digest}`` of the checkpoint the system came from.
    coords : mapping, optional
        Coordinates beyond the plain index of each dimension.
    flags : mapping, optional
        For a variable with values that are not finite, the reason.

    Returns
    -------
    xarray.Dataset
        With the attributes of DESIGN: ``dynlab_version``, ``system``, ``settings``, ``source``, ``created``.
    """
    attrs = {
        "dynlab_version": dynlab.__version__,
        "system": system,
        "settings": json.dumps(dict(settings), sort_keys=True),
        "created": created(),
    }
    told = {
        "verdict": verdict if isinstance(verdict, str) else "",
        "method": method,
        "source": json.dumps(dict(source)) if source else "",
        "flags": json.dumps(dict(flags)) if flags else "",
    }
    ds = xr.Dataset(dict(variables), dict(coords or {}), attrs | {name: text for name, text in told.items() if text})
    return ds if isinstance(verdict, str) else ds.assign_attrs(verdict=verdict(ds))


def result(
    system: Any,
    rows: Mapping[str, Any],
    *,
    settings: Mapping[str, Any],
    reasons: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    **described: Any,
) -> xr.Dataset:
    """Return the Dataset of a diagnostic of a system, with its source, its config and the flags.

    Parameters
    ----------
    system : System
    rows : mapping of str to tuple or Variable
        The table of the diagnostic's variables: arguments of `variable`, or one that exists.
    settings : mapping
        Settings beside the system's config and the names of few states.
    reasons : mapping, optional
        Reasons of values that are not finite, used where a variable has some.
    flags : mapping, optional
        Flags that hold in any case.
    **described
        Verdict, method and coords of `dataset`.
    """
    variables = {name: row if isinstance(row, xr.Variable) else variable(*row) for name, row in rows.items()}
    return dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=dict(settings)
        | {"config": system.json_config}
        | ({"state_names": system.state_names} if system.state_size <= NAMED else {}),
        flags={
            name: reason
            for name, reason in (reasons or {}).items()
            if name in variables and not np.isfinite(variables[name].values).all()
        }
        | dict(flags or {}),
        **described,
    )


def of_flow(array: xr.DataArray) -> bool:
    """Tell whether a variable is a flow's: a time in seconds, or a rate per second."""
    return array.attrs["units"] in (SECOND, PER_SECOND, NAT_PER_SECOND)


def check(ds: xr.Dataset, needs: Iterable[str]) -> None:
    """Raise where a Dataset lacks a variable that a plot or diagnostic needs.

    Raises
    ------
    UserError
        Naming what is missing and what is there.
    """
    missing = [name for name in needs if name not in ds]
    if missing:
        have = ", ".join(map(str, ds.data_vars)) or "no variables"
        raise UserError(f"The dataset lacks {', '.join(missing)}; it has {have}. Compute the diagnostic that makes it.")


def settings(ds: xr.Dataset) -> dict[str, Any]:
    """The arguments that made `ds`."""
    return told(ds, "settings")


def flags(ds: xr.Dataset) -> dict[str, str]:
    """Return the reason for each variable with values that are not finite."""
    return told(ds, "flags") if "flags" in ds.attrs else {}


def told(ds: xr.Dataset, name: str) -> dict[str, Any]:
    """The JSON object in an attribute of `ds`.

    Raises
    ------
    UserError
        If there is none, as in a file that dynlab did not write.
    """
    try:
        return dict(json.loads(ds.attrs[name]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"The dataset has no {name} that can be read: take one that dynlab made.") from error


def known(ds: xr.Dataset, name: str) -> xr.DataArray:
    """Return where the error ``name_error`` is at most a tenth of max(1, abs(value)); without one, everywhere.

    Examples
    --------
    >>> radius, error = xr.Variable(("time",), [0.9, 0.0]), xr.Variable(("time",), [1e-15, 1.6])
    >>> known(xr.Dataset({"radius": radius, "radius_error": error}), "radius").values.tolist()
    [True, False]
    """
    if f"{name}_error" not in ds:
        return xr.ones_like(ds[name], dtype=bool)
    return ds[f"{name}_error"] <= KNOWN * np.maximum(1.0, abs(ds[name]))


def created() -> str:
    """The present in UTC, or SOURCE_DATE_EPOCH where that is set (reproducible-builds.org)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch else datetime.datetime.now(datetime.UTC)
    return moment.isoformat(timespec="seconds")
