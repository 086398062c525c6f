"""`dynlab table`: a table of the sources, with what was claimed and what was measured."""

from pathlib import Path

import click

from dynlab.errors import lookup
from dynlab.progress import through, working

from .options import names_in
from .output import DATA_SUFFIXES, check_file, echo, print_json, print_table


@click.command()
@click.argument("name", shell_complete=names_in("dynlab.figures:TABLES"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
@click.option("--save", "data", type=click.Path(path_type=Path), metavar="FILE", help="Save the numbers: .nc or .zarr.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="PAGE", help="Write a Markdown page: .md.")
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
    choices          AntisymmetricRNN: the settings that it leaves open, tried on held-out images
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
    from dynlab.files import write_text

    check_file(data, "--save", DATA_SUFFIXES, overwrite=overwrite)
    check_file(output, "--output", (".md",), overwrite=overwrite)
    if name == "all" and (as_json or data or recompute):
        raise click.UsageError("--json, --save and --recompute are of one table: name it in place of `all`.")
    names = list(TABLES) if name == "all" else [name]
    with working("Making the tables" if len(names) > 1 else f"Making the table {name}"):
        made = {each: lookup(TABLES | {"all": ""}, each, "table")(recompute=recompute) for each in through(names)}
    for one in made.values():
        if data:
            io.save(one.dataset, data, overwrite=overwrite)
        if as_json:
            print_json(io.as_document(one.dataset))
            continue
        echo(f"{one.title}. Claimed: {one.claim}")
        print_table(pd.DataFrame(one.rows, columns=one.headings))
        echo(one.measured)
    if output:
        write_text(output, audit_page(made[name]) if name == "audit" else tables_page(made))
