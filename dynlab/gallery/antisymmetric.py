"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, from a random matrix to one with diffusion."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.gallery.made import Made
from dynlab.plots.phase_panels import plot_phase_panels
from dynlab.plots.phase_plane import plot_phase_plane


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


def make_h(fast: bool = False) -> Made:
    """Panel (h) alone, W_diff as a flow and as Euler's map at the paper's step, with its eigenvalues beside."""
    ds = planar_portrait("diff", "feedback")
    return Made(
        "AntisymmetricRNN, Figure 1 (h): W_diff in detail",
        "Feedback with imaginary eigenvalues and diffusion: the trajectories move on cycles around the origin, since "
        "diffusion pulls them in as much as the discretisation pushes them out (section 5).",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_plane(ds).figure),
        {"portrait": ds},
    )
