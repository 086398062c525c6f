"""Figure 6 of the ERNN paper: linear convergence to the equilibrium, on a dense tanh ERNN and on the trained ones."""

import torch

from dynlab.diagnostics.ernn.convergence import ernn_convergence, verdict
from dynlab.plots.ernn_convergence import plot_ernn_convergence
from dynlab.systems.ernn import ERNN

from .scripts import Drawn, Panels, Results, script, trained

TRAINED = "ernn-har2-k5"
ETA = 0.5
SEED, UNITS, LENGTH = 0, 80, 128
RECURRENT_GAIN = 0.9  # ‖P U‖₂ = 0.9² < 1, tanh has slopes up to 1: the inner map contracts, its equilibrium is unique


def compute(fast: bool) -> Results:
    """The dense network with constant η, and a trained low-rank ReLU network with its learned η, on real sequences."""
    network, driving = trained(TRAINED, samples=1 if fast else 4)
    return {
        "dense": ernn_convergence(dense(), driving.inputs, eta=ETA, iterations=80 if fast else 300),
        "trained": ernn_convergence(network, driving.inputs, iterations=200 if fast else 2000),
    }


@script("ernn-6", (11.0, 5.2), compute, ncols=2)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw the distances to the equilibria, of both."""
    titles = {"dense": f"dense tanh ERNN,\ncontracting, η = {ETA:g}", "trained": "trained low-rank ReLU\nERNN, K = 5"}
    for ax, (key, title) in zip(axes, titles.items(), strict=True):
        plot_ernn_convergence(results[key], ax=ax)
        ax.set_title(title)
    return Drawn(f"Dense: {verdict(results['dense'])} Trained: {verdict(results['trained'])}")


def dense(inner_steps: int = 1, eta: float = 0.01) -> ERNN:
    """A dense tanh ERNN whose U is 0.9 times an orthogonal matrix."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        system = ERNN(9, UNITS, LENGTH, inner_steps, rank=None, activation="tanh", eta=eta).double()
        torch.nn.init.orthogonal_(system.get_parameter("U.weight"), gain=RECURRENT_GAIN)
    system.name = "ernn"
    return system
