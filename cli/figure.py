"""`dynlab figure`: a figure of the sources, with what was claimed and what was measured."""

from pathlib import Path
from typing import Any

import click

from dynlab.errors import lookup
from dynlab.progress import working

from .movie import MOVIE_SUFFIXES, Movie, save_movie
from .options import Command, names_in, shared
from .output import FIGURE_SUFFIXES, Output, echo, save_figure

FOLDER = Path("figures/gallery")
MOVING = ("movie",)  # figures that are the last frame of a movie
RATE, HOLD = 6.25, 12  # frames a second, and how many of them long the last one stands
GIF_DPI, MP4_DPI = 60, 100


@click.command(cls=Command, params=shared(("output", "overwrite", "quiet", "size", "dpi", "theme")))
@click.argument("name", shell_complete=names_in("dynlab.figures:FIGURES"))
@click.option("--fast", is_flag=True, help="The same figure from less data, in seconds.")
@click.option("--recompute", is_flag=True, help="Compute what is drawn again, and keep it.")
def figure(
    name: str, output: Path | None, fast: bool, recompute: bool, overwrite: bool, quiet: bool, **look: Any
) -> None:
    """Draw the figure NAME of the sources, or all of them, below figures/gallery/.

    \b
    antisymmetric-1   AntisymmetricRNN, Figure 1: eight planar phase portraits
    antisymmetric-1h  its panel (h) in detail
    antisymmetric-2   AntisymmetricRNN, Figure 2: eigenvalues of the end-to-end Jacobian over time
    collapsed-rule    the NumPy RNN tutorial: its "full derivative" beside the gradient
    copying           copying memory: orthogonal networks, an LSTM, and no memory
    copying-modes     the singular values of their gradients while they learn it
    critical-step     its companion: where Euler's map of W_diff loses stability
    equilibria        a review's six kinds of equilibrium
    ernn-1            ERNN, Figure 1: RNN, FastRNN and ERNN under a random walk
    ernn-2            ERNN, Figure 2: the gradient while RNN and ERNN learn
    ernn-3            ERNN, Figure 3: the block of one inner step, redrawn
    ernn-4            ERNN, Figure 4: training convergence on HAR-2
    ernn-5            ERNN, Figure 5: the eigenvalues that Lemma 2 wants negative
    ernn-6            ERNN, Figure 6: linear convergence to the equilibrium
    flipflop          eight memories and the saddles between them, in a trained GRU
    har2              HAR-2: test accuracy after every epoch, and the published numbers
    integrators       what five integrators make of W₀'s rotation, and of its energy
    movie             the NumPy RNN tutorial: its training for three losses, as a GIF too; an MP4 with -o
    time-varying      eigenvalues stable at every moment, and growth all the same
    zoo               spectra and gradients of the trained networks side by side
    all               all of them, and a README that shows them

    \b
    dynlab figure critical-step
    dynlab figure movie -o sine.mp4
    """
    from dynlab.figures import FIGURES
    from dynlab.figures.pages import gallery_page
    from dynlab.files import write_text
    from dynlab.plots.style import asked

    if name == "all" and (output is not None or recompute):
        raise click.UsageError("--output and --recompute are of one figure: name it in place of `all`.")
    if fast and recompute:
        raise click.UsageError("--fast keeps nothing: leave it or --recompute out.")
    suffixes = FIGURE_SUFFIXES + MOVIE_SUFFIXES if name in MOVING else FIGURE_SUFFIXES
    files = Output("figure", suffixes, output=output, overwrite=overwrite, quiet=quiet, **look)
    names = list(FIGURES) if name == "all" else [name]
    made = {}
    for each in names:
        make = lookup(FIGURES | {"all": ""}, each, "figure")
        with working(f"Drawing {each}", quiet=quiet), asked(files.size, files.theme):
            made[each] = make(fast=fast, recompute=recompute)
        path = output or FOLDER / f"{each}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if (frames := made[each].animation) is not None:
            movie = path if path.suffix in MOVIE_SUFFIXES else path.with_suffix(".gif")
            dpi = files.dpi or (GIF_DPI if movie.suffix == ".gif" else MP4_DPI)
            save_movie(Movie(frames(), RATE, HOLD), movie, dpi, files.theme)
        if path.suffix in FIGURE_SUFFIXES:
            save_figure(made[each].figure, path, files.dpi, files.theme, small=output is None)
        echo(f"{made[each].title}. {made[each].measured}")
        files.log(f"Figure: {path}")
    if name == "all":
        write_text(FOLDER / "README.md", gallery_page(made))
