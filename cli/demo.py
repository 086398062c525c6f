"""`dynlab demo`: the whole job on what ships with dynlab."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dynlab.errors import lookup

from .columns import print_table
from .options import look_options
from .output import Look, Output, check_folder, save_figure
from .streams import echo

if TYPE_CHECKING:
    import xarray as xr

FOLDER = Path("figures/demo")
FIGURES = ("antisymmetric-1", "ernn-1", "zoo")


@click.command()
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@look_options
def demo(quiet: bool, **look: Any) -> None:
    """Run the whole job on the networks and real sequences that ship with dynlab, in under a minute.

    Draws the eight phase portraits, the equilibrium manifold and the comparison of the trained networks below
    figures/demo/, saves the numbers beside them, and prints the comparison as a table.
    """
    from dynlab import io
    from dynlab.files import make_folder
    from dynlab.gallery import FIGURES as SCRIPTS
    from dynlab.plots.style import asked

    check_folder(FOLDER, "go elsewhere")
    make_folder(FOLDER)
    files = Output("demo", None, None, False, True, quiet, look=Look(**look))
    for name in FIGURES:
        with files.working(f"Drawing {name}"), asked(files.look.size, files.look.theme):
            made = lookup(SCRIPTS, name, "figure")()
        save_figure(made.figure, FOLDER / f"{name}.png", files.look)
        for result, ds in made.results.items():
            io.save(ds, FOLDER / f"{name}-{result}.nc", overwrite=True)
        echo(f"{made.title}. {made.measured}\n")
        files.log(f"Figure: {FOLDER / f'{name}.png'}")
    _print_table(made.results["table"])


def _print_table(comparison: "xr.Dataset") -> None:
    """One row a variable, as the Dataset labels it, one column a network."""
    networks = [str(name) for name in comparison["network"].values]
    rows = [
        [
            variable.attrs["long_name"],
            *(f"{value:.4g}" if variable.dtype.kind == "f" else str(value) for value in variable.values),
        ]
        for variable in comparison.data_vars.values()
    ]
    print_table(["", *networks], rows, networks)
