"""`dynlab bifurcation`: how fixed points, periodic orbits and equilibria change with a parameter."""

from __future__ import annotations

from typing import Any

import click

from dynlab.errors import UserError

from .network import Network
from .numbers import held_input
from .options import optional_network_options, output_options
from .output import Output
from .pairs import pairs

PLANE, BRANCHES = ("second_from", "second_to", "grid"), ("starts", "values", "observed")


@click.command()
@optional_network_options("factory", "steps", "device", "dtype")
@click.option("--matrix", metavar="MATRIX", help="In place of CKPT: a planar matrix as in `dynlab phase`.")
@click.option("--kind", type=click.Choice(["feedback", "vanilla", "flow"]), help="Of --matrix.  [default: feedback]")
@click.option("--step", type=float, help="Of --matrix: ε in seconds.  [default: 0.1]")
@click.option("--system", metavar="NAME", help="In place of CKPT: a system by name, logistic, henon, lorenz …")
@click.option("--set", "config", multiple=True, metavar="KEY=VALUE", help="A setting of --system: b=0.2.")
@click.option("--parameter", required=True, metavar="NAME", help="r, step_size, W[0,1], W*, input[0], input* …")
@click.option("--from", "lowest", type=float, required=True, help="Where its range begins.")
@click.option("--to", "highest", type=float, required=True, help="Where it ends.")
@click.option("--second", metavar="NAME", help="A second parameter: a map of the plane of both, in place of branches.")
@click.option("--second-from", type=float, help="Where its range begins.")
@click.option("--second-to", type=float, help="Where it ends.")
@click.option("--grid", type=int, help="With --second: points in each direction.  [default: 101]")
@click.option("--at", default="zero", show_default=True, metavar="zero|mean|VALUES", help="The input held constant.")
@click.option("--at-step", type=int, default=-1, show_default=True, help="The step whose parameters are held.")
@click.option("--starts", type=int, help="Of each search for fixed points.  [default: 32]")
@click.option("--max-period", type=int, help="Of doubled orbits, or of --second's.  [default: 8, 16]")
@click.option("--observed", type=click.IntRange(1), help="The coordinate drawn, from 1.  [default: what varies most]")
@click.option("--values", type=int, help="Of the brute-force diagram; 0 leaves it out.  [default: 400, 100]")
@click.option("--largest-state", type=float, default=100.0, show_default=True, help="Beyond, all is cut.")
@click.option(
    "--max-memory", type=click.IntRange(min=1), default=1024, show_default=True, metavar="MIB", help="At once."
)
@output_options
def bifurcation(output: Output, network: Network, second: str | None, max_memory: int, **chosen: Any) -> None:
    """Follow fixed points (of a flow: equilibria) through a parameter, and find every bifurcation on the way.

    Branches are solid where stable and dashed where not, period doublings are followed, and the points that orbits
    visit lie behind them.

    \b
    dynlab bifurcation --matrix diff --parameter step_size --from 0.01 --to 0.2
    dynlab bifurcation --system logistic --parameter r --from 2.5 --to 4
    dynlab bifurcation model.pt --parameter "weight_hh*" --from 0.5 --to 2
    dynlab bifurcation runs/x/*.ckpt --over step --parameter "weight_hh*" --from 0.5 --to 2 --values 0
    dynlab bifurcation --system henon --parameter a --from 0 --to 1.4 --second b --second-from -0.3 --second-to 0.5
    """
    if sum(what is not None for what in (network.found, chosen["matrix"], chosen["system"])) != 1:
        raise UserError("Name what is looked at: a checkpoint, or --matrix diff, or --system logistic.")
    if second is not None:
        output.check_alone("--second")
    system, inputs, name = _system(output, network, chosen)
    asked = {key: chosen[key] for key in ("at_step", "largest_state")}
    asked |= {"seed": network.seed, "max_memory": max_memory * 2**20, "at": held_input(chosen["at"])}
    optional = [*(PLANE[2:] if second else BRANCHES), "max_period"]
    asked |= {key: chosen[key] for key in optional if chosen[key] is not None}
    unfit = [key for key in (BRANCHES if second else PLANE) if chosen[key] is not None]
    if unfit:
        option = f"--{unfit[0].replace('_', '-')}"
        raise UserError(f"{option} goes with{'out' if second else ''} --second: leave one of the two out.")
    ends = (chosen["lowest"], chosen["highest"])
    if second is None:
        from dynlab.diagnostics.bifurcation import bifurcation as follow
        from dynlab.plots.bifurcation import plot_bifurcation

        if "observed" in asked:
            if asked["observed"] > system.state_size:
                raise UserError(
                    f"--observed is one of the state's {system.state_size} coordinates, counted from 1, got "
                    f"{asked['observed']}."
                )
            asked["observed"] -= 1
        with output.working("Following branches"):
            ds = follow(system, inputs, parameter=chosen["parameter"], lowest=ends[0], highest=ends[1], **asked)
        output.emit(ds, plot_bifurcation, name)
        return
    from dynlab.diagnostics.bifurcation.parameter_plane import parameter_plane
    from dynlab.plots.parameter_plane import plot_parameter_plane

    if chosen["second_from"] is None or chosen["second_to"] is None:
        raise UserError(f"--second {second} needs its range: --second-from and --second-to.")
    spans: dict[str, Any] = {
        "parameters": (chosen["parameter"], second),
        "lowest": (ends[0], chosen["second_from"]),
        "highest": (ends[1], chosen["second_to"]),
    }
    with output.working("Covering the plane"):
        plane = parameter_plane(system, inputs, **spans, **asked)
    output.emit(plane, plot_parameter_plane, f"{name}-plane")


def _system(output: Output, network: Network, chosen: dict[str, Any]) -> tuple[Any, Any, str]:
    """The system, what drives it where its mean is held, and its name for the figure."""
    _check_belongs(chosen)
    if chosen["matrix"] is not None:
        from dynlab.systems.planar import STEP_SIZE, planar_matrix, planar_system

        step = STEP_SIZE if chosen["step"] is None else chosen["step"]
        matrix = planar_matrix(chosen["matrix"], network.seed)
        return planar_system(matrix, chosen["kind"] or "feedback", step), None, "matrix"
    if chosen["system"] is not None:
        import torch

        from dynlab.systems import create

        torch.manual_seed(network.seed)
        return create(chosen["system"], **pairs(chosen["config"], "--set")), None, chosen["system"]
    system = network.checkpoint.system
    if chosen["at"] != "mean":
        return system, None, network.name
    driving = network.driving
    output.log(f"The input is held at the mean of {driving.description}.")
    return system, driving.inputs, network.name


def _check_belongs(chosen: dict[str, Any]) -> None:
    """Raise for an option of something else than what is looked at."""
    for owner, options in {"matrix": ("kind", "step"), "system": ("config",)}.items():
        given = [name for name in options if chosen[name] not in (None, ())]
        if given and chosen[owner] is None:
            option = {"config": "set"}.get(given[0], given[0])
            raise UserError(f"--{option} belongs to --{owner}: leave it out, or name --{owner}.")
