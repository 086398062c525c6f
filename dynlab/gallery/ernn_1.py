"""Figure 1 of the ERNN paper: RNN, FastRNN and ERNN under a random walk, and what of it holds."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.inner.manifold_example import SEED, STEPS, random_planar_networks
from dynlab.diagnostics.manifold import manifold
from dynlab.gallery.made import Made
from dynlab.plots.manifold import plot_manifold


def make(fast: bool = False) -> Made:
    """The networks side by side with the equilibrium manifold; fast: a shorter walk."""
    example = random_planar_networks(SEED, 60 if fast else STEPS)
    ds = manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)
    return Made(
        "ERNN, Figure 1: motion on the equilibrium manifold",
        "ERNN first projects its initial state onto the equilibrium manifold and then moves within it, while RNN and "
        "FastRNN show complex trajectories (section 1). The paper gives neither seed nor scales of its random U, W, b.",
        ds.attrs["verdict"],
        cast(Figure, plot_manifold(ds).figure),
        {"manifold": ds},
    )
