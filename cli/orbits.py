"""`dynlab lyapunov`, `basins`, `bifurcation`, `energy` and `compare`: orbits, and how alike those of two are."""

from typing import Any

import click

from dynlab.errors import UserError

from .analysis import CommandResult, Source, analysis, measured
from .options import (
    ANYTHING,
    CHECKPOINT,
    COMPUTING,
    COUNT,
    DRIVING,
    GRID,
    HELD,
    INTEGRATORS,
    NOT_NEGATIVE,
    POSITIVE,
    RANDOM_STARTS,
    ranges,
)


@analysis(ANYTHING | {"starts"})
@click.option(
    "--seconds", type=POSITIVE, help="Seconds for which a flow is followed.  [default: 100; up to 10,000 with numba]"
)
@click.option("-k", type=COUNT, metavar="N", help="Only the N largest exponents.  [default: all; 10 of more than 128]")
@click.option(
    "--transient",
    type=click.FloatRange(min=0),
    metavar="STEPS",
    help="Steps (seconds of a flow) discarded at the start; with --covariant also at the end.  "
    "[default: a tenth; a fifth]",
)
@click.option("--largest-state", type=POSITIVE, help="Largest |h_i| that is followed.  [default: 1e8]")
@click.option(
    "--covariant",
    is_flag=True,
    help="Compute covariant vectors instead, and the angles between growing and decaying directions.",
)
def lyapunov(source: Source, transient: float | None, covariant: bool, **own: Any) -> CommandResult:
    """Measure how fast nearby orbits of a network meet or separate: Lyapunov exponents, with their errors.

    Under changing inputs these are conditional exponents, of orbits that share the input, and dynlab also tests
    whether two starts meet. On sequences under 1000 steps they are finite-time exponents.

    \b
    dynlab lyapunov model.pt
    dynlab lyapunov model.pt -k 5 --inputs noise:1.0 --steps 5000 --samples 4
    dynlab lyapunov model.pt --inputs zero --steps 10000
    dynlab lyapunov model.pt --covariant --inputs noise:1.0 --steps 3000 --samples 2
    dynlab lyapunov --system lorenz
    """
    name, suffix = ("covariant_vectors", "-covariant") if covariant else ("lyapunov", "")
    cut = int(transient) if transient is not None and transient.is_integer() else transient
    asked = own | {"transient": cut} | ({"backward_transient": cut} if covariant else {}) | source.computing
    if source.takes_inputs or source.found is not None:
        asked |= source.driven
    else:
        steps = source.steps if "steps" in source.given else None
        asked |= {"initial_state": source.starts or None, "steps": steps}
    return measured(source, name, "Carrying tangent vectors", [source.system], asked, suffix)


@analysis(ANYTHING - {"steps"} | HELD)
@click.option("--grid", type=GRID, help="Starts in each direction.  [default: 151; fewer of a large network]")
@click.option("--extent", type=POSITIVE, help="Half the width of the window.  [default: 3; with CKPT the states' own]")
@click.option("--box", metavar="LOW:HIGH,…", help="Draw random starts from this box, one range a state.")
@click.option(
    "--steps", type=COUNT, default=2000, show_default=True, help="Number of steps for which each start is followed."
)
@click.option(
    "--follow/--no-follow",
    default=None,
    help="Also classify orbits that are not periodic.  [default: on; off for large networks]",
)
@click.option(
    "--max-memory", type=COUNT, default=256, show_default=True, metavar="MIB", help="Most memory to use at once."
)
def basins(source: Source, box: str | None, max_memory: int, **own: Any) -> CommandResult:
    """Draw which start ends where: fixed points, periodic orbits, invariant curves, chaos, and their basins.

    The starts of a network lie on the plane of the two leading principal components of the states that --inputs drives
    it through. From there on its input is held constant.

    \b
    dynlab basins --matrix diff
    dynlab basins model.pt --at mean --grid 101
    dynlab basins --system lorenz --box -20:20,-30:30,0:50
    dynlab basins runs/x/*.ckpt --over step --grid 51
    """
    ends = None if box is None else list(zip(*ranges("--box", box, source.system.state_size), strict=True))
    asked = own | {"box": ends, "max_memory": max_memory * 2**20} | source.held | source.computing
    return measured(source, "basins", "Following every start", (source.system, source.visiting), asked)


