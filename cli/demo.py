"""`dynlab demo`: the whole job on what ships with dynlab."""

from pathlib import Path

import click

from dynlab.errors import lookup
from dynlab.progress import working

from .options import Command, shared
from .output import echo, print_table, save_figure

FOLDER = Path("figures/demo")
FIGURES = ("antisymmetric-1", "ernn-1", "zoo")


@click.command(cls=Command, hidden=True, params=shared(("quiet", "dpi", "theme")))
def demo(quiet: bool, dpi: int | None, theme: str) -> None:
    """Run the whole job on the networks and real sequences that ship with dynlab, in under a minute.

    Draws the eight phase portraits, the equilibrium manifold and the comparison of the trained networks below
    figures/demo/, saves the numbers beside them, and prints the comparison as a table.
    """
    from dynlab import io
    from dynlab.figures import FIGURES as SCRIPTS
    from dynlab.plots.style import asked

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        with working(f"Drawing {name}", quiet=quiet), asked(None, theme):
            made = lookup(SCRIPTS, name, "figure")()
        save_figure(made.figure, FOLDER / f"{name}.png", dpi, theme)
        for result, ds in made.results.items():
            io.save(ds, FOLDER / f"{name}-{result}.nc", overwrite=True)
        echo(f"{made.title}. {made.measured}\n{FOLDER / f'{name}.png'}\n")
    print_table(made.results["table"].to_dataframe().T.rename_axis("").reset_index())
