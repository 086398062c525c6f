"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, from a random matrix to one with diffusion."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.phase_plane.panels import EQUATIONS, phase_panels, planar_portrait
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.gallery.portraits import draw_portraits, matrix_in_words
from dynlab.plots.phase_plane import plot_phase_plane
from dynlab.systems.planar import STEP_SIZE
from dynlab.wording import number

PANELS_TITLE = "AntisymmetricRNN, Figure 1: eight planar systems"
MODULUS = "|μ| is the largest modulus of the map's multipliers."
PANELS = {
    "a": "W random (seed 12)",
    "b": "W = I",
    "c": "W orthogonal (seed 0)",
    "d": "W orthogonal (seed 1)",
    "e": "$W_+$",
    "f": "$W_-$",
    "g": "$W_0$",
    "h": "$W_{diff}$",
}
MATRICES = (
    "(a) to (d): maps\nh ← tanh(W h)\n(e) to (h): flows\nh′ = tanh(W h), and\nEuler's map at ε = 0.1 s\n"
    "$W_+$ = {plus}\n$W_-$ = {minus}\n$W_0$ = {zero}\n$W_{{diff}}$ = {diff}\n"
    "In (g) the energy H is\nΣ log cosh ($W_0$ h)ᵢ"
)


def _panels(fast: bool) -> Results:
    return {"panels": phase_panels()}  # there is nothing to leave out where it must be fast


def _draw_panels(results: Results) -> Made:
    """The eight panels."""
    ds = results["panels"]
    beside = MATRICES.format(**{name: matrix_in_words(name) for name in ("plus", "minus", "zero", "diff")})
    short = ds.attrs["verdict"].removeprefix(f"{EQUATIONS.format(number(STEP_SIZE))} ")  # they stand beside the panels
    return Made(
        PANELS_TITLE,
        "Feedback with imaginary eigenvalues (g) keeps its distance from the origin but for the discretisation's drift "
        "outward, and diffusion (h) makes up for that drift (section 4). The paper gives no generator for the seeds of "
        "(a), (c) and (d): these panels are of its families, not its pixels.",
        ds.attrs["verdict"],
        draw_portraits(ds, PANELS, PANELS_TITLE, f"{short} {MODULUS}", beside),
        results,
    )


def _portrait(fast: bool) -> Results:
    return {"portrait": planar_portrait("diff", "feedback")}


def _draw_portrait(results: Results) -> Made:
    """Panel (h) alone, W_diff as a flow and as Euler's map at the paper's step, with its eigenvalues beside."""
    ds = results["portrait"]
    short = ds.attrs["verdict"]  # three lines of a caption have no room for what the title says
    for words, fewer in (("The flow is h′ = tanh(W h). ", ""), ("at a distance of ", ""), ("the equilibrium", "0")):
        short = short.replace(words, fewer)
    return Made(
        "AntisymmetricRNN, Figure 1 (h): W_diff in detail",
        "Feedback with imaginary eigenvalues and diffusion: the trajectories move on cycles around the origin, since "
        "diffusion pulls them in as much as the discretisation pushes them out (section 4).",
        ds.attrs["verdict"],
        cast(Figure, plot_phase_plane(ds.assign_attrs(verdict=short)).figure),
        results,
    )


make = Script("antisymmetric-1", _panels, _draw_panels)
make_h = Script("antisymmetric-1h", _portrait, _draw_portrait)
