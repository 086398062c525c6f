"""Figure 5 of the ERNN paper: the eigenvalues of φ′PU − I over HAR-2, which are said to be all negative.

With ReLU and P = U = I + V H of rank d the matrix is known but for which units are active. The rows of inactive units
are −eᵀ, each with the eigenvalue −1. The block of the active ones is V_A (2I + HV) H_A. Its eigenvalues are those of
the d × d matrix (2I + HV) H_A V_A, and 0 for every active unit beyond d. So no rounding decides what is 0, and steps
with one pattern of activation are solved once.
"""

from typing import cast

import matplotlib.pyplot as plt
import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema, zoo
from dynlab.diagnostics.ernn.spectrum import EPS
from dynlab.numerics.arrays import Real
from dynlab.plots import style
from dynlab.systems import Map, frozen
from dynlab.systems.ernn import ERNN, IdentityPlusLowRank
from dynlab.tasks import create as create_task
from dynlab.trajectories.driven import Driven, drive
from dynlab.words import percent

from .scripts import Drawn, Results, kept, script

NETWORKS = {"k1": "ernn-har2-k1", "k3": "ernn-har2-k3", "k5": "ernn-har2-k5"}
PAIRS, FEW = 20_000, 640  # (window, step) pairs, of each step as many
SEED = 0
AT_ONCE = 512  # windows whose states are held
EDGES = np.linspace(-4.0, 2.0, 121)
RANGE = -2.5, 1.0  # of the axis, the same for all networks
SIGN = 1e3  # times ε ‖matrix‖: a real part nearer to 0 has no sign
GROUPS = {"below": "below 0", "zero": "0", "above": "above 0"}


def compute(fast: bool) -> Results:
    """The histogram of each of the zoo's ERNNs; it needs the whole of HAR-2."""
    task = create_task("har2", standardise="channel", retrain=True)
    windows = np.concatenate([task.train.inputs, task.test.inputs])
    return {key: _histogram(name, windows, FEW if fast else PAIRS) for key, name in NETWORKS.items()}


