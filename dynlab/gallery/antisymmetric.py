"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, from a random matrix to one with diffusion."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots.phase_panels import plot_phase_panels
from dynlab.plots.phase_plane import plot_phase_plane


def _panels(fast: bool) -> Results:
    return {"panels": phase_panels()}  # there is nothing to leave out where it must be fast


def _draw_panels(results: Results) -> Made:
    """The eight panels."""
    ds = results["panels"]
    return Made(
        "AntisymmetricRNN, Figure 1: eight planar systems",
        "Feedback with imaginary eigenvalues (g) keeps its distance from the origin but for the discretisation's drift "
        "outward, and diffusion (h) makes up for that drift (section 5). The paper gives no generator for the seeds of "
        "(a), (c) and (d): these panels are of its families, not its pixels.",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_panels(ds).figure),
        results,
    )


def _portrait(fast: bool) -> Results:
    return {"portrait": planar_portrait("diff", "feedback")}


def _draw_portrait(results: Results) -> Made:
    """Panel (h) alone, W_diff as a flow and as Euler's map at the paper's step, with its eigenvalues beside."""
    ds = results["portrait"]
    return Made(
        "AntisymmetricRNN, Figure 1 (h): W_diff in detail",
        "Feedback with imaginary eigenvalues and diffusion: the trajectories move on cycles around the origin, since "
        "diffusion pulls them in as much as the discretisation pushes them out (section 5).",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_plane(ds).figure),
        results,
    )


make = Script("antisymmetric-1", _panels, _draw_panels)
make_h = Script("antisymmetric-1h", _portrait, _draw_portrait)
