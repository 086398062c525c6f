"""Figure 3 of the ERNN paper, redrawn: the network block of one inner Euler step, repeated K times."""

from matplotlib.patches import Circle, FancyBboxPatch

from dynlab.plots import style

from .scripts import Drawn, Panels, Results, script

BOXES = {"U": (2.6, 1.6), "$W x_k + b$": (4.4, 0.1), "P = U": (6.2, 1.6), "φ": (8.1, 1.6), "$η_k^{(i)}$": (11.2, 1.6)}
SUMS = (1.0, 4.4, 9.7, 12.8)  # in the row at height 1.6
HALF, RADIUS = (0.7, 0.46), 0.28
# each arrow from its start over its corners to its end
ARROWS = (
    ((-1.0, 1.6), (0.72, 1.6)),
    ((-0.6, 0.5), (0.8, 1.4)),
    ((1.28, 1.6), (1.9, 1.6)),
    ((3.3, 1.6), (4.12, 1.6)),
    ((4.4, 0.56), (4.4, 1.32)),
    ((4.68, 1.6), (5.5, 1.6)),
    ((6.9, 1.6), (7.4, 1.6)),
    ((8.8, 1.6), (9.42, 1.6)),
    ((9.98, 1.6), (10.5, 1.6)),
    ((11.9, 1.6), (12.52, 1.6)),
    ((13.08, 1.6), (15.0, 1.6)),
    ((1.0, 1.88), (1.0, 2.45), (9.7, 2.45), (9.7, 1.88)),
    ((-0.3, 1.6), (-0.3, 3.1), (12.8, 3.1), (12.8, 1.88)),
)
TEXTS = {
    "$h_k^{(i)}$": (-0.9, 1.8),
    "$h_{k-1}$": (-1.1, 0.2),
    "$h_k^{(i+1)}$": (14.4, 1.8),
    "$h_k^{(i)} + h_{k-1}$": (5.3, 2.55),
    "$h_k^{(i)}$ ": (5.3, 3.2),
    "−": (9.45, 1.95),  # this sum is taken from φ
    "repeated K times, i = 0 … K − 1": (11.2, 3.8),
}
WORDS = (
    "A diagram, nothing is measured. h_{k−1} is the state before, x_k the input, φ the activation, and K inner "
    "steps end at the new state h_k. The network learns W, b, the V and H of U = I + V H, and one η for each inner "
    "step i and each time step k. As P = U, the matrix U is used twice."
)


@script("ernn-3", (11.0, 3.8))
def figure(results: Results, ax: Panels) -> Drawn:
    """Draw the block; there is nothing to compute."""
    ax.axis("off")
    ax.set(xlim=(-1.4, 15.1), ylim=(-0.7, 4.4), aspect="equal")
    ax.add_patch(
        FancyBboxPatch(
            (0.35, -0.5), 13.1, 4.1, boxstyle="round,pad=0.1", facecolor="none", edgecolor=style.GREY, linestyle="--"
        )
    )
    for words, (x, y) in BOXES.items():
        half = HALF[0] * (1 + ("+" in words))
        ax.add_patch(
            FancyBboxPatch(
                (x - half, y - HALF[1]),
                2 * half,
                2 * HALF[1],
                zorder=3,
                boxstyle="round,pad=0",
                facecolor=style.SHADED,
                edgecolor=style.BLUE,
            )
        )
        ax.text(x, y, words, ha="center", va="center", fontsize="x-large", zorder=4)
    for x in SUMS:
        ax.add_patch(Circle((x, 1.6), RADIUS, facecolor="none", edgecolor=style.BLACK))
        ax.text(x, 1.6, "+", ha="center", va="center", fontsize="x-large")
    head = {"arrowstyle": "-|>", "color": style.BLACK, "shrinkA": 0, "shrinkB": 0}
    for *corners, before, end in ARROWS:
        ax.plot(*zip(*corners, before, strict=True), color=style.BLACK, lw=1)
        ax.annotate("", end, before, arrowprops=head)
    for words, place in TEXTS.items():
        ax.text(*place, words, ha="center", va="bottom", fontsize="large")
    return Drawn(WORDS)
