"""Figure 1 of the ERNN paper: RNN, FastRNN and ERNN under a random walk, and what of it holds."""

from dynlab.diagnostics.ernn.manifold import SEED, STEPS, chosen, ernn_manifold, random_planar_networks
from dynlab.plots.ernn_manifold import plot_ernn_manifold

from .scripts import Results, whole


def compute(fast: bool) -> Results:
    """The networks side by side with the equilibrium manifold; fast: a shorter walk."""
    system, inputs, options = random_planar_networks(SEED, 60 if fast else STEPS)
    ds = ernn_manifold(system, inputs, **options)
    return {"manifold": ds.assign_attrs(verdict=f"{ds.attrs['verdict']} {chosen(SEED)}")}


figure = whole("ernn-1", plot_ernn_manifold, "manifold", compute)