@analysis(ANYTHING - {"device", "dtype"} | HELD)
@click.option(
    "--parameter", required=True, metavar="NAME", help="Parameter to vary: r, step_size, W[0,1], W*, input[0], input* …"
)
@click.option("--from", "lowest", type=float, required=True, help="Start of the parameter's range.")
@click.option("--to", "highest", type=float, required=True, help="End of the parameter's range.")
@click.option(
    "--second",
    type=(str, float, float),
    metavar="NAME FROM TO",
    help="A second parameter and its range: a map of the plane of both, in place of branches.",
)
@click.option("--grid", type=GRID, help="With --second: points in each direction.  [default: 101]")
@RANDOM_STARTS
@click.option("--max-period", type=COUNT, help="Longest period that is followed.  [default: 8; with --second 16]")
@click.option("--observed", type=COUNT, help="Coordinate to draw, counted from 1.  [default: what varies most]")
@click.option(
    "--values",
    type=NOT_NEGATIVE,
    help="Number of parameter values of the orbit diagram; 0 leaves it out.  [default: 400, 100]",
)
@click.option("--largest-state", type=POSITIVE, help="Largest |h_i| that is followed.  [default: 100 or more, 1e8]")
@click.option("--max-memory", type=COUNT, default=1024, metavar="MIB", help="Most memory to use at once.")
def bifurcation(source: Source, **own: Any) -> CommandResult:
    """Follow fixed points (of a flow: equilibria) through a parameter, and find every bifurcation on the way.

    Branches are solid where stable and dashed where not, period doublings are followed, and the points that orbits
    visit lie behind them.

    \b
    dynlab bifurcation --matrix diff --parameter step_size --from 0.01 --to 0.2
    dynlab bifurcation --system logistic --parameter r --from 2.5 --to 4
    dynlab bifurcation model.pt --parameter "weight_hh*" --from 0.5 --to 2
    dynlab bifurcation runs/x/*.ckpt --over step --parameter "weight_hh*" --from 0.5 --to 2 --values 0
    dynlab bifurcation --system henon --parameter a --from 0 --to 1.4 --second b -0.3 0.5
    """
    second = own["second"]
    for name in ("starts", "values", "observed") if second else ("grid",):
        if own[name] is not None:
            raise UserError(f"--{name} goes with{'out' if second else ''} --second: leave it out.")
    arguments = source.system, source.visiting
    asked = own | source.held | {"seed": source.seed, "max_memory": own["max_memory"] * 2**20}
    if second:
        name, lowest, highest = second
        asked |= {"parameters": (own["parameter"], name), "parameter": None, "second": None}
        asked |= {"lowest": (own["lowest"], lowest), "highest": (own["highest"], highest)}
        return measured(source, "parameter_plane", "Covering the plane", arguments, asked, "-plane")
    if own["observed"] is not None:
        if own["observed"] > (size := source.system.state_size):
            raise UserError(f"--observed is one of the state's {size} coordinates, from 1; got {own['observed']}.")
        asked["observed"] = own["observed"] - 1
    return measured(source, "bifurcation", "Following branches", arguments, asked)


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

    begin = source.starts or (STARTS if source.matrix and source.system.state_size == 2 else None)
    asked = {"at": source.held["at"], "initial_state": begin, "step_size": source.step_size, "steps": steps}
    asked |= {"integrators": integrators or INTEGRATORS.choices} | source.computing
    return measured(source, "energy", "Solving the flow", (source.system, source.mean_of), asked)


@analysis((CHECKPOINT - {"config"}) | DRIVING | COMPUTING, over=False, pair=True, samples={"default": 64})
@click.option(
    "--other-layer", metavar="LAYER", help="Recurrent layer of the second network.  [default: that of --layer]"
)
@click.option("--delays", type=COUNT, default=1, help="Number of successive states in one observation.")
@click.option("--rank", type=COUNT, help="Number of coordinates to keep.  [default: 99 % of the variance, 10 at most]")
def compare(source: Source, other_layer: str | None, delays: int, rank: int | None) -> CommandResult:
    """Compare the dynamics of two networks, whatever their sizes and the basis of their states.

    The distance is that of dynamical similarity analysis. A linear map is fitted to the states of each, and the two
    maps are laid on each other by the best orthogonal change of basis. If both take inputs of one
    size, the same sequences drive both. A permutation test says whether two runs of one network differ as much.

    \b
    dynlab compare rnn-har2 lstm-har2
    dynlab compare before.pt after.pt --inputs noise:1.0 --steps 200
    """
    first = source.having(checkpoints=source.checkpoints[:1])
    second = source.having(checkpoints=source.checkpoints[1:], layer=other_layer or source.layer)
    alike = second.cell.network_input_size == first.cell.network_input_size
    others = first.driven if alike else second.driven
    named = {f"other_{name}": others[name] for name in ("inputs", "inputs_description")}
    options = named | {"delays": delays, "rank": rank} | first.driven | first.computing
    return measured(first, "compare", "Comparing runs", [first.map, second.map], options, f"-{second.name}")
