"""Figure 1 (h) of the AntisymmetricRNN paper alone: W_diff as a flow and as Euler's map at the paper's step."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.gallery.made import Made
from dynlab.plots.phase_plane import plot_phase_plane


def make(fast: bool = False) -> Made:
    """The portrait with its eigenvalues beside Euler's disc; there is nothing to leave out where it must be fast."""
    ds = planar_portrait("diff", "feedback")
    return Made(
        "AntisymmetricRNN, Figure 1 (h): W_diff in detail",
        "Feedback with imaginary eigenvalues and diffusion: the trajectories move on cycles around the origin, since "
        "diffusion pulls them in as much as the discretisation pushes them out (section 5).",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_plane(ds).figure),
        {"portrait": ds},
    )
