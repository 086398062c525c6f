"""The six kinds of equilibrium of a planar flow, as a review of AntisymmetricRNN tabulates them, and as Euler's map."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.phase_plane.panels import phase_panels
from dynlab.systems.planar import Panel
from dynlab.words import capital

from .data_sets import RIGHT, WRONG
from .portraits import draw_portraits, matrix_in_words, places
from .scripts import Drawn, Panels, Results, Table, kept, script, table_script

# The table's rows: the equilibrium, its eigenvalues, its behaviour, dynlab's word for it, and a matrix that has it.
KINDS = (
    ("Stable node", "Real and negative", "Stable and attractive", "stable node", "-1,0;0,-2"),
    (
        "Stable focus",
        "Complex conjugate with negative real parts",
        "Spiraling inward",
        "stable focus",
        "-1/2,-2;2,-1/2",
    ),
    ("Conservative", "Purely imaginary", "Conservative and oscillatory", "center", "0,-2;2,0"),
    ("Unstable node", "Real and positive", "Unstable and repulsive", "unstable node", "1,0;0,2"),
    (
        "Unstable focus",
        "Complex conjugate with positive real parts",
        "Spiraling outwards",
        "unstable focus",
        "1/2,-2;2,1/2",
    ),
    ("Saddle point", "Real with opposite signs", "Saddle point", "saddle", "1,0;0,-1"),
)
LETTERED = tuple(zip("abcdef", KINDS, strict=True))
ONLY_FLOW = "holds for the flow, Euler's map differs"


def compute(fast: bool) -> Results:
    """A portrait of h' = tanh(W h) and its Euler map at ε = 0.1 for each kind."""
    ds = phase_panels([Panel(letter, f"{row[0]}: {row[4]}", row[4], "feedback") for letter, row in LETTERED])
    return {"panels": ds.assign_attrs(verdict=measured(ds))}


@script("equilibria", compute=compute, **places(len(KINDS)))
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the six portraits."""
    named = {letter: f"W = {matrix_in_words(row[4])}" for letter, row in LETTERED}
    return draw_portraits(results["panels"], named, axes.flat)


def measured(ds: xr.Dataset) -> str:
    """Return where the flow has the table's kinds, and where Euler's map has another stability."""
    flows = ds["flow_kind"].values[:, 0].tolist()
    right = sum(found == row[3] for found, row in zip(flows, KINDS, strict=True))
    differing = [flow for flow, judged in zip(flows, _judged(ds), strict=True) if judged == ONLY_FLOW]
    return (
        f"The flows h' = tanh(W h) have {right} of {len(KINDS)} kinds as the table says. Euler's map at ε = 0.1 has "
        f"the same stability but at the {' and the '.join(differing)}, which it makes unstable."
    )


def _judged(ds: xr.Dataset) -> list[str]:
    flow, mapped = ds["flow_stable"].values[:, 0], ds["map_stable"].values[:, 0]
    rates = ds["flow_eigenvalue"].values[:, 0].real
    # a center is neither attractive nor repulsive: of its Euler map every multiplier should have the modulus 1
    kept_up = np.where((rates == 0).all(axis=-1), False, flow == mapped)
    wrong = ds["flow_kind"].values[:, 0] != [row[3] for row in KINDS]
    return list(map(str, np.select([wrong, kept_up], [WRONG, RIGHT], ONLY_FLOW)))


@table_script("equilibria", compute)
def table() -> Table:
    """Return each kind as the review has it, as a flow and as Euler's map."""
    ds, rows = kept("equilibria")["panels"], []
    for index, (name, eigenvalues, behaviour, _, matrix) in enumerate(KINDS):
        one = ds.isel({schema.PANEL: index, schema.FIXED_POINT: 0})
        modulus = np.abs(one["map_eigenvalue"].values).max()
        found = [str(one["flow_kind"].values), f"{one['map_kind'].values}, |μ| {modulus:.4f}"]
        rows.append([name, eigenvalues, behaviour, matrix, *map(capital, found), _judged(ds)[index]])
    headings = ["equilibrium", "eigenvalues", "behaviour", "W", "flow tanh(W h)", "Euler's map, ε = 0.1", "verdict"]
    return Table("equilibria", ds.attrs["verdict"], headings, rows, [], ds)
