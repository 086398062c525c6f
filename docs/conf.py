"""Configure Sphinx (`make docs`): the repository's own pages, and those that are written here at each build.

The source folder is the repository itself, so that a link between pages leads to the same place on the site and in the
repository. What is written at the build goes to docs/generated/, which git ignores.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

import dynlab
from dynlab.cli import COMMANDS
from dynlab.errors import lookup
from dynlab.explore import explorer_page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from public_names import DIAGNOSTICS, PLACES, PLOTS  # noqa: E402

GENERATED = ROOT / "docs" / "generated"
REPORTS = ROOT / "build" / "reports"
REPORTED = ("gru-flipflop", "lstm-har2", "antisymmetric-har2")

project, author = "dynlab", "the authors of dynlab"
release = version = dynlab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/diagnostics/*.md",
    "docs/generated/*.md",
    "notebooks/*.ipynb",
    "figures/gallery/README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".venv*", "build", "runs", "dynlab", "cli", "tests", "**/.ipynb_checkpoints"]
html_theme = "pydata_sphinx_theme"
html_title = "dynlab"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "search_as_you_type": True,
}
html_sidebars = {"**": ["globaltoc.html"]}
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"  # a lesson is run again where it has changed
nb_execution_cache_path = str(ROOT / "build" / "lessons")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
autodoc_typehints = "none"  # the docstrings say shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False

SYSTEMS_API = ("create", "from_function", "from_module", "planar_matrix", "planar_system", "Map", "Flow", "Euler")
SYSTEMS_API += ("EquationMap", "EquationFlow", "load", "save_checkpoint")
GROUPS = {
    "Systems": SYSTEMS_API,
    "What drives them": ("driving_inputs", "simulate"),
    "Diagnostics": tuple(DIAGNOSTICS),
    "Pictures": tuple(PLOTS),
}


def reference() -> str:
    """Every public name of `dynlab`, from its docstring."""
    grouped = [name for names in GROUPS.values() for name in names]
    rest = {"Results and training": tuple(name for name in dynlab.__all__ if name not in grouped)}
    parts = ["# Reference\n\nAll of it is reached as `import dynlab as dl`; what follows comes from the docstrings.\n"]
    for heading, names in {**GROUPS, **rest}.items():
        parts.append(f"## {heading}\n")
        for name in names:
            kind = "class" if isinstance(getattr(dynlab, name), type) else "function"
            parts.append(f"### dl.{name}\n\n```{{eval-rst}}\n.. auto{kind}:: {PLACES[name]}.{name}\n```\n")
    return "\n".join(parts)


def commands() -> str:
    """The help of every command, with all options, as the terminal prints it."""
    parts = ["# Command reference\n\nWhat `dynlab COMMAND --help` prints.\n"]
    for name in COMMANDS:
        command = lookup(COMMANDS, name, "command")
        context = click.Context(command, info_name=f"dynlab {name}", max_content_width=100, terminal_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def explorer() -> str:
    """The page of `dynlab explore` in a frame."""
    return (
        "# Try the explorer\n\nThe page of `dynlab explore`, as it opens ([what it does](../explore.md)).\n\n"
        '```{raw} html\n<iframe src="../../explorer.html" title="phase-plane explorer" '
        'style="width:100%;height:85vh;border:0"></iframe>\n```\n'
    )


def reports() -> str:
    """The pages of `dynlab report` that lie in `build/reports`, each in a frame."""
    parts = ["# Three reports\n\nPages of `dynlab report`, as they are mailed ([what is in them](../report.md)).\n"]
    for name in REPORTED:
        frame = (
            f'```{{raw}} html\n<iframe src="../../reports/{name}.html" title="report of {name}" '
            'style="width:100%;height:85vh;border:0"></iframe>\n```\n'
        )
        shown = (
            frame
            if (REPORTS / f"{name}.html").exists()
            else "This build was told to run nothing; the command makes it.\n"
        )
        parts.append(f"## {name}\n\n`dynlab report {name}`\n\n{shown}")
    return "\n".join(parts)


def make_reports(app: Any) -> None:
    """Make the missing reports, if the lessons are run too."""
    for name in REPORTED if app.config.nb_execution_mode != "off" else ():
        path = REPORTS / f"{name}.html"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "dynlab", "report", name, "-o", path], check=True)


def variables() -> str:
    """Every diagnostic's variables with their dimensions, units and long names, from a small result of each."""
    from small_results import call

    parts = ["# All variables\n\nWhat each Dataset holds; a unit stands in brackets where it is not 1.\n"]
    for name in DIAGNOSTICS:
        positional, keywords = call(name)
        ds = getattr(dynlab, name)(*positional, **keywords)
        rows = ["| variable | what it is |", "|---|---|"]
        for variable in ds.data_vars.values():
            shape = f"({', '.join(map(str, variable.dims))})" if variable.dims else ""
            unit = "" if variable.attrs["units"] == "1" else f" ({variable.attrs['units']})"
            rows.append(
                f"| `{variable.name}{shape}` | {variable.attrs['long_name'].replace('|', chr(92) + '|')}{unit} |"
            )
        parts.append(f"## {name}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


PAGES = {"reference": reference, "commands": commands, "explorer": explorer, "reports": reports, "variables": variables}


def write_pages(app: Any) -> None:
    """Write the generated pages before Sphinx reads them."""
    GENERATED.mkdir(exist_ok=True)
    for name, text in PAGES.items():
        path, page = GENERATED / f"{name}.md", text()
        if not path.exists() or path.read_text(encoding="utf-8") != page:  # so that only what changed is built again
            path.write_text(page, encoding="utf-8")


def keep_bars(app: Any, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escape bars: a modulus in a docstring, a substitution in reStructuredText."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def finish(app: Any, error: Exception | None) -> None:
    """Copy the explorer and the reports beside the site, and write a first page that leads to the index."""
    if error is None:
        if REPORTS.exists():
            shutil.copytree(REPORTS, Path(app.outdir) / "reports", dirs_exist_ok=True)
        (Path(app.outdir) / "explorer.html").write_text(explorer_page(), encoding="utf-8")
        (Path(app.outdir) / "index.html").write_text(
            '<!doctype html><meta charset="utf-8"><title>dynlab</title>'
            '<meta http-equiv="refresh" content="0; url=docs/index.html">',
            encoding="utf-8",
        )


def formula(display: str) -> tuple[Any, None]:
    """A formula as MathML, which browsers draw themselves: the site loads nothing from elsewhere."""

    def visit(page: Any, node: Any) -> None:
        from docutils.nodes import SkipNode
        from latex2mathml.converter import convert

        page.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
    app.connect("builder-inited", make_reports, priority=400)  # before the page that shows them
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("build-finished", finish)