def stratified(windows: int, steps: int, pairs: int) -> Real:
    """As many windows for each step, drawn without repetition, shape (pairs // steps, steps)."""
    generator = np.random.default_rng(SEED)
    return np.stack([generator.choice(windows, pairs // steps, replace=False) for _ in range(steps)], axis=1)


def _histogram(name: str, windows: Real, pairs: int) -> xr.Dataset:
    system = cast(ERNN, zoo.load(name))
    chosen = stratified(len(windows), windows.shape[1], pairs)
    patterns, counts = np.unique(_active(system, windows, chosen), axis=0, return_counts=True)
    real, zeros, minus = pattern_eigenvalues(system, patterns)
    weights = np.repeat(counts, real.shape[1]).astype(float)
    known = np.isfinite(real.ravel())
    values, weights = real.ravel()[known], weights[known]
    total = float(counts.sum() * system.state_size)
    below = np.histogram(values[values < 0], EDGES, weights=weights[values < 0])[0]
    below[np.searchsorted(EDGES, -1.0, side="right") - 1] += float((counts * minus).sum())
    above = np.histogram(values[values > 0], EDGES, weights=weights[values > 0])[0]
    at_zero = float((counts * zeros).sum()) + float(weights[values == 0].sum())
    singular = float(counts[(zeros > 0) | (real == 0).any(axis=1)].sum() / counts.sum())
    centers = (EDGES[1:] + EDGES[:-1]) / 2
    return schema.dataset(
        {
            "below": schema.variable(("bin",), below / total, "share of the eigenvalues"),
            "above": schema.variable(("bin",), above / total, "share of the eigenvalues"),
            "zero": schema.variable((), at_zero / total, "share of the eigenvalues that are 0"),
            "singular": schema.variable((), singular, "share of the pairs where ∇F is singular"),
            "largest": schema.variable((), values.max(), "largest real part", schema.PER_SECOND),
            "patterns": schema.variable((), len(patterns), "patterns of activation"),
        },
        system=system.name,
        source=system.source,
        settings={"pairs": int(counts.sum()), "windows": len(windows), "seed": SEED},
        method=__doc__.partition("\n\n")[2].replace("\n", " ").strip(),
        coords={
            "bin": schema.variable(("bin",), centers, "real part of the eigenvalue of φ′PU − I", schema.PER_SECOND)
        },
    )


def along(system: Map, inputs: Real) -> Driven:
    """The states that these inputs lead to from 0, in float64."""
    return drive(system, inputs, None, dtype="float64", device="cpu", seed=SEED, inputs_description="")


def _active(system: ERNN, windows: Real, chosen: Real) -> Real:
    """Which units are active at the state that each chosen (window, step) ends in, shape (pair, state)."""
    found = np.zeros((*chosen.shape, system.state_size), bool)
    held = frozen(system)
    for start in range(0, len(windows), AT_ONCE):
        driven = along(system, windows[start : start + AT_ONCE])
        with torch.no_grad():
            z = driven.states[:, 1:] + driven.states[:, :-1]
            active = (held.transition(z, torch.nn.functional.linear(driven.inputs, held.W, held.b)) > 0).numpy()
        draw, step = np.nonzero((chosen >= start) & (chosen < start + AT_ONCE))
        found[draw, step] = active[chosen[draw, step] - start, step]
    return found.reshape(-1, system.state_size)


def pattern_eigenvalues(system: ERNN, active: Real) -> tuple[Real, Real, Real]:
    """Real parts of the eigenvalues of φ′PU − I for patterns of activation, apart from those known to be 0 and −1.

    Parameters
    ----------
    system : ERNN
        With P = U = I + V H of rank d.
    active : ndarray, shape (pattern, state), bool

    Returns
    -------
    real : ndarray, shape (pattern, d)
        Exactly 0 where it is below rounding, NaN for the zeros of the small matrix where fewer than d are active.
    zeros, minus : ndarray, shape (pattern,)
        How many further eigenvalues are 0, and how many −1.
    """
    low_rank = cast(IdentityPlusLowRank, frozen(system).U)
    V, H = low_rank.V.detach().numpy(), low_rank.H.detach().numpy()
    d = V.shape[1]
    small = (2 * np.eye(d) + H @ V) @ np.einsum("ij,pj,jk->pik", H, active.astype(float), V)
    real = np.linalg.eigvals(small).real
    real[np.abs(real) <= SIGN * EPS * np.linalg.norm(small, axis=(1, 2))[:, None]] = 0.0
    units = active.sum(axis=1)
    for index in np.flatnonzero(units < d):  # of its zeros as many are the small matrix's own as units lack
        real[index, np.argsort(np.abs(real[index]))[: d - units[index]]] = np.nan
    return real, np.maximum(units - d, 0), active.shape[1] - units


def shares() -> dict[str, dict[str, float]]:
    """Return of each network the shares of eigenvalues below 0, 0 and above, and of pairs where ∇F is singular."""
    return {key[1:]: _shares(ds) for key, ds in kept("ernn-5").items()}


def _label(key: str) -> str:
    return f"K = {key[1:]}"


def _shares(ds: xr.Dataset) -> dict[str, float]:
    found = {name: float(ds[name].sum()) for name in GROUPS}
    return found | {name: float(ds[name]) for name in ("singular", "largest", "patterns")}


@script("ernn-5", (13.0, 5.6), compute)
def figure(results: Results) -> Drawn:
    """Draw one histogram for each network."""
    figure, axes = plt.subplots(1, 3, sharex=True, sharey=True)
    for ax, (key, ds) in zip(axes, results.items(), strict=True):
        _draw(ds, ax)
        ax.set_title(f"trained ERNN, {_label(key)}")
        ax.label_outer()
    return Drawn(figure, _measured(results))


def _draw(ds: xr.Dataset, ax: Axes) -> None:
    found = _shares(ds)
    width = float(np.diff(ds["bin"][:2].values)[0])
    looks = {"below": (style.STABLE, None), "zero": (style.UNDECIDED, "///"), "above": (style.UNSTABLE, "...")}
    for name, (colour, hatch) in looks.items():
        where = [0.0] if name == "zero" else ds["bin"]
        heights = [found["zero"]] if name == "zero" else ds[name]
        label = f"{GROUPS[name]}: {percent(found[name], 1)}"
        ax.bar(where, heights, width, color=colour, hatch=hatch, edgecolor="white", linewidth=0.2, label=label)
    ax.set(yscale="log", xlabel="real part (1/s)", ylabel="share of the eigenvalues", xlim=RANGE)
    style.legend_below(ax, 3, columnspacing=1.0)


def _measured(results: Results) -> str:
    pairs = {schema.settings(ds)["pairs"] for ds in results.values()}
    found = [_shares(ds) for ds in results.values()]
    said = [
        f"{_label(key)}: singular at {percent(each['singular'], 1)} of the pairs; of the eigenvalues' real parts "
        f"{percent(each['below'], 1)} are below 0, {percent(each['zero'], 1)} are 0 and "
        f"{percent(each['above'], 1)} above 0, up to {each['largest']:.3f} per second."
        for key, each in zip(results, found, strict=True)
    ]
    return (
        f"Over {max(pairs):,} (window, step) pairs of training and test, the matrix ∇F = diag(φ′)PU − I of each "
        f"trained ERNN, where F is its inner flow. {' '.join(said)}"
    )
