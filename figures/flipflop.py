"""The flip-flop: eight memories and the saddles between them, in the state space of a trained GRU."""

import xarray as xr

from dynlab.diagnostics.geometry import geometry
from dynlab.plots.geometry import plot_geometry
from dynlab.words import counted, joined, number

from .scripts import Drawn, Panels, Results, script, trained

NETWORK = "gru-flipflop"


def compute(fast: bool) -> Results:
    """Fixed points at zero input among the trajectories of the task."""
    network, driving = trained(NETWORK, samples=8 if fast else 32)
    starts = 96 if fast else 256
    return {"geometry": geometry(network, driving.inputs, starts=starts, inputs_description=driving.description)}


@script("flipflop", (6.6, 6.0), compute, subplot_kw={"projection": "3d"})
def figure(results: Results, ax: Panels) -> Drawn:
    """Draw all of them in the first three principal directions."""
    plot_geometry(results["geometry"], ax=ax)
    ax.set_title("A trained GRU holds three bits: fixed points at zero input")
    return Drawn(_measured(results["geometry"]))


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
