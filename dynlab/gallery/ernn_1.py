"""Figure 1 of the ERNN paper: RNN, FastRNN and ERNN under a random walk, and what of it holds."""

from typing import cast

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dynlab import schema
from dynlab.diagnostics.ernn.manifold import ernn_manifold
from dynlab.diagnostics.ernn.manifold_example import SEED, STEPS, chosen, random_planar_networks
from dynlab.gallery.kept import Results, Script
from dynlab.gallery.made import Made
from dynlab.plots.ernn_manifold import plot_ernn_manifold
from dynlab.wording import at_most, counted, number

TITLE = "ERNN, Figure 1: motion on the equilibrium manifold"


def compute(fast: bool) -> Results:
    """The networks side by side with the equilibrium manifold; fast: a shorter walk."""
    example = random_planar_networks(SEED, 60 if fast else STEPS)
    ds = ernn_manifold(example.system, example.inputs, beside=example.beside, initial_state=example.initial_state)
    return {"manifold": ds.assign_attrs(verdict=f"{ds.attrs['verdict']} {chosen(SEED)}")}


def draw(results: Results) -> Made:
    """The trajectories and the manifold."""
    ds = results["manifold"]
    figure = cast(Figure, plot_ernn_manifold(ds.assign_attrs(verdict=_caption(ds))).figure)
    figure.texts[0].set_text(TITLE)
    return Made(
        TITLE,
        "ERNN first projects its initial state onto the equilibrium manifold and then moves within it, while RNN and "
        "FastRNN show complex trajectories (section 1). The paper gives neither seed nor scales of its random U, W, b.",
        ds.attrs["verdict"],
        figure,
        results,
    )


def _caption(ds: xr.Dataset) -> str:
    """How far h_k + h_{k−1} lies from the equilibrium of its step."""
    on_it, off_it = (ds["distance"].sel({schema.NETWORK: name}).values[:, 1:] for name in ("ernn", "ernn K=5"))
    middle, largest = (number(float(of(off_it)), 2) for of in (np.median, np.max))
    return (
        "The manifold holds the equilibria z*(x) of the inner iteration under inputs x. With K = 40, η = 0.6 ERNN's "
        f"h_k + h_{{k−1}} is z*(x_k), to {at_most(float(on_it.max()), 2)} over {counted(on_it.size, 'step')}. "
        f"With K = 5, η = 0.01 its distance from z*(x_k) has the median {middle} and the maximum {largest}. "
        "The source stretches the RNN's states for its picture; here they are not stretched."
    )


make = Script("ernn-1", compute, draw)
