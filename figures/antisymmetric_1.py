"""Figure 1 of the AntisymmetricRNN paper: eight planar systems, from a random matrix to one with diffusion."""

from dynlab.diagnostics.phase_plane.panels import phase_panels

from .portraits import draw_portraits, matrix_in_words, size_of
from .scripts import Drawn, Results, script

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


@script("antisymmetric-1", size_of(len(PANELS) + 1), compute)
def figure(results: Results) -> Drawn:
    """Draw the eight panels, and the matrices beside them."""
    beside = MATRICES.format(**{name: matrix_in_words(name) for name in ("plus", "minus", "zero", "diff")})
    return draw_portraits(results["panels"], PANELS, beside)
