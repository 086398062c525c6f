"""The eight planar systems of Figure 1 of the AntisymmetricRNN paper, each with its phase portrait, in one Dataset."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.phase_plane import orbits, phase_plane
from dynlab.matrices import SEEDED, planar_matrix
from dynlab.systems.planar import PANELS, STARTS, STEP_SIZE, STEPS, Panel, planar_system
from dynlab.words import number

# What differs from panel to panel and so is a variable here: the grid, and the steps at which the long orbits are seen.
OWN = {schema.X: "grid_x", schema.Y: "grid_y", schema.ITERATION: "long_orbit_step"}
EQUATIONS = (
    "(a) to (d) are maps h ← tanh(W h), (e) to (h) flows h′ = tanh(W h), each with Euler's map at ε = "
    f"{number(STEP_SIZE)} s."
)
FILL: dict[str, Any] = {"f": np.nan, "c": complex(np.nan, np.nan), "i": -1, "O": "", "U": ""}


def phase_panels(panels: Sequence[Panel] = PANELS, *, steps: int = STEPS) -> xr.Dataset:
    """Draw up phase portraits of planar systems, by default of the paper's panels (a) to (h), from its three starts.

    Parameters
    ----------
    panels : sequence of Panel
        Each with a letter, a title, a matrix and a kind of system.
    steps : int
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
    portraits = [planar_portrait(one.matrix, one.kind, one.seed, starts=STARTS, steps=steps) for one in panels]
    fill = {str(name): FILL[array.dtype.kind] for one in portraits for name, array in one.data_vars.items()}
    whole = xr.concat(
        map(_part, portraits),
        schema.PANEL,
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
        combine_attrs="override",
        fill_value=fill,
    )
    variables = {str(name): array.variable for name, array in whole.data_vars.items()}
    along = (schema.PANEL,)
    verdicts = np.array([portrait.attrs["verdict"] for portrait in portraits], dtype=object)
    variables["panel_verdict"] = schema.variable(along, verdicts, "what the panel shows")
    variables["title"] = schema.variable(along, np.array([p.title for p in panels], dtype=object), "panel")
    return schema.dataset(
        variables,
        system="planar systems",
        settings={
            panel.letter: json.loads(one.attrs["settings"]) for panel, one in zip(panels, portraits, strict=True)
        },
        verdict=_verdict(portraits),
        method=portraits[-1].attrs["method"],
        coords={
            schema.PANEL: schema.variable(along, np.array([panel.letter for panel in panels], dtype=object), "panel"),
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


def _part(one: xr.Dataset) -> xr.Dataset:
    """Return a portrait whose own coordinates are variables, and whose equilibria have numbers to be joined by."""
    own = {name: (dim, one[dim].values, one[dim].attrs) for dim, name in OWN.items()}
    return one.drop_vars(list(OWN)).assign(own).assign_coords({schema.FIXED_POINT: np.arange(len(one["equilibrium"]))})


def _verdict(portraits: Sequence[xr.Dataset]) -> str:
    """Return the equations of the panels, and what the last two show: the paper's point and what it leaves out."""
    center, diffusion = portraits[-2], portraits[-1]
    ends = set(diffusion["outcome"].values.tolist())
    curve = ", and the orbits end on an invariant closed curve" if ends == {orbits.CLOSED_CURVE} else ""
    return f"{EQUATIONS} Without diffusion (g) {_first(center)}. With it (h) {_first(diffusion)}{curve}."


def _first(portrait: xr.Dataset) -> str:
    """Return the first sentence on a panel, as part of another one."""
    sentence: str = portrait.attrs["verdict"].partition(". ")[0]
    return sentence[:1].lower() + sentence[1:]
