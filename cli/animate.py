"""`dynlab animate`: a portrait under a parameter, spectra over a training, states among fixed points, as a movie."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dynlab.errors import UserError
from dynlab.progress import through

from .analysis import CommandResult, Source, analysis, measured, named, over_step
from .options import ANYTHING, HELD
from .pictures import Movie

Frames = Iterable[Any]  # figures


@analysis(ANYTHING | HELD | {"starts"}, over=False, output="movie")
@click.option("--parameter", metavar="NAME", help="Parameter of a planar system: step_size, W[0,1], r …")
@click.option("--from", "lowest", type=float, help="Beginning of its range.")
@click.option("--to", "highest", type=float, help="End of its range.")
@click.option("--frames", type=click.IntRange(2, 1000), default=40, help="Most frames.")
@click.option("--rate", type=click.IntRange(1, 50), default=10, help="Frames per second.")
def animate(
    source: Source, parameter: str | None, lowest: float | None, highest: float | None, frames: int, rate: int
) -> CommandResult:
    """Make a movie: a phase portrait under a parameter, spectra over a training, or states among fixed points.

    \b
    dynlab animate --matrix diff --parameter step_size --from 0.02 --to 0.2
    dynlab animate runs/x                   spectra at each checkpoint of a run: its folder, or its files
    dynlab animate gru-flipflop             its states among its fixed points, on the principal plane
    dynlab animate gru-flipflop -o memories.mp4
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
    return made._replace(picture=Movie(drawn, rate, hold=rate))


def _portraits(source: Source, parameter: str, values: list[float]) -> tuple[CommandResult, Frames]:
    import xarray as xr

    from dynlab.diagnostics.bifurcation.parameters import varied_system
    from dynlab.diagnostics.phase_plane import phase_plane
    from dynlab.diagnostics.phase_plane.verdict import changes
    from dynlab.plots.movie import phase_frames
    from dynlab.systems.planar import STARTS

    varied = varied_system(source.system, source.visiting, (parameter,), source.at, source.at_step, (values[0],))
    settings: dict[str, Any] = {"starts": source.initial_states or STARTS, "steps": source.steps}

    def portrait(value: float, window: list[list[float]] | None = None) -> xr.Dataset:
        ds = phase_plane(varied.fixed(value).system, window=window, **settings)
        return ds if parameter.startswith("W[") else named(source, ds)  # whose title has the matrix

    with source.working("Following orbits"):
        both = [portrait(values[0]), portrait(values[-1])]
        ends = [[[float(ds[axis][0]), float(ds[axis][-1])] for axis in ("x", "y")] for ds in both]
        window = [[min(low), max(high)] for low, high in (zip(*axis, strict=True) for axis in zip(*ends, strict=True))]
        each = [portrait(value, window) for value in through(values)]
    told = xr.Dataset(attrs={"verdict": changes(each, parameter, values)})
    return CommandResult(told, None, f"{source.name}-{parameter}"), phase_frames(each, parameter, values, both)


def _spectra(source: Source, frames: int) -> tuple[CommandResult, Frames]:
    from dynlab.plots.movie import spectrum_frames

    def spectrum(one: Source) -> CommandResult:
        return measured(one, "spectrum", "Computing spectra", [one.map], one.driven | one.computing)

    made = over_step(spectrum, source, {})
    return made, spectrum_frames(made.dataset, frames)


def _states(source: Source, frames: int) -> tuple[CommandResult, Frames]:
    from dynlab.plots.movie import trajectory_frames

    if not (source.checkpoints or source.starts or source.inputs):
        raise UserError("Nothing moves without inputs from 0: add --parameter, --from and --to, or --start.")
    options = source.driven | source.held | source.computing
    made = measured(source, "geometry", "Searching for fixed points", [source.map], options)
    return made, trajectory_frames(made.dataset, frames)
