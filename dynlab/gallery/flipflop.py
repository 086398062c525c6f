"""The flip-flop: eight memories and the saddles between them, in the state space of a trained GRU."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from dynlab import schema, zoo
from dynlab.diagnostics.geometry import geometry
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.geometry import MOST_DRAWN, plot_geometry
from dynlab.tasks import driving_inputs
from dynlab.wording import counted, joined, number

NETWORK = "gru-flipflop"
PAD = 1.0  # times what is drawn, the reach of each axis
ZOOM = 1.04
TICKS = (-2, 0, 2)


def compute(fast: bool) -> Results:
    """Fixed points at zero input among the trajectories of the task."""
    network = zoo.load(NETWORK)
    driving = driving_inputs(None, network, samples=8 if fast else 32, shipped=True)
    found = geometry(network, driving.inputs, starts=96 if fast else 256, inputs_description=driving.description)
    return {"geometry": found}


def draw(results: Results) -> Made:
    """All of them in the first three principal directions."""
    found = results["geometry"]
    with style.style((6.6, 6.0)) as size:
        figure = plt.figure(figsize=size)
        ax: Any = figure.add_subplot(projection="3d")
        plot_geometry(found, ax=ax)
        _frame(found, ax)
        ax.set_title("A trained GRU holds three bits: fixed points at zero input")
    return Made(
        "The flip-flop (Sussillo and Barak)",
        "A network that holds three bits has eight stable fixed points, and between them saddles with few unstable "
        "directions. Along these a pulse leads from one memory to the next (Neural Computation 25, 2013, section 4).",
        _measured(found),
        figure,
        results,
    )


make = Script("flipflop", compute, draw)


def _frame(found: xr.Dataset, ax: Any) -> None:
    """Limits that hold the trajectories and no more, and the same ticks on each axis."""
    drawn = found["trajectory"].values[:MOST_DRAWN].reshape(-1, found.sizes[schema.AXIS])[:, :3]
    reach = PAD * np.nanmax(np.abs(drawn), axis=0)
    for index, name in enumerate("xyz"):
        ax.set(**{f"{name}lim": (-reach[index], reach[index]), f"{name}ticks": TICKS})
    ax.set_box_aspect(reach, zoom=ZOOM)


def _measured(found: xr.Dataset) -> str:
    unstable = found["unstable_directions"].values
    counts = {index: int((unstable == index).sum()) for index in sorted(set(unstable))}
    saddles = joined([f"{count} with {counted(index, 'direction')}" for index, count in counts.items() if index])
    return (
        f"Of {len(unstable)} fixed points at zero input {counts.get(0, 0)} are stable. "
        f"The others are saddles, {saddles} that grow. "
        f"All are verified with fsolve (largest residual {number(float(found['residual'].max()), 1)}). "
        "A cube has 8 corners, 12 edges, 6 faces and a centre. PC are principal components of the states."
    )
