"""`dynlab phase`, `explore` and `animate`: portraits of a system, still, in a browser and moving."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError, require_extra
from dynlab.progress import through

from .analysis import CommandResult, Source, analysis, measured, named, over_step
from .options import ANYTHING, COMPUTING, HELD, INTEGRATORS, PLANAR, SHARED, ranges, typed
from .pictures import Movie


@analysis(
    PLANAR | COMPUTING | {"factory", "starts", "steps"},
    optional=True,
    over=False,
    factory={"metavar": "NAME", "help": "Analyse a built-in system (`dynlab list systems`)."},
)
@click.option(
    "--window", metavar="LOW:HIGH,LOW:HIGH", help="Ranges of x and of y to draw.  [default: chosen from the orbits]"
)
def phase(source: Source, window: str | None) -> CommandResult:
    """Draw the phase portrait of a planar system: what its flow does, and what Euler's map makes of it.

    \b
    dynlab phase                            the paper's system with diffusion, --matrix diff
    dynlab phase --matrix "0,1;-1,0" --step-size 0.05
    dynlab phase --flow "y, -x + mu*y*(1 - x^2)" --set mu=1
    dynlab phase --flow "-x + 2*y, -2*x - y" --window -2:2,-2:2      a linear flow
    dynlab figure antisymmetric-1           the eight panels of the paper's Figure 1
    """
    steps = source.steps if "steps" in source.given else None
    own: dict[str, Any] = {"dtype": source.dtype, "device": source.device, "steps": steps}
    if source.subject in ("", "matrix"):
        from dynlab.matrices import SEEDED, planar_matrix

        source = source.having(matrix=source.matrix or "diff")
        exact = planar_matrix(source.matrix, source.seed)  # before what takes seconds to import
        from dynlab.systems.planar import STARTS, STEP_SIZE

        own |= {"matrix": None if source.matrix in SEEDED else exact, "step_size": source.step_size or STEP_SIZE}
        own |= {"starts": STARTS, "steps": source.steps}
    elif source.system.state_size != 2:
        raise UserError(f"A portrait has two states, and {source.name} has {source.system.state_size}: try `lyapunov`.")
    own |= {"starts": source.starts} if source.starts else {}
    own |= {} if window is None else {"window": ranges("--window", window, 2)}
    return measured(source, "phase_plane", "Following orbits", [source.system], own)


@analysis(ANYTHING | HELD | {"starts"}, optional=True, over=False, output="page")
@click.option(
    "--state",
    metavar="LINK",
    help="Open in this state alone: a link of the explorer, or what follows its #.",
)
@click.option("--integrator", type=INTEGRATORS, help="Integrator of --matrix or --flow.  [default: euler]")
@click.option("--certify", is_flag=True, help='Prove the fixed points of CKPT (pip install ".[certify]").')
def explore(source: Source, state: str | None, integrator: str | None, certify: bool) -> CommandResult:
    """Write the phase-plane explorer: one HTML page for any browser, which needs no server and no network.

    A flow and the map that an integrator makes of it side by side, with sliders for all that they depend on; click to
    start an orbit, type equations of your own. For a checkpoint the page holds the weights: a click runs the network
    itself among its fixed points, and pulses of the input drive it.

    \b
    dynlab explore                          opens with the paper's system with diffusion
    dynlab explore --matrix "0,1;-1,0" --step-size 0.05 -o class.html
    dynlab explore --flow "y, -x + mu*y*(1 - x^2)" --set mu=1
    dynlab explore --matrix zero --step-size 0.5 --integrator implicit-midpoint
    dynlab explore gru-flipflop --certify   a network of the zoo, to be driven from memory to memory
    dynlab explore gru-flipflop --state "LINK"   the same where a link of its page left it
    """
    fragment = (state or "").rpartition("#")[2]
    if state is not None and not source.checkpoints and source.given - {"quiet", "state"}:
        raise UserError("--state says all that the explorer opens with: leave out the other options.")
    if source.subject in ("factory", "map_") or (integrator if source.checkpoints else certify):
        raise UserError(
            "The explorer shows --matrix or --flow (--integrator), or a network in a file CKPT (--certify)."
        )
    if source.checkpoints:
        return _of_network(source, certify, fragment)
    import xarray as xr

    from dynlab.explore import explorer_page

    page = explorer_page(fragment or _planar(source, integrator or "euler"))
    return CommandResult(xr.Dataset(), page, source.name if source.subject else "phase-plane")


def _planar(source: Source, integrator: str) -> str:
    """Return the fragment of the planar system that is named."""
    from dynlab import schema
    from dynlab.explore.page import equations_fragment, planar_fragment
    from dynlab.systems.planar import STARTS, STEP_SIZE

    how: dict[str, Any] = {"steps": source.steps, "integrator": integrator, "step_size": source.step_size or STEP_SIZE}
    how |= {"starts": source.starts or STARTS}
    if source.flow is not None:
        if source.cell.state_size != 2:
            raise UserError(f"The explorer shows two states, and these are {source.cell.state_size} equations.")
        if not source.starts:  # which equations of one's own have elsewhere
            found = schema.settings(measured(source, "phase_plane", "Following orbits", [source.cell], {}).dataset)
            how |= {"starts": found["starts"], "half": max(abs(end) for axis in found["window"] for end in axis)}
        return equations_fragment(source.flow, dict(source.config), **how)
    if integrator != "euler" and source.kind in ("vanilla", "linear"):
        raise UserError(f"A {source.kind} system is no step of an integrator: leave out --integrator or --kind.")
    return planar_fragment(source.matrix or "diff", source.kind or "feedback", seed=source.seed, **how)


def _of_network(source: Source, certify: bool, fragment: str) -> CommandResult:
    """Return the page of a trained network: where its states and fixed points lie comes from `dynlab.geometry`."""
    if certify:
        require_extra("flint", "certify")  # before the search, which takes longer
    from dynlab.explore import explorer_page
    from dynlab.explore.network import embedded

    asked = source.driven | source.held | source.computing
    doing = "Following trajectories, searching for fixed points"
    ds = measured(source, "geometry", doing, [source.map], asked).dataset
    options = typed({name: getattr(source, name) for name in SHARED if name in source.given})
    line = shlex.join(["dynlab", "explore", *source.checkpoints, *options, *["--certify"] * certify])
    with source.working("Proving fixed points" if certify else "Writing the network"):
        network = embedded(source.map, ds, source.name, certify=certify, command=line)
    return CommandResult(ds, explorer_page(fragment, network), source.name)


@analysis(ANYTHING | HELD | {"starts"}, over=False, output="movie")
@click.option("--parameter", metavar="NAME", help="Parameter of a planar system: step_size, W[0,1], r …")
@click.option("--from", "lowest", type=float, help="Start of the parameter's range.")
@click.option("--to", "highest", type=float, help="End of the parameter's range.")
@click.option("--frames", type=click.IntRange(2, 1000), default=40, help="Largest number of frames.")
@click.option("--rate", type=click.IntRange(1, 50), default=10, help="Frames per second.")
def animate(
    source: Source, parameter: str | None, lowest: float | None, highest: float | None, frames: int, rate: int
) -> CommandResult:
    """Make a movie: a phase portrait under a parameter, spectra over a training, or states among fixed points.

    \b
    dynlab animate --matrix diff --parameter step_size --from 0.02 --to 0.2
    dynlab animate runs/x                   spectra at each checkpoint of a run: its folder, or its files
    dynlab animate gru-flipflop             its states among its fixed points, on the principal plane
    dynlab animate gru-flipflop -o memories.gif
    """
    if parameter is not None and lowest is not None and highest is not None:
        values = [lowest + (highest - lowest) * k / (frames - 1) for k in range(frames)]
        made, drawn = _portraits(source, parameter, values)
    elif (parameter, lowest, highest) != (None, None, None):
        raise UserError("A sweep has all of --parameter, --from and --to: add those that are missing.")
    elif len(source.checkpoints) > 1 or any(Path(each).is_dir() for each in source.checkpoints):
        made, drawn = _spectra(source, frames)
    else:
        made, drawn = _states(source, frames)
    return made._replace(picture=Movie(drawn, rate))


def _portraits(source: Source, parameter: str, values: list[float]) -> tuple[CommandResult, Iterable[Any]]:
    import xarray as xr

    from dynlab.diagnostics.bifurcation.parameters import varied_system
    from dynlab.diagnostics.phase_plane import phase_plane
    from dynlab.diagnostics.phase_plane.verdict import changes
    from dynlab.plots.movie import phase_frames

    varied = varied_system(source.system, source.visiting, (parameter,), source.at, source.at_step, (values[0],))
    steps = source.steps if "steps" in source.given else None
    settings: dict[str, Any] = {"starts": source.starts or None, "steps": steps}

    def portrait(value: float, window: list[list[float]] | None = None) -> xr.Dataset:
        ds = phase_plane(varied.fixed(value).system, window=window, **settings)
        return ds if parameter.startswith("W[") else named(source, ds)  # whose title has the matrix

    with source.working("Following orbits"):
        both = [portrait(values[0]), portrait(values[-1])]
        axes = [[ds[axis].values for ds in both] for axis in ("x", "y")]
        window = [[min(map(min, axis)), max(map(max, axis))] for axis in axes]
        each = [portrait(value, window) for value in through(values)]
    told = xr.Dataset(attrs={"verdict": changes(each, parameter, values)})
    return CommandResult(told, None, f"{source.name}-{parameter}"), phase_frames(each, parameter, values, both)


def _spectra(source: Source, frames: int) -> tuple[CommandResult, Iterable[Any]]:
    from dynlab.plots.movie import spectrum_frames

    from .jacobians import spectrum

    made = over_step(spectrum.function, source, {"times": None, "no_conditions": False})
    return made, spectrum_frames(made.dataset, frames)


def _states(source: Source, frames: int) -> tuple[CommandResult, Iterable[Any]]:
    from dynlab.plots.movie import trajectory_frames

    if not (source.checkpoints or source.starts or source.inputs):
        raise UserError("Nothing moves without inputs from 0: add --parameter, --from and --to, or --start.")
    options = source.driven | source.held | source.computing
    made = measured(source, "geometry", "Searching for fixed points", [source.map], options)
    return made, trajectory_frames(made.dataset, frames)
