"""Panel (h) of Figure 1 of the AntisymmetricRNN paper, W_diff as a flow and as Euler's map at the paper's step."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.plots.phase_plane import plot_phase_plane

from .scripts import Drawn, Results, script


def compute(fast: bool) -> Results:
    """Return the portrait; there is nothing to leave out."""
    return {"portrait": planar_portrait("diff", "feedback")}


@script("antisymmetric-1h", compute=compute)
def figure(results: Results) -> Drawn:
    """Draw the portrait with its eigenvalues beside."""
    ds = results["portrait"]
    return Drawn(cast(Figure, plot_phase_plane(ds).figure), ds.attrs["verdict"])
