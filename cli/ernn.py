"""`dynlab ernn-convergence` and `ernn-manifold`: ERNN's inner iteration, and its motion on its equilibria."""

from typing import Any

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import CHECKPOINT, COMPUTING, COUNT, DRIVING, POSITIVE


@analysis(CHECKPOINT | DRIVING | COMPUTING, name="ernn-convergence")
@click.option("--eta", type=POSITIVE, metavar="X", help="Constant inner step η.  [default: the learned ones, cycled]")
@click.option("--iterations", type=COUNT, default=200, help="Number of inner steps to follow.")
@click.option("--times", type=COUNT, default=4, help="Number of steps to analyse in each sequence.")
def ernn_convergence(source: Source, **own: Any) -> CommandResult:
    """Follow ERNN's inner iteration towards the equilibrium that fsolve finds, and compare its rate with theory.

    Where no equilibrium exists, several do, or the iteration diverges, it says so.

    \b
    dynlab ernn-convergence ernn.pt
    dynlab ernn-convergence ernn.pt --eta 0.5
    """
    arguments, asked = (source.map, source.driving.inputs), own | source.computing
    return measured(source, "ernn_convergence", "Following the inner iteration", arguments, asked)


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
    (seed 172, unless --seed names another). It says how exactly h_k = z*(x_k) − h_{k−1} holds. With the checkpoint of
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
    *arguments, options = random_planar_networks(seed, source.steps)
    found = measured(source, "ernn_manifold", doing, tuple(arguments), options | source.computing)
    verdict = f"{found.dataset.attrs['verdict']} {chosen(seed)}"
    return found._replace(dataset=found.dataset.assign_attrs(verdict=verdict), name="random-walk")
