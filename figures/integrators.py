"""Five integrators on the rotation W₀: regions of stability, orbits, and the conserved energy."""

from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dynlab import schema
from dynlab.diagnostics.energy import energy
from dynlab.diagnostics.stability import stability
from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.energy import LOOKS
from dynlab.plots.stability import plot_step_region
from dynlab.systems import Euler
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import planar_system
from dynlab.trajectories.simulation import simulate
from dynlab.words import at_most, capital, number

from .scripts import Drawn, Panels, Results, script

STEP, STEPS, FEWER = 0.2, 1000, 100
START = (0.0, 0.5)
SHOWN = 400  # steps of an orbit that are drawn
LEFT, RIGHT, TALL = -3.4, 1.2, 3.3  # the window of the regions
REACH = 1.3  # half the width of that of the orbits
LINEAR = 1e-3  # of the scale of the energy's change, logarithmic beyond
TURN = 35  # steps, a little more than those of one turn
THIN, THICK = 0.3, 1.6  # points, of all steps and of the last turn
ROUNDING = 1e-14  # a modulus nearer to 1 is 1
PLACES = [
    [f"region-{name}" for name in INTEGRATORS],
    [f"orbit-{name}" for name in INTEGRATORS],
    ["energy"] * len(INTEGRATORS),
]


def compute(fast: bool) -> Results:
    """Regions with the eigenvalues of one orbit over each, the orbits themselves, and how the energy drifts."""
    system = cast(Euler, planar_system(planar_matrix("zero"), "feedback", STEP))
    steps = FEWER if fast else STEPS
    found = {
        "energy": energy(system, initial_state=START, steps=steps),
        "exact": simulate(system.flow, initial_state=START, times=np.linspace(0, 8, 400)),
    }
    for name, integrator in INTEGRATORS.items():
        found[f"region-{name}"] = stability(system, np.zeros((50, 0)), integrator=name, initial_state=START)
        found[f"orbit-{name}"] = simulate(integrator(system.flow, STEP), steps=steps, initial_state=START)
    return found


@script("integrators", (12.0, 9.6), compute, mosaic=PLACES, height_ratios=[1.1, 1, 1.5])
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw a column for each integrator, and the energy of all below."""
    drift, exact = results["energy"].isel({schema.TIME: slice(SHOWN + 1)}), results["exact"]
    regions = {name: results[f"region-{name}"] for name in INTEGRATORS}
    for column, name in enumerate(INTEGRATORS):
        above, below = axes[f"region-{name}"], axes[f"orbit-{name}"]
        plot_step_region(regions[name], ax=above, color=LOOKS[name]["color"])
        above.set(xlim=(LEFT, RIGHT), ylim=(-TALL, TALL), ylabel="" if column else "Im ελ")
        above.set_title(capital(LOOKS[name]["label"]), fontsize="medium")
        above.get_legend().remove()
        _draw_orbit(results[f"orbit-{name}"], exact, LOOKS[name]["color"], below)
        change = 100 * float(_change(drift, name)[-1])
        below.set_title(f"H {'+' if change > 0 else '−'}{number(abs(change), 2)} %", fontsize="medium")
        below.set_ylabel("" if column else "h₂")
    _draw_energy(drift, axes["energy"])
    shown = drift.sizes[schema.TIME] - 1
    named = {
        "|R(ελ)| ≤ 1": Patch(facecolor=style.SHADED, edgecolor=style.BLACK),
        "ελ along the orbit": Line2D([], [], color=style.GREY, lw=4),
        "path of the exact flow": Line2D([], [], color=style.BLACK, ls=":"),
        f"{shown} steps of ε = {STEP:g} s": Line2D([], [], color=style.BLACK, lw=THIN),
        f"the last {TURN} of them": Line2D([], [], color=style.BLACK, lw=THICK),
    }
    return Drawn(_measured(regions, drift, shown), named)


def _draw_orbit(orbit: xr.Dataset, exact: xr.Dataset, colour: str, ax: Axes) -> None:
    states, curve = orbit["trajectory"].values[0, : SHOWN + 1], exact["trajectory"].values[0]
    ax.plot(*states.T, color=colour, lw=THIN)
    ax.plot(*states[-TURN - 1 :].T, color=colour, lw=THICK)
    ax.plot(curve[:, 0], curve[:, 1], color=style.BLACK, ls=":", lw=1.4, zorder=5)
    ax.plot(*states[0], "*", color=style.BLACK, ms=9, zorder=6)
    ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal", xlabel="h₁")


def _draw_energy(drift: xr.Dataset, ax: Axes) -> None:
    for name in drift[schema.INTEGRATOR].values.tolist():
        colour, label = LOOKS[name]["color"], LOOKS[name]["label"]
        ax.plot(drift[schema.TIME], _change(drift, name), lw=1.6, color=colour, label=label)
    ax.axhline(0, color=style.BLACK, ls=":", lw=1.4)
    ax.set_yscale("symlog", linthresh=LINEAR)
    ax.set(
        xlabel="time (s)",
        ylabel="H(h)/H(h₀) − 1",
        title=f"Relative change of H = Σ log cosh(W₀h)ᵢ (linear within ±{LINEAR:g})",
    )
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def _change(drift: xr.Dataset, name: str) -> Any:
    """H(h)/H(h₀) − 1 along an integrator's orbit, shape (time,)."""
    return drift["energy"].sel({schema.INTEGRATOR: name}).values[0] / float(drift["exact_energy"][0, 0]) - 1


def _moduli(region: xr.Dataset) -> str:
    """The smallest and the largest modulus, each by its distance from 1."""
    ends = (float(region["step_modulus"].min()) - 1, float(region["step_modulus"].max()) - 1)
    said = ["1" if abs(off) < ROUNDING else f"1 {'+' if off > 0 else '−'} {number(abs(off), 1)}" for off in ends]
    return " to ".join(dict.fromkeys(said))


def _measured(regions: dict[str, xr.Dataset], drift: xr.Dataset, steps: int) -> str:
    exact = float(np.abs(drift["exact_energy"] / drift["exact_energy"][0, 0] - 1).max())
    parts = [
        f"{capital(LOOKS[name]['label'])}: {number(_change(drift, name)[-1], 3)}, with |R(ελ)| = {_moduli(region)}"
        for name, region in regions.items()
    ]
    kept = np.abs(_change(drift, "implicit-midpoint")).max()
    return (
        f"The flow keeps its energy to {at_most(exact, 1)}. Here is its relative change over {steps:,} steps of "
        f"ε = {STEP:g}. {'. '.join(parts)}. The implicit midpoint rule's energy "
        f"swings by {number(kept, 2)} and does not drift. Exponential Euler, exact for linear flows, holds the rest of "
        f"tanh over its step and loses energy."
    )
