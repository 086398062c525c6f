"""Companion to Figure 1 (h) of the AntisymmetricRNN paper: where Euler's map of W_diff loses the flow's stability."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.diagnostics.phase_plane import phase_plane
from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.phase_panels import legend_entries
from dynlab.plots.phase_plane import plot_phase_plane, time_bar
from dynlab.systems.planar import planar_system
from dynlab.trajectories.simulation import simulate

from .scripts import Drawn, Panels, Results, script

PAPER_STEP, BELOW = 0.1, 0.05
START = (0.5, -0.75)
# The closed curve shrinks like √(ε − ε_c) and attracts ever more slowly: the steps end where 6,000 are enough.
STEPS, KEPT = 6000, 400
SWEEP = np.concatenate([[0.02, 0.04, 0.06, 0.07], np.linspace(0.08, 0.2, 13)])

COARSE = np.array([0.05, PAPER_STEP, 0.2])


def compute(fast: bool) -> Results:
    """Portraits below and above the critical step, and the radius of what attracts against ε."""
    matrix = planar_matrix("diff")
    below, above = (phase_plane(planar_system(matrix, step_size=step), matrix=matrix) for step in (BELOW, PAPER_STEP))
    return {"below": below, "above": above, "radius": _radii(COARSE if fast else SWEEP)}


@script("critical-step", (11.0, 4.4), compute, ncols=3)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw both portraits, and the closed curve that grows beside them."""
    below, above, sweep = (results[name] for name in ("below", "above", "radius"))
    critical = float(above["critical_step"][0])
    *portraits, last = axes
    for ax, ds, step in zip(portraits, (below, above), (BELOW, PAPER_STEP), strict=True):
        plot_phase_plane(ds.drop_vars("backward_orbit", errors="ignore"), ax=ax)
        ax.set_title(f"ε = {step:g} s: {ds['map_kind'].values[0]}")
    time_bar(above, last.figure, ax=portraits, location="bottom", shrink=0.5, pad=0.02, aspect=40)
    _plot_radii(sweep, critical, last)
    at_paper = sweep.sel(step_size=PAPER_STEP, method="nearest")
    measured = (
        f"The flow's {above['flow_kind'].values[0]} is stable for Euler's map only up to ε = {critical:.6f} s. At "
        f"the paper's ε = {PAPER_STEP:g} s the multipliers have modulus {np.abs(above['map_eigenvalue']).max():.6f}, "
        f"and orbits end on a closed curve of radius {float(at_paper.smallest):.3f} to {float(at_paper.largest):.3f} "
        f"that tanh's saturation makes, not diffusion."
    )
    return Drawn(measured, legend_entries(portraits) | style.entries(last))


def _radii(step_sizes: np.ndarray) -> xr.Dataset:
    """The smallest and the largest radius of the states that an orbit ends on, for each ε."""
    orbits = [
        simulate(planar_system(planar_matrix("diff"), step_size=float(step)), initial_state=START, steps=STEPS)
        for step in step_sizes
    ]
    radii = [np.linalg.norm(orbit["trajectory"].values[0, -KEPT:], axis=-1) for orbit in orbits]
    return schema.dataset(
        {
            "smallest": schema.variable(("step_size",), [radius.min() for radius in radii], "smallest radius"),
            "largest": schema.variable(("step_size",), [radius.max() for radius in radii], "largest radius"),
        },
        system="feedback",
        settings={"start": START, "steps": STEPS, "kept": KEPT, "matrix": "diff"},
        coords={"step_size": schema.variable(("step_size",), step_sizes, "step size ε", schema.SECOND)},
    )


def _plot_radii(sweep: xr.Dataset, critical: float, ax: Axes) -> None:
    ax.axvline(critical, color=style.BLACK, linewidth=1, linestyle="--", label=f"critical step {critical:.4f} s")
    ax.axvline(PAPER_STEP, color=style.GREY, linewidth=1, linestyle=":", label=f"the paper's step {PAPER_STEP:g} s")
    ax.fill_between(
        sweep.step_size,
        sweep.smallest,
        sweep.largest,
        label="smallest to largest distance",
        color=style.BLUE,
        alpha=0.25,
        linewidth=0,
    )
    ax.plot(sweep.step_size, sweep.largest, "o-", ms=4, color=style.BLUE, label=f"largest after {STEPS:,} steps")
    ax.set(xlabel=style.label(sweep.step_size), ylabel="distance from 0", title="Where orbits end")
