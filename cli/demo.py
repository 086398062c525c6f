"""`dynlab demo`: the whole job on what ships with dynlab."""

from pathlib import Path

import click

from dynlab.errors import lookup

from .options import OUTPUT, Command, with_options
from .output import Output, echo, print_table, save_figure

FOLDER = Path("figures/demo")
FIGURES = ("antisymmetric-1", "ernn-1", "zoo")


@click.command(cls=Command, hidden=True)
@with_options({name: OUTPUT[name] for name in ("quiet", "dpi", "theme")})
def demo(quiet: bool, dpi: int | None, theme: str) -> None:
    """Run the whole job on the networks and real sequences that ship with dynlab, in under a minute.

    Draws the eight phase portraits, the equilibrium manifold and the comparison of the trained networks below
    figures/demo/, saves the numbers beside them, and prints the comparison as a table.
    """
    from dynlab import io
    from dynlab.figures import FIGURES as SCRIPTS
    from dynlab.plots.style import asked

    FOLDER.mkdir(parents=True, exist_ok=True)
    files = Output("demo", quiet=quiet)
    for name in FIGURES:
        with files.working(f"Drawing {name}"), asked(None, theme):
            made = lookup(SCRIPTS, name, "figure")()
        save_figure(made.figure, FOLDER / f"{name}.png", dpi, theme)
        for result, ds in made.results.items():
            io.save(ds, FOLDER / f"{name}-{result}.nc", overwrite=True)
        echo(f"{made.title}. {made.measured}\n")
        files.log(f"Figure: {FOLDER / f'{name}.png'}")
    print_table(made.results["table"].to_dataframe().T.rename_axis("").reset_index())
