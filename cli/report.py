"""`dynlab report`: all that dynlab says of trained networks, in one HTML page."""

from __future__ import annotations

import base64
import importlib.util
import shlex
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dynlab.errors import UserError, in_words, lookup
from dynlab.files import write_text
from dynlab.progress import working

from . import COMMANDS
from .analysis import WRITES, AnalysisCommand, Source
from .options import COMPUTE, Command, networks, shared, typed
from .output import PAGE_SUFFIXES, CommandResult, Output, echo, free_path, print_json
from .pictures import in_few_colours
from .source import OF_CHECKPOINTS

if TYPE_CHECKING:
    from dynlab.report import Part

FORWARDED = (*OF_CHECKPOINTS, "factory", "inputs", "samples", "skip", "data_dir", "at", *COMPUTE)
SHARP = 180  # pixels per inch
TOLD = ("network", "section", "command", "seconds", "problem", "verdict")  # of a part, in JSON
LATE = "the minutes were spent."


class Section(NamedTuple):
    """A section: its title, the question that it answers, its command, and its systems (empty: all)."""

    title: str
    question: str
    arguments: tuple[str, ...]
    systems: tuple[str, ...] = ()


SECTIONS = (  # the most wanted first, which is also the order in which they are made
    Section("Gradient", "How much of a small change is left at the end of a sequence?", ("gradient",)),
    Section("Fixed points", "Where does it stay under a constant input, and is that proved?", ("fixed-points",)),
    Section("Modes", "What does it keep at its fixed points, and what does it read?", ("modes",)),
    Section("Spectrum", "What does one step do to a small change, along what drives it?", ("spectrum",)),
    Section("Lyapunov exponents", "Do nearby orbits meet or separate?", ("lyapunov",)),
    Section("Geometry", "Where do its states lie, and which of its fixed points are near?", ("geometry",)),
    Section("End to end", "In how many directions does a change survive?", ("gradient", "--end-to-end")),
    Section("Inner iteration", "Does ERNN's inner iteration reach its equilibrium?", ("ernn-convergence",), ("ernn",)),
    Section("Manifold", "How does the state move on the equilibrium manifold?", ("ernn-manifold",), ("ernn",)),
    Section("Basins", "Which start ends where?", ("basins",)),
    Section("Pseudospectrum", "How far may the eigenvalues be trusted, and what grows first?", ("pseudospectrum",)),
)


