"""Figure 1 of the ERNN paper: RNN, FastRNN and ERNN under a random walk, and what of it holds."""

from typing import cast

from matplotlib.figure import Figure

from dynlab.diagnostics.ernn.manifold import ernn_manifold
from dynlab.diagnostics.ernn.manifold_example import SEED, STEPS, chosen, random_planar_networks
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots.ernn_manifold import plot_ernn_manifold


def compute(fast: bool) -> Results:
    """The networks side by side with the equilibrium manifold; fast: a shorter walk."""
    example = random_planar_networks(SEED, 60 if fast else STEPS)
    ds = ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)
    return {"manifold": ds.assign_attrs(verdict=f"{ds.attrs['verdict']} {chosen(SEED)}")}


def draw(results: Results) -> Made:
    """The trajectories and the manifold."""
    ds = results["manifold"]
    return Made(
        "ERNN, Figure 1: motion on the equilibrium manifold",
        "ERNN first projects its initial state onto the equilibrium manifold and then moves within it, while RNN and "
        "FastRNN show complex trajectories (section 1). The paper gives neither seed nor scales of its random U, W, b.",
        ds.attrs["verdict"],
        cast(Figure, plot_ernn_manifold(ds).figure),
        results,
    )


make = Script("ernn-1", compute, draw)
