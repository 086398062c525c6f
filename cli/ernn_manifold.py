"""`dynlab ernn-manifold`: an ERNN's motion on its equilibrium manifold."""

from .analysis import CommandResult, Source, analysis, measured
from .options import CHECKPOINT, COMPUTING, DRIVING


@analysis(
    CHECKPOINT | DRIVING | COMPUTING,
    name="ernn-manifold",
    optional=True,
    over=False,
    samples={"default": 1},
    steps={"default": 1000},
)
def ernn_manifold(source: Source) -> CommandResult:
    """Show an ERNN's motion on its equilibrium manifold, beside an RNN and a FastRNN.

    Without CKPT it draws Figure 1 of the ERNN paper: random planar networks, driven by a random walk of variance 10
    (seed 172 where --seed says no other). It says how exactly h_k = z*(x_k) − h_{k−1} holds. With the checkpoint of
    an ERNN it does the same for that network on its inputs.

    \b
    dynlab ernn-manifold
    dynlab ernn-manifold ernn-k5.pt
    """
    from dynlab.diagnostics.ernn.manifold import SEED, chosen, random_planar_networks

    doing = "Solving for the equilibria"
    if source.checkpoints or source.factory:
        return measured(source, "ernn_manifold", doing, (source.map, source.driving.inputs), source.computing)
    seed = source.seed if "seed" in source.given else SEED
    example = random_planar_networks(seed, source.steps)
    asked = {"beside": example.beside, "initial_state": example.initial_state} | source.computing
    found = measured(source, "ernn_manifold", doing, (example.system, example.inputs), asked)
    verdict = f"{found.dataset.attrs['verdict']} {chosen(seed)}"
    return found._replace(dataset=found.dataset.assign_attrs(verdict=verdict), name="random-walk")