@click.command(
    cls=Command,
    params=[
        click.Argument(["checkpoints"], shell_complete=networks, metavar="CKPT...", nargs=-1, required=True),
        *shared(FORWARDED, **{name: {"default": None} for name in FORWARDED}),
        *shared(("output", "as_json", "overwrite", "quiet"), output=WRITES["page"][1]),
    ],
)
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    metavar="MINUTES",
    help="Minutes after which no further part begins.",
)
def report(
    checkpoints: tuple[str, ...],
    budget: float,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Write one HTML page with all that dynlab says of trained networks, which checks its own proofs in the browser.

    Verdicts, figures, tables, settings and the command behind each part; several networks stand side by side. The most
    wanted parts come first, and none begins when the minutes are spent; the page names those that are left out. A
    button checks the proofs of fixed points in exact integer arithmetic, without Python.

    \b
    dynlab report gru-flipflop
    dynlab report model.pt --budget 10 -o model.html
    dynlab report ernn-har2-k1 ernn-har2-k5 lstm-har2 --budget inf
    """
    Output("report", PAGE_SUFFIXES, output=output, overwrite=overwrite)
    options = {name: value for name, value in given.items() if value is not None}
    sources = {name: Source(checkpoints=(name,), quiet=quiet, **options) for name in dict.fromkeys(checkpoints)}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        parts, left = _all_parts(sources, options, began + 60 * budget, Path(folder))
        if all(part.problem for part in parts):
            raise UserError(f"No part could be made: {next((part.problem for part in parts), LATE)}")
        path = output or free_path("report-" + "-".join(Path(name).stem for name in sources), ".html")
        answers = {name: _answer(source, parts) for name, source in sources.items()}
        line = shlex.join(["dynlab", "report", *sources, *typed(options), f"--budget={budget:g}"])
        spent = f"The parts took {time.monotonic() - began:.0f} s; {len(left) or 'none'} left out."
        write_text(path, _page(sources, parts, left, answers, spent=spent, command=line))
    if as_json:
        told = [{name: getattr(part, name) for name in TOLD} for part in parts]
        about = {"command": "report", "files": {"page": str(path)}, "does_it_forget": answers}
        left_out = [{name: getattr(each, name) for name in TOLD[:3]} | {"reason": LATE} for each in left]
        print_json(about | {"parts": told, "left_out": left_out})
        return
    failed = [f"Failed: {each.section} of {each.network}: {each.problem}" for each in parts if each.problem]
    late = [f"Left out, for want of time: {each.section} of {each.network}." for each in left]
    for said in (*(f"{name}: {answer}" for name, answer in answers.items() if answer), *failed, *late, f"Page: {path}"):
        echo(said)


def _all_parts(
    sources: Mapping[str, Source], options: Mapping[str, Any], end: float, folder: Path
) -> tuple[list[Part], list[Part]]:
    """Make every part of every network, in turn, as long as there is time; return those that were left out too."""
    from dynlab.report import Part

    parts, left = [], []
    systems = {name: source.cell.name for name, source in sources.items()}  # a file that cannot be read ends the report
    for section, name in ((section, name) for section in SECTIONS for name in sources):
        if section.systems and systems[name] not in section.systems:
            continue
        command: AnalysisCommand = lookup(COMMANDS, section.arguments[0], "command")
        taken = {key: value for key, value in options.items() if key in command.names}
        words = [name, *section.arguments[1:], *typed(taken)]
        proved = section.title == "Fixed points" and importlib.util.find_spec("flint") is not None
        line = ["dynlab", section.arguments[0], *words, *["--certificates=certificates"] * proved]
        part = Part(name, section.title, shlex.join(line))
        if time.monotonic() > end:
            left.append(part)
            continue
        beside = Path(tempfile.mkdtemp(dir=folder))
        with working(f"{section.title} of {name}", quiet=sources[name].quiet):
            words += [f"--certificates={beside}"] * proved
            parts.append(_made(part, sources[name], command, words, beside))
    return parts, left


def _made(part: Part, source: Source, command: AnalysisCommand, words: list[str], folder: Path) -> Part:
    """Return the part with what the command says, but for the warning that the page says once; or why it fails."""
    started = time.perf_counter()
    try:
        result = command.result(words, found=source.found, warning="")
        table = "" if result.table is None else result.table.to_string(index=False, float_format="{:.4g}".format)
        part = replace(part, dataset=result.dataset, table=table, picture=picture(result))
    except Exception as error:  # one part that fails leaves the others as they are
        part = replace(part, problem=in_words(error))
    proofs = sorted(folder.glob("*.json"), key=lambda file: (len(file.name), file.name))
    return replace(part, seconds=time.perf_counter() - started, certificates=proofs)


def _answer(source: Source, parts: Iterable[Part]) -> str:
    """Return whether a network forgets; empty where its gradients or its fixed points are not known."""
    from dynlab.report import memory

    network = source.checkpoints[0]
    made = {part.section: part.dataset for part in parts if part.network == network and not part.problem}
    answer = memory(made["Gradient"], made["Fixed points"]) if {"Gradient", "Fixed points"} <= made.keys() else ""
    return answer and source.warning + answer


def _page(
    sources: Mapping[str, Source],
    parts: list[Part],
    left: list[Part],
    answers: Mapping[str, str],
    **said: str,
) -> str:
    """Return the HTML."""
    from dynlab import zoo
    from dynlab.checkpoints import describe
    from dynlab.report import described, report_page

    networks = []
    for name, source in sources.items():
        layer, assumed = (source.found.layer, source.found.assumed) if source.found else (None, "")
        notes = [note for note in (answers[name], assumed) if note]
        networks.append(described(name, describe(zoo.locate(name)), layer, notes))
    questions = {section.title: section.question for section in SECTIONS}
    return report_page(networks, questions, parts, left, **said)


def picture(result: CommandResult) -> str:
    """Return the figure as a data URL; empty where there is none."""
    from dynlab.plots.style import rendered

    if not callable(result.picture):
        return ""
    figure = result.picture(result.dataset.assign_attrs(verdict="")).figure  # the page says the verdict beside it
    drawn = in_few_colours(rendered(figure, "png", SHARP))
    return f"data:image/png;base64,{base64.b64encode(drawn).decode('ascii')}"
