"""Eigenvalues on the stable side at every moment, and growth all the same: in continuous and in discrete time."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.plots import style
from dynlab.systems import frozen
from dynlab.systems.textbook import MarkusYamabe
from dynlab.trajectories.simulation import simulate
from dynlab.words import power, ranging

from .scripts import Drawn, Panels, Results, script

START, SECONDS = (-1.0, 0.0, 1.0, 0.0), 20.0
SIDE, SHEAR, PRODUCTS = 0.5, 2.0, 20  # two shears with the eigenvalue 1/2, taken by turns
FEW = 9.0  # seconds that the plane shows
# of a norm, and of what its eigenvalues promise
GROWTH = "|y(t)| = $e^{t/2}$", "$e^{-t/4}$, what Re λ promises"
PRODUCT = "‖$A_k$ ⋯ $A_2$ $A_1$‖, by turns", "$(1/2)^k$, what |μ| promises"


def compute(fast: bool) -> Results:
    """The flow of Markus and Yamabe, and products of two shears; fast is fewer times."""
    system = frozen(MarkusYamabe())
    times = np.linspace(0, SECONDS, 101 if fast else 801)
    solution = simulate(system, initial_state=START, times=times)
    states = solution["trajectory"].values[0]
    matrices = system.matrix(torch.from_numpy(states[:, 2:])).numpy()
    flow = _of_flow(times, states[:, :2], approximate_eigenvalues(matrices))
    return {"solution": solution, "growth": flow, "shears": _of_shears()}


@script("time-varying", (12.5, 4.6), compute, ncols=3)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw both beside what their eigenvalues promise."""
    solution, flow, shears = (results[name] for name in ("solution", "growth", "shears"))
    times = solution[schema.TIME].values
    _draw_plane(solution["trajectory"].values[0, times <= FEW, :2], axes[0])
    _draw_norm(flow, flow["eigenvalue"].values.real.max(), axes[1], GROWTH, lw=1.8)
    axes[1].set(xlabel="time (s)", ylabel="|y(t)|", title="… with Re λ = −0.25\nat every t")
    _draw_norm(shears, np.log(SIDE), axes[2], PRODUCT, marker="o", ms=3.5)
    axes[2].set(xlabel="step k", ylabel="norm of the product", title="Steps: (½, 2; 0, ½)\nand (½, 0; 2, ½)")
    for ax in axes:
        style.legend_below(ax, 1)
    measured = (
        f"Re λ of Markus and Yamabe's 2 × 2 matrix {ranging(flow['eigenvalue'].values.real, 4)} at all {len(times)} "
        f"times (exact: −0.25), and the solution grows to {power(float(flow['log_norm'][-1]))} by t = 20 (exact: "
        f"e^10). Two shears of spectral radius {SIDE:g} have a product of spectral radius "
        f"{float(shears['product_radius']):.4f}. After {PRODUCTS} steps the norm is "
        f"{power(float(shears['log_norm'][-1]))}, where the eigenvalues promise {power(PRODUCTS * np.log(SIDE))}."
    )
    return Drawn(measured)


def _of_flow(times: NDArray[np.float64], y: NDArray[np.float64], eigenvalues: NDArray[np.complex128]) -> xr.Dataset:
    return schema.dataset(
        {
            "log_norm": schema.variable((schema.TIME,), np.log(np.linalg.norm(y, axis=1)), "ln |y(t)|"),
            "eigenvalue": schema.variable(
                (schema.TIME, schema.MODE), eigenvalues, "eigenvalue of A(t)", schema.PER_SECOND
            ),
        },
        system="markus-yamabe",
        settings={"start": START, "seconds": SECONDS},
        coords={schema.TIME: schema.time_coordinate(times, schema.SECOND)},
    )


def _of_shears() -> xr.Dataset:
    """The logarithm of the norm of … A₁ A₂ A₁ after each factor, and the spectral radius of A₂ A₁."""
    first = np.array([[SIDE, SHEAR], [0.0, SIDE]])
    product, logs = np.eye(2), [0.0]
    for step in range(PRODUCTS):
        product = (first if step % 2 == 0 else first.T) @ product
        logs.append(float(np.log(np.linalg.norm(product, 2))))
    radius = float(np.abs(approximate_eigenvalues(first.T @ first)).max())
    return schema.dataset(
        {
            "log_norm": schema.variable((schema.TIME,), logs, "ln ‖A_k ⋯ A₁‖₂"),
            "product_radius": schema.variable((), radius, "spectral radius of A₂ A₁"),
        },
        system="linear",
        settings={"side": SIDE, "shear": SHEAR, "steps": PRODUCTS},
        coords={schema.TIME: schema.time_coordinate(np.arange(PRODUCTS + 1))},
    )


def _draw_plane(y: NDArray[np.float64], ax: Axes) -> None:
    style.cross(ax)
    ax.plot(*y.T, color=style.BLUE, lw=1.6)
    ax.plot(*y[0], "*", color=style.BLACK, ms=11, label="start")
    ax.plot(*y[-1], "o", color=style.VERMILION, ms=6, label=f"t = {FEW:g} s")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="y₁", ylabel="y₂", title="y' = A(t) y winds\noutwards …")


def _draw_norm(ds: xr.Dataset, rate: float, ax: Axes, labels: tuple[str, str], **look: Any) -> None:
    """Draw the norm over time beside what the eigenvalues promise, on a logarithmic axis."""
    time = ds[schema.TIME].values
    ax.plot(time, np.exp(ds["log_norm"].values), color=style.BLUE, label=labels[0], **look)
    ax.plot(time, np.exp(rate * time), color=style.BLACK, ls="--", label=labels[1])
    ax.set_yscale("log")
