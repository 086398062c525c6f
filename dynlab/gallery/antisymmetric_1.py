"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, from a random matrix to one with diffusion."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import phase_panels
from dynlab.gallery.made import Made
from dynlab.plots.phase_panels import plot_phase_panels


def make(fast: bool = False) -> Made:
    """The eight panels; there is nothing to leave out where it must be fast."""
    ds = phase_panels()
    return Made(
        "AntisymmetricRNN, Figure 1: eight planar systems",
        "Feedback with imaginary eigenvalues (g) keeps its distance from the origin but for the discretisation's drift "
        "outward, and diffusion (h) makes up for that drift (section 5). The paper gives no generator for the seeds of "
        "(a), (c) and (d): these panels are of its families, not its pixels.",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_panels(ds).figure),
        {"panels": ds},
    )
