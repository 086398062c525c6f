"""`dynlab fixed-points`, `modes`, `geometry` and `lyapunov-function`: where a network can stay, and what it keeps."""

import functools
from pathlib import Path
from typing import Any

import click

import dynlab as dl
from dynlab.errors import UserError, require_extra

from .analysis import CommandResult, Source, analysis, measured
from .options import ANYTHING, COUNT, FOLDER, HELD, NOT_NEGATIVE, POSITIVE, RANDOM_STARTS


@analysis(ANYTHING | HELD)
@click.option("--starts", type=COUNT, help="Random starts of a round.  [default: 256, of large layers fewer]")
@click.option("--slow-points", type=POSITIVE, metavar="Q", help="Also keep slow points, with ½‖F(h) − h‖² up to Q.")
@click.option("--certify", is_flag=True, help='Also prove what is found (pip install ".[certify]").')
@click.option(
    "--certificates",
    type=FOLDER,
    metavar="FOLDER",
    help="Write the proofs there, for python -m dynlab.certificate_check FILE; implies --certify.",
)
def fixed_points(source: Source, certify: bool, certificates: Path | None, **own: Any) -> CommandResult:
    """Find, verify and classify the fixed points of a network whose input is held constant, or a flow's equilibria.

    Half of the starts are states along the trajectories that --inputs drive, the others are random. Each fixed point
    is verified with SciPy's fsolve; a start that does not converge is never counted.

    \b
    dynlab fixed-points model.pt
    dynlab fixed-points model.pt --at mean --slow-points 1e-6
    dynlab fixed-points model.pt --certify --certificates proofs
    """
    certify = certify or certificates is not None
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    asked = own | {"certify": certify, "certificates": certificates} | source.held | source.computing
    doing = "Searching for fixed points" + ", proving them" * certify
    return measured(source, "fixed_points", doing, (source.system, source.visiting), asked)


SHOWN = 12  # modes: all eigenvectors of a network at all its fixed points are megabytes


@analysis(ANYTHING | HELD)
@RANDOM_STARTS
@click.option("-k", type=COUNT, metavar="N", help="Only the N modes of largest modulus.  [default: 12, or all]")
@click.option(
    "--point",
    type=NOT_NEGATIVE,
    metavar="N",
    help="The fixed point drawn in detail, from 0.  [default: those of the verdict]",
)
def modes(source: Source, k: int | None, point: int | None, **own: Any) -> CommandResult:
    """Take a system apart at each fixed point: time constants, frequencies, what drives and what reads each mode.

    Left eigenvectors say what of the input and the state a mode selects, right ones the pattern in which it keeps it.
    Modes that cannot be told apart, or whose growth is undecided, are not interpreted.

    \b
    dynlab modes gru-flipflop --point 25
    dynlab modes model.pt --at mean -k 10
    dynlab modes runs/x/*.ckpt --over step
    """
    arguments = source.system, source.visiting
    asked = own | {"k": k or min(SHOWN, source.system.state_size)} | source.held | source.computing
    asked["readout"] = None if source.found is None else source.found.readout
    found = measured(source, "modes", "Searching for fixed points", arguments, asked)
    points = found.dataset.sizes["fixed_point"]
    if point is not None and point >= max(1, points):
        raise UserError(f"--point counts the fixed points from 0, and {points} were found; got {point}.")
    return found._replace(picture=functools.partial(dl.plot_modes, fixed_point=point))


@analysis(ANYTHING | HELD)
@RANDOM_STARTS
@click.option(
    "--transient",
    type=NOT_NEGATIVE,
    default=0,
    metavar="STEPS",
    help="Steps (seconds of a flow) discarded at the start.",
)
@click.option("--seconds", type=POSITIVE, help="Length of a flow's solutions.  [default: 2,000 steps]")
@click.option(
    "--curve-steps",
    type=COUNT,
    metavar="STEPS",
    help="Number of steps along the curves that leave saddles.  [default: 10,000]",
)
@click.option(
    "--tangent",
    type=NOT_NEGATIVE,
    metavar="N",
    help="Draw the step around fixed point N (counted from 0) beside its linear map instead.",
)
def geometry(source: Source, tangent: int | None, **own: Any) -> CommandResult:
    """Show the space of a system's states: principal components, their dimension, and the fixed points among them.

    Fixed points are filled where they are stable and open where not; lines show the directions in which orbits leave
    them, ellipses the planes in which they spiral out.

    \b
    dynlab geometry gru-flipflop
    dynlab geometry model.pt --at mean
    dynlab geometry gru-flipflop --tangent 8
    dynlab geometry runs/x/*.ckpt --over step
    """
    along = {"initial_state": source.starts or None} if isinstance(source.system, dl.Flow) else source.driven
    asked = along | own | source.held | source.computing
    found = measured(source, "geometry", "Following trajectories, searching for fixed points", [source.system], asked)
    if tangent is None:
        return found
    from dynlab.diagnostics.geometry.tangent_map import tangent_map_among

    around = tangent_map_among(source.system, found.dataset, tangent)
    return CommandResult(around, dl.plot_tangent_map, f"{source.name}-tangent-{tangent}")


@analysis(ANYTHING - {"device", "dtype"} | HELD, name="lyapunov-function")
@RANDOM_STARTS
@click.option(
    "--prove/--no-prove",
    default=None,
    help="Prove the decrease, or only sample it.  [default: --prove up to 256 states]",
)
def lyapunov_function(source: Source, **own: Any) -> CommandResult:
    """Prove around each stable fixed point how far V = (h − h*)ᵀ P (h − h*) decreases: all starts there end at it.

    Needs python-flint (pip install ".[certify]" in the project's folder).

    \b
    dynlab lyapunov-function --matrix diff --step-size 0.05
    dynlab lyapunov-function --matrix diff --kind flow
    dynlab lyapunov-function rnn-har2
    dynlab lyapunov-function runs/x/*.ckpt --over step
    """
    arguments, asked = (source.system, source.visiting), source.held | own | {"seed": source.seed}
    return measured(source, "lyapunov_function", "Proving where the function decreases", arguments, asked)
