"""`dynlab phase`: the phase portrait of a planar system."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import click

from dynlab.errors import UserError

from .options import output_options
from .output import Output

MANY = 5000  # steps: more may take longer than two seconds


@click.command()
@click.option(
    "--matrix",
    metavar="MATRIX",
    help='plus, minus, zero, diff, identity, orthogonal, random, or entries "a,b;c,d".  [default: diff]',
)
@click.option(
    "--kind",
    type=click.Choice(["feedback", "vanilla", "flow"]),
    help="h + ε tanh(W h), tanh(W h), or the flow h' = tanh(W h).  [default: feedback]",
)
@click.option("--step", type=float, default=0.1, show_default=True, help="ε in seconds.")
@click.option("--steps", type=click.IntRange(min=1), default=50, show_default=True, help="Length of the orbits.")
@click.option("--start", "starts", multiple=True, metavar="X,Y", help="Repeatable.  [default: the paper's three]")
@click.option(
    "--panel",
    type=click.Choice([*"abcdefgh", "all"]),
    help="A panel of the AntisymmetricRNN paper's Figure 1, in place of --matrix and --kind.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of --matrix orthogonal and random."
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
)
@output_options
def phase(
    output: Output,
    matrix: str | None,
    kind: str | None,
    step: float,
    steps: int,
    starts: tuple[str, ...],
    panel: str | None,
    seed: int,
    device: str,
    dtype: str,
) -> None:
    """Draw the phase portrait of a planar system: what its flow does, and what Euler's map makes of it.

    \b
    dynlab phase --matrix diff              the paper's system with diffusion
    dynlab phase --matrix "0,1;-1,0" --step 0.05
    dynlab phase --panel all                all eight panels of the paper's Figure 1
    """
    if panel and (matrix is not None or kind):
        raise UserError("--panel chooses the matrix and the kind: leave out --matrix and --kind, or --panel.")
    from dynlab.diagnostics.phase_plane.panels import phase_panels, planar_portrait
    from dynlab.systems.planar import PANELS, STARTS

    settings: dict[str, Any] = {
        "starts": [_start(text) for text in starts] or STARTS,
        "steps": steps,
        "step_size": step,
        "dtype": dtype,
        "device": device,
    }
    if panel == "all":
        from dynlab.plots.phase_panels import plot_phase_panels

        with output.working("Drawing eight phase portraits"):
            panels = phase_panels(**settings)
        output.emit(panels, plot_phase_panels, "panels")
        return
    from dynlab.plots.phase_plane import plot_phase_plane

    if panel:
        chosen = next(one for one in PANELS if one.letter == panel)
        matrix, kind, seed = chosen.matrix, chosen.kind, chosen.seed
    matrix, kind = "diff" if matrix is None else matrix, kind or "feedback"
    with output.working("Following orbits") if steps > MANY else nullcontext():
        portrait = planar_portrait(matrix, kind, seed, **settings)
    output.emit(portrait, plot_phase_plane, f"panel-{panel}" if panel else _file_name(matrix, kind))


def _start(text: str) -> tuple[float, float]:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError as error:
        raise UserError(f"--start takes two numbers X,Y, such as 0.5,-0.75; got {text!r}.") from error
    return x, y


def _file_name(matrix: str, kind: str) -> str:
    """The matrix's name, or its entries without what file names should not hold."""
    name = re.sub(r"[^\w.,+-]+", "_", matrix.replace(";", "_")).replace(",", "_")
    return name if kind == "feedback" else f"{name}-{kind}"
