"""`dynlab phase`: the phase portrait of a planar system."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured, named
from .options import COMPUTING, PLANAR

MANY = 5000  # steps: more may take longer than two seconds


@analysis(PLANAR | COMPUTING | {"factory", "starts", "steps"}, optional=True)
@click.option(
    "--panel",
    type=click.Choice([*"abcdefgh", "all"]),
    help="A panel of the AntisymmetricRNN paper's Figure 1, in place of --matrix and --kind.",
)
def phase(source: Source, panel: str | None) -> CommandResult:
    """Draw the phase portrait of a planar system: what its flow does, and what Euler's map makes of it.

    \b
    dynlab phase                            the paper's system with diffusion, --matrix diff
    dynlab phase --matrix "0,1;-1,0" --step-size 0.05
    dynlab phase --flow "y, -x + mu*y*(1 - x^2)" --set mu=1
    dynlab phase --panel all                all eight panels of the paper's Figure 1
    """
    if panel and source.given & {"matrix", "kind", "factory", "flow", "map_"}:
        raise UserError("--panel chooses the system: leave it out, or the other options that name one.")
    if source.flow is not None or source.map_ is not None or source.factory is not None:
        return _of_system(source)
    source = replace(source, matrix=source.matrix or "diff")
    from dynlab.matrices import planar_matrix

    planar_matrix(source.matrix or "", source.seed)  # before what takes seconds to import
    from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
    from dynlab.systems.planar import PANELS, STARTS, STEP_SIZE

    settings: dict[str, Any] = {
        "starts": source.initial_states or STARTS,
        "steps": source.steps,
        "step_size": source.step_size or STEP_SIZE,
        "dtype": source.dtype,
        "device": source.device,
    }
    if panel == "all":
        from dynlab.plots.phase_panels import plot_phase_panels

        with source.working("Drawing eight phase portraits"):
            return CommandResult(phase_panels(**settings), plot_phase_panels, "panels")
    from dynlab.plots.phase_plane import plot_phase_plane

    chosen, name = (source.matrix or "", source.kind or "feedback", source.seed), source.name
    if panel:
        one = next(each for each in PANELS if each.letter == panel)
        chosen, name = (one.matrix, one.kind, one.seed), f"panel-{panel}"
    with source.working("Following orbits") if source.steps > MANY else nullcontext():
        ds = planar_portrait(*chosen, **settings)
    drawn = replace(source, matrix=chosen[0], seed=chosen[2])
    return CommandResult(named(drawn, ds), plot_phase_plane, name)


def _of_system(source: Source) -> CommandResult:
    """Return the portrait of typed equations, or of a planar system by name."""
    if source.system.state_size != 2:
        raise UserError(f"A portrait has two states, and {source.name} has {source.system.state_size}: try `basins`.")
    own: dict[str, Any] = {"starts": source.initial_states} if source.starts else {}
    own |= {"steps": source.steps} if "steps" in source.given else {}
    return measured(
        source,
        "phase_plane",
        "Following orbits",
        [source.system],
        own | {"dtype": source.dtype, "device": source.device},
    )
