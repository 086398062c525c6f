"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, and its panel (h) with the eigenvalues beside."""

from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
from dynlab.plots.phase_plane import plot_phase_plane

from .portraits import draw_portraits, matrix_in_words, places
from .scripts import Drawn, Panels, Results, script, whole

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


def compute(fast: bool) -> Results:
    """Return the eight portraits; there is nothing to leave out."""
    return {"panels": phase_panels()}


@script("antisymmetric-1", compute=compute, **places(len(PANELS) + 1))
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the eight panels, and the matrices beside them."""
    *panels, beside = axes.flat
    words = MATRICES.format(**{name: matrix_in_words(name) for name in ("plus", "minus", "zero", "diff")})
    beside.axis("off")
    beside.text(0, 0.95, words, va="top", linespacing=1.5)
    return draw_portraits(results["panels"], PANELS, panels)


def compute_detail(fast: bool) -> Results:
    """Return the portrait of W_diff as a flow and as Euler's map at the paper's step; there is nothing to leave out."""
    return {"portrait": planar_portrait("diff", "feedback")}


detail = whole("antisymmetric-1h", plot_phase_plane, "portrait", compute_detail)
