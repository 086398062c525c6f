"""Panel (h) of Figure 1 of the AntisymmetricRNN paper, W_diff as a flow and as Euler's map at the paper's step."""

from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.plots.phase_plane import plot_phase_plane

from .scripts import Results, script, whole


def compute(fast: bool) -> Results:
    """Return the portrait; there is nothing to leave out."""
    return {"portrait": planar_portrait("diff", "feedback")}


figure = script("antisymmetric-1h", compute=compute)(whole(plot_phase_plane, "portrait"))  # eigenvalues beside
