"""`dynlab figure`, `table` and `demo`: what the sources claim beside what was measured."""

from pathlib import Path
from typing import Any

import click

from dynlab.errors import lookup
from dynlab.files import check_place, write_text
from dynlab.progress import through, working

from .options import FOLDER, Command, names_in, shared
from .output import DATA_SUFFIXES, Output, check_file, echo, print_json, print_table
from .pictures import Movie, save_figure, save_movie

GALLERY, DEMO = Path("figures/gallery"), Path("figures/demo")
IN_DEMO = ("antisymmetric-1", "ernn-1", "zoo")
RATE, MOVIE_DPI = 6.25, 60  # frames a second


@click.command(cls=Command, params=shared(("output", "overwrite", "quiet", "size", "dpi", "theme")))
@click.argument("name", shell_complete=names_in("dynlab.figures:FIGURES"))
@click.option("--fast", is_flag=True, help="The same figure from less data, in seconds.")
@click.option("--recompute", is_flag=True, help="Compute what is drawn again, and keep it.")
def figure(name: str, output: Path | None, fast: bool, recompute: bool, **said: Any) -> None:
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
    movie             the NumPy RNN tutorial: its training for three losses, and beside it the movie of it, a GIF
    time-varying      eigenvalues stable at every moment, and growth all the same
    zoo               spectra and gradients of the trained networks side by side
    all               all of them, and a README that shows them

    \b
    dynlab figure critical-step
    dynlab figure movie -o sine.png
    """
    from dynlab.figures import FIGURES
    from dynlab.figures.pages import gallery_page

    if name == "all" and (output is not None or recompute):
        raise click.UsageError("--output and --recompute are of one figure: name it in place of `all`.")
    files = Output("figure", output=output, **said)
    made = {}
    for each in FIGURES if name == "all" else [name]:
        path = output or GALLERY / f"{each}.png"
        made[each] = _drawn(each, path, files, small=output is None, fast=fast, recompute=recompute)
    if name == "all":
        write_text(GALLERY / "README.md", gallery_page(made))


def _drawn(name: str, path: Path, files: Output, *, small: bool = False, **how: Any) -> Any:
    """Draw a figure, and its movie if it has one; return what its script makes."""
    from dynlab.figures import FIGURES
    from dynlab.plots.style import asked

    with working(f"Drawing {name}", quiet=files.quiet), asked(files.size, files.theme):
        made = lookup(FIGURES | {"all": ""}, name, "figure")(**how)
    path.parent.mkdir(parents=True, exist_ok=True)
    if made.animation is not None:
        movie = path.with_suffix(".gif")
        check_place(movie, overwrite=files.overwrite or small)
        save_movie(Movie(made.animation(), RATE), movie, files.dpi or MOVIE_DPI, files.theme)
        files.log(f"Movie: {movie}")
    save_figure(made.figure, path, files.dpi, files.theme, small=small)
    echo(f"{made.title}. {made.measured}")
    files.log(f"Figure: {path}")
    return made


@click.command(cls=Command, hidden=True, params=shared(("quiet", "dpi", "theme")))
def demo(**said: Any) -> None:
    """Run the whole job on the networks and real sequences that ship with dynlab, in under a minute.

    Draws the eight phase portraits, the equilibrium manifold and the comparison of the trained networks below
    figures/demo/, saves the numbers beside them, and prints the comparison as a table.
    """
    from dynlab import io

    for name in IN_DEMO:
        made = _drawn(name, DEMO / f"{name}.png", Output("demo", **said))
        for result, ds in made.results.items():
            io.save(ds, DEMO / f"{name}-{result}.nc", overwrite=True)
    print_table(made.results["table"].to_dataframe().T.rename_axis("").reset_index())


@click.command()
@click.argument("name", shell_complete=names_in("dynlab.figures:TABLES"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
@click.option("--save", "data", type=FOLDER, metavar="FILE", help="Save the numbers: .nc or .zarr.")
@click.option("--output", "-o", type=FOLDER, metavar="PAGE", help="Write a Markdown page: .md.")
@click.option("--overwrite", is_flag=True, help="Replace the file that --save or --output names.")
@click.option("--recompute", is_flag=True, help="Compute the kept numbers again, and keep them.")
def table(name: str, as_json: bool, data: Path | None, output: Path | None, overwrite: bool, recompute: bool) -> None:
    """Print the table NAME of the sources: published numbers beside what was measured.

    \b
    antisymmetric-1  AntisymmetricRNN, Table 1: MNIST pixel by pixel and permuted
    antisymmetric-2  AntisymmetricRNN, Table 2: CIFAR-10 pixel by pixel and noise-padded
    asrnn-mnist      asRNN: sequential and permuted MNIST
    asrnn-ptb        asRNN: PTB by characters
    audit            what holds of the sources' claims and what does not
    copying          asRNN: copying memory, losses in place of the source's curves
    equilibria       a review's six kinds of equilibrium
    ernn-1           ERNN, Table 1: data sets
    ernn-2           ERNN, Table 2: how short what matters is
    ernn-3           ERNN, Table 3: accuracies, sizes and times
    ernn-4           ERNN, Table 4: PTB by words
    ernn-5           ERNN, Table 5: ReLU and sigmoid
    ernn-6           ERNN, Table 6: PTB by words, with test times
    har2             HAR-2: is each accuracy reached without choosing the epoch on the test split?
    speed            a review's seconds for an epoch of MNIST
    all              all of them

    \b
    dynlab table ernn-3
    """
    import pandas as pd

    from dynlab import io
    from dynlab.figures import TABLES
    from dynlab.figures.pages import audit_page, tables_page

    check_file(data, "--save", DATA_SUFFIXES, overwrite=overwrite)
    check_file(output, "--output", (".md",), overwrite=overwrite)
    if name == "all" and (as_json or data or recompute):
        raise click.UsageError("--json, --save and --recompute are of one table: name it in place of `all`.")
    names = list(TABLES) if name == "all" else [name]
    with working("Making the tables" if len(names) > 1 else f"Making the table {name}"):
        made = {each: lookup(TABLES | {"all": ""}, each, "table")(recompute=recompute) for each in through(names)}
    if data:
        io.save(made[name].dataset, data, overwrite=overwrite)
    if as_json:
        print_json(io.as_document(made[name].dataset))
    else:
        for one in made.values():
            echo(f"{one.title}. Claimed: {one.claim}")
            print_table(pd.DataFrame(one.rows, columns=one.headings))
            echo(one.measured)
    if output:
        write_text(output, audit_page(made[name]) if name == "audit" else tables_page(made))
