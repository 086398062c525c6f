"""`dynlab ernn-manifold`: an ERNN's motion on its equilibrium manifold."""

from __future__ import annotations

from .analysis import Result, analysis
from .options import CHECKPOINT, COMPUTING, DRIVING
from .source import Source


@analysis(
    CHECKPOINT | DRIVING | COMPUTING,
    name="ernn-manifold",
    optional=True,
    over=False,
    defaults={"samples": 1, "steps": 1000},
)
def ernn_manifold(source: Source) -> Result:
    """Show an ERNN's motion on its equilibrium manifold, beside an RNN and a FastRNN.

    Without CKPT: Figure 1 of the ERNN paper, random planar networks driven by a random walk of variance 10, and how
    exactly h_k = z*(x_k) − h_{k−1} holds (seed 172 where --seed says no other). With the checkpoint of an ERNN: the
    same for that network on its inputs.

    \b
    dynlab ernn-manifold
    dynlab ernn-manifold ernn-k5.pt
    """
    from dynlab.diagnostics.ernn.manifold import ernn_manifold as measure
    from dynlab.diagnostics.ernn.manifold_example import SEED, random_planar_networks
    from dynlab.plots.ernn_manifold import plot_ernn_manifold

    if source.checkpoints or source.factory:
        system, inputs, name = source.map, source.driving.inputs, source.name
        beside, begin = None, None
    else:
        example = random_planar_networks(source.seed if "seed" in source.given else SEED, source.steps)
        system, inputs, name = example.system, example.inputs, "random-walk"
        beside, begin = example.beside, example.initial_state
    with source.working("Solving for the equilibria"):
        ds = measure(system, inputs, beside=beside, initial_state=begin, **source.computing)
    return Result(ds, plot_ernn_manifold, name)
