"""The flip-flop: eight memories and the saddles between them, in the state space of a trained GRU."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import zoo
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.gallery.made import Made
from dynlab.jacobians import jacobian
from dynlab.plots import style
from dynlab.simulation import simulate
from dynlab.systems import Map, frozen
from dynlab.tasks import driving_inputs

NETWORK = "gru-flipflop"
LENGTH = 0.55  # of a drawn unstable direction, to each side
LOOK = {
    0: ("stable: a memory", {"marker": "o", "color": style.GREEN, "s": 70}),
    1: ("saddle, 1 unstable direction", {"marker": "^", "color": style.ORANGE, "s": 38}),
    2: ("saddle, 2 directions", {"marker": "s", "color": style.VERMILION, "s": 38}),
    3: ("saddle, 3 directions", {"marker": "D", "color": style.PURPLE, "s": 48}),
}


def make(fast: bool = False) -> Made:
    """Fixed points at zero input; the search starts between every two of the memories."""
    network = zoo.load(NETWORK)
    driving = driving_inputs(None, network, samples=8 if fast else 32)
    memories = fixed_points(network, driving.inputs, starts=96)
    stable = memories["fixed_point_state"].values[memories["stable"].values == 1]
    pairs = [(a + b) / 2 for i, a in enumerate(stable) for b in stable[:i]]
    found = fixed_points(network, starts=np.array([*stable, *pairs]))
    states = simulate(network, driving.inputs)["trajectory"].values
    axes = _principal_axes(states.reshape(-1, states.shape[-1]))
    with style.style():
        figure = plt.figure(figsize=(6.6, 6.0))
        ax: Any = figure.add_subplot(projection="3d")
        for one in states[:16] @ axes.T:
            ax.plot(*one.T, color=style.GREY, lw=0.5, alpha=0.45)
        _draw(ax, found, network, axes)
        for axis, number in zip("xyz", "123", strict=True):
            getattr(ax, f"set_{axis}label")(f"principal component {number}")
        ax.view_init(elev=18, azim=-62)
        ax.set_title("A trained GRU holds three bits: fixed points at zero input")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2)
    return Made(
        "The flip-flop (Sussillo and Barak)",
        "A network that holds three bits has eight stable fixed points, and between them saddles with few unstable "
        "directions, along which a pulse leads from one memory to the next (Neural Computation 25, 2013, section 4).",
        _measured(found),
        figure,
        {"fixed_points": found},
    )


def _principal_axes(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The three leading ones, shape (3, state)."""
    return np.linalg.svd(states - states.mean(axis=0), full_matrices=False)[2][:3]


def _draw(ax: Any, found: xr.Dataset, network: Map, axes: NDArray[np.float64]) -> None:
    points = found["fixed_point_state"].values
    unstable = found["unstable_directions"].values
    for index, (label, look) in LOOK.items():
        at = points[unstable == index] @ axes.T
        if len(at):
            ax.scatter(*at.T, label=f"{label} ({len(at)})", edgecolors=style.BLACK, depthshade=False, zorder=5, **look)
    for point, count in zip(points, unstable, strict=True):
        for direction in _unstable_directions(network, point, int(count)):
            ends = np.stack([point - LENGTH * direction, point + LENGTH * direction]) @ axes.T
            ax.plot(*ends.T, color=style.BLUE, lw=1.3)


def _unstable_directions(network: Map, point: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Unit eigenvectors of the `count` leading eigenvalues, which are real at these saddles."""
    analysed = frozen(network)
    state = torch.from_numpy(point)
    matrix = jacobian(analysed, state, torch.zeros(analysed.input_size).double()).dense().numpy()
    values, vectors = np.linalg.eig(matrix)
    return vectors[:, np.argsort(-np.abs(values))[:count]].real.T


def _measured(found: xr.Dataset) -> str:
    unstable = found["unstable_directions"].values
    counts = {index: int((unstable == index).sum()) for index in sorted(set(unstable))}
    saddles = ", ".join(f"{count} with {index}" for index, count in counts.items() if index)
    return (
        f"{len(unstable)} fixed points at zero input, all verified with fsolve (largest residual "
        f"{float(found['residual'].max()):.0e}): {counts.get(0, 0)} stable, saddles: {saddles} unstable direction(s). "
        "A cube has 8 corners, 12 edges, 6 faces and a centre."
    )
