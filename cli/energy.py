"""`dynlab energy`: whether a flow conserves its energy, and what an integrator's step makes of that."""

import click

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, INTEGRATORS


@analysis(ANYTHING - {"steps"} | {"at", "starts"})
@click.option("--steps", type=COUNT, default=500, help="Number of steps.")
@click.option(
    "--integrator",
    "integrators",
    multiple=True,
    type=INTEGRATORS,
    help="Integrator; repeatable.  [default: all]",
)
def energy(source: Source, steps: int, integrators: tuple[str, ...]) -> CommandResult:
    """Follow the energy H = Σ log cosh(M h + q) of h' = tanh(M h + q), and its drift under each integrator.

    \b
    dynlab energy --matrix zero
    dynlab energy --matrix diff --step-size 0.05 --integrator euler --integrator rk4
    dynlab energy antisymmetric-har2
    dynlab energy runs/x/*.ckpt --over step
    """
    from dynlab.systems.planar import STARTS

    begin = source.initial_states or (STARTS if source.matrix and source.system.state_size == 2 else None)
    asked = {"at": source.held["at"], "initial_state": begin, "step_size": source.step_size, "steps": steps}
    asked |= {"integrators": integrators or INTEGRATORS.choices} | source.computing
    return measured(source, "energy", "Solving the flow", (source.system, source.mean_of), asked)
