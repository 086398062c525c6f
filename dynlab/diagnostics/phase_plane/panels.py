"""The eight planar systems of Figure 1 of the AntisymmetricRNN paper, each with its phase portrait, in one Dataset."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.diagnostics.phase_plane import orbits, phase_plane
from dynlab.matrices import SEEDED, planar_matrix
from dynlab.systems.planar import PANELS, STARTS, STEP_SIZE, STEPS, Panel, planar_system
from dynlab.words import number

# What differs from panel to panel and so is a variable here: the grid, and the steps at which the long orbits are seen.
OWN = {schema.X: "grid_x", schema.Y: "grid_y", schema.ITERATION: "long_orbit_step"}
EQUATIONS = "(a) to (d) are maps h ← tanh(W h), (e) to (h) flows h′ = tanh(W h), each with Euler's map at ε = {} s."
FILL: dict[str, Any] = {"f": np.nan, "c": complex(np.nan, np.nan), "i": -1, "O": "", "U": ""}


def phase_panels(
    panels: Sequence[Panel] = PANELS,
    *,
    starts: ArrayLike = STARTS,
    steps: int = STEPS,
    step_size: float = STEP_SIZE,
    dtype: str = "float64",
    device: str = "cpu",
) -> xr.Dataset:
    """Draw up phase portraits of planar systems, by default of the paper's panels (a) to (h).

    Parameters
    ----------
    panels : sequence of Panel
        Each with a letter, a title, a matrix and a kind of system.
    starts, steps, step_size, dtype, device
        As in `dynlab.phase_plane`.

    Returns
    -------
    xarray.Dataset
        The variables of `dynlab.phase_plane` with the dimension ``panel`` in front, ``title(panel)`` and
        ``panel_verdict(panel)``. Each panel has its own window, ``grid_x(panel, x)`` and ``grid_y(panel, y)``. Where
        a panel has fewer equilibria than another, or no flow, numbers are NaN, names empty and ``*_stable`` −1.

    References
    ----------
    Chang, Chen, Haber and Chi, "AntisymmetricRNN", ICLR 2019, Figure 1.
    """
    asked: dict[str, Any] = {"starts": starts, "steps": steps, "dtype": dtype, "device": device}
    portraits = [planar_portrait(each.matrix, each.kind, each.seed, step_size, **asked) for each in panels]
    most = max(portrait.sizes[schema.FIXED_POINT] for portrait in portraits)
    names = list(dict.fromkeys(name for portrait in portraits for name in portrait.data_vars))
    variables = {str(name): _stacked([_padded(one, str(name), portraits, most) for one in portraits]) for name in names}
    for coordinate, name in OWN.items():
        variables[name] = _stacked([portrait[coordinate].variable for portrait in portraits], coordinate)
    along = (schema.PANEL,)
    verdicts = np.array([portrait.attrs["verdict"] for portrait in portraits], dtype=object)
    variables["panel_verdict"] = schema.variable(along, verdicts, "what the panel shows")
    variables["title"] = schema.variable(along, np.array([p.title for p in panels], dtype=object), "panel")
    letters = np.array([panel.letter for panel in panels], dtype=object)
    return schema.dataset(
        variables,
        system="planar systems",
        settings={
            panel.letter: json.loads(one.attrs["settings"]) for panel, one in zip(panels, portraits, strict=True)
        },
        verdict=_verdict(portraits, step_size),
        method=portraits[-1].attrs["method"],
        coords={
            schema.PANEL: schema.variable(along, letters, "panel"),
            schema.TIME: portraits[0][schema.TIME].variable,
        },
        flags={
            f"{panel.letter}: {name}": reason
            for panel, one in zip(panels, portraits, strict=True)
            for name, reason in schema.flags(one).items()
        }
        | {"panel": "NaN, an empty name or −1 where a panel has fewer equilibria than another, or no flow"},
    )


def planar_portrait(name: str, kind: str, seed: int = 0, step_size: float = STEP_SIZE, **settings: Any) -> xr.Dataset:
    """Return the phase portrait of a planar system by its matrix's name or entries, which are classified exactly.

    Parameters
    ----------
    name, seed
        As in `dynlab.matrices.planar_matrix`; a matrix drawn at random has the error of its rounded entries.
    kind, step_size
        As in `dynlab.systems.planar.planar_system`.
    **settings
        As in `dynlab.phase_plane`.
    """
    matrix = planar_matrix(name, seed)
    by_hand = None if name in SEEDED else matrix
    return phase_plane(planar_system(matrix, kind, step_size), matrix=by_hand, step_size=step_size, **settings)


def _padded(one: xr.Dataset, name: str, portraits: Sequence[xr.Dataset], most: int) -> xr.Variable:
    """Return the variable of one panel, with the fill value where it has fewer equilibria or no such variable."""
    pattern = next(portrait[name].variable for portrait in portraits if name in portrait)
    sizes = {dim: most if dim == schema.FIXED_POINT else pattern.sizes[dim] for dim in pattern.dims}
    values = np.full(tuple(sizes.values()), FILL[pattern.dtype.kind], dtype=pattern.dtype)
    if name in one:
        there = one[name].values
        values[tuple(slice(size) for size in there.shape)] = there
    return xr.Variable(pattern.dims, values, pattern.attrs)


def _stacked(parts: Sequence[xr.Variable], dim: str | None = None) -> xr.Variable:
    dims = (schema.PANEL, *([dim] if dim else parts[0].dims))
    return xr.Variable(dims, np.stack([part.values for part in parts]), parts[0].attrs)


def _verdict(portraits: Sequence[xr.Dataset], step_size: float) -> str:
    """Return the equations of the panels, and what the last two show: the paper's point and what it leaves out."""
    center, diffusion = portraits[-2], portraits[-1]
    ends = set(diffusion["outcome"].values.tolist())
    curve = ", and the orbits end on an invariant closed curve" if ends == {orbits.CLOSED_CURVE} else ""
    of = EQUATIONS.format(number(step_size))
    return f"{of} Without diffusion (g) {_first(center)}. With it (h) {_first(diffusion)}{curve}."


def _first(portrait: xr.Dataset) -> str:
    """Return the first sentence on a panel, as part of another one."""
    sentence: str = portrait.attrs["verdict"].partition(". ")[0]
    return sentence[:1].lower() + sentence[1:]
