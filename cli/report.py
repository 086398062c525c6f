"""`dynlab report`: all that dynlab says of trained networks, in one HTML page."""

from __future__ import annotations

import base64
import importlib.util
import shlex
import tempfile
import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dynlab.errors import UserError, in_words, lookup
from dynlab.files import write_text
from dynlab.progress import working

from . import COMMANDS
from .analysis import AnalysisCommand, Source, read_one
from .options import COMPUTE, SHARED, Command, NetworkName, shared, typed
from .output import PAGE_SUFFIXES, CommandResult, Output, echo, free_path, in_few_colours, print_json
from .source import OF_CHECKPOINTS

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.report import Part

FORWARDED = (*OF_CHECKPOINTS, "factory", "inputs", "samples", "skip", "data_dir", "at", *COMPUTE)
MOST_BYTES = 120_000  # of an SVG: a picture of many points is shorter as a PNG
SHARP = 180  # pixels per inch of such a PNG
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
        click.Argument(["checkpoints"], type=NetworkName(), metavar="CKPT...", nargs=-1, required=True),
        *shared(FORWARDED, **{name: {"default": None} for name in FORWARDED}),
        *shared(("output", "as_json", "overwrite", "quiet")),
    ],
)
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    metavar="MINUTES",
    help="Begin no part after so many.",
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
    source = Source(quiet=quiet, **options)
    found = {name: read_one(source, name) for name in dict.fromkeys(checkpoints)}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        parts, left = _all_parts(found, options, began + 60 * budget, Path(folder), quiet)
        if all(part.problem for part in parts):
            raise UserError(f"No part could be made: {next((part.problem for part in parts), LATE)}")
        path = output or free_path("report-" + "-".join(Path(name).stem for name in found), ".html")
        warned = {name: source.having(found=one).warning for name, one in found.items()}
        parts = [part if part.problem else _unwarned(part, warned[part.network]) for part in parts]
        answers = {name: answer and warned[name] + answer for name, answer in _answers(found, parts).items()}
        line = ["dynlab", "report", *found, *_typed(options, SHARED), f"--budget={budget:g}"]
        spent = f"The parts took {time.monotonic() - began:.0f} s; {len(left) or 'none'} left out."
        write_text(path, _page(found, parts, left, answers, path, spent=spent, command=shlex.join(line)))
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


def _typed(options: Mapping[str, Any], names: Container[str]) -> list[str]:
    """Return the words of those typed options."""
    return [word for key in options if key in names for word in typed(SHARED[key], options[key])]


def _all_parts(
    found: Mapping[str, Checkpoint], options: Mapping[str, Any], end: float, folder: Path, quiet: bool
) -> tuple[list[Part], list[Part]]:
    """Make every part of every network, in turn, as long as there is time; return those that were left out too."""
    from dynlab.report import Part

    parts, left = [], []
    for section, name in ((section, name) for section in SECTIONS for name in found):
        if section.systems and found[name].system.name not in section.systems:
            continue
        command: AnalysisCommand = lookup(COMMANDS, section.arguments[0], "command")
        words = [section.arguments[0], name, *section.arguments[1:], *_typed(options, command.names)]
        if time.monotonic() > end:
            left.append(Part(name, section.title, shlex.join(["dynlab", *words])))
            continue
        with working(f"{section.title} of {name}", quiet=quiet):
            parts.append(_part(section, name, found[name], command, words, Path(tempfile.mkdtemp(dir=folder))))
    return parts, left


def _part(
    section: Section, name: str, network: Checkpoint, command: AnalysisCommand, words: list[str], folder: Path
) -> Part:
    """Return what the command says; where it fails, why."""
    from dynlab.report import Part

    started = time.perf_counter()
    can_prove = section.title == "Fixed points" and importlib.util.find_spec("flint") is not None
    part = Part(name, section.title, shlex.join(["dynlab", *words, *["--certificates=certificates"] * can_prove]))
    try:
        result = command.result([*words[1:], *[f"--certificates={folder}"] * can_prove], lambda source: network)
        table = "" if result.table is None else result.table.to_string(index=False, float_format="{:.4g}".format)
        part = replace(part, dataset=result.dataset, table=table, picture=picture(result))
    except Exception as error:  # one part that fails leaves the others as they are
        part = replace(part, problem=in_words(error))
    proofs = sorted(folder.glob("*.json"), key=lambda file: (len(file.name), file.name))
    return replace(part, seconds=time.perf_counter() - started, certificates=proofs)


def _unwarned(part: Part, warning: str) -> Part:
    """Return the part without the warning that begins its verdict, as the page says it once."""
    return replace(part, dataset=part.dataset.assign_attrs(verdict=part.verdict.removeprefix(warning)))


def _answers(found: Iterable[str], parts: Iterable[Part]) -> dict[str, str]:
    """Return whether each network forgets, where both its gradients and its fixed points are known."""
    from dynlab.report import memory

    made = {(part.section, part.network): part.dataset for part in parts if not part.problem}
    pairs = {name: [made[key] for key in (("Gradient", name), ("Fixed points", name)) if key in made] for name in found}
    return {name: memory(*pair) if len(pair) == 2 else "" for name, pair in pairs.items()}


def _page(
    found: Mapping[str, Checkpoint],
    parts: list[Part],
    left: list[Part],
    answers: Mapping[str, str],
    path: Path,
    **said: str,
) -> str:
    """Return the HTML; certificates that are too long for it are put beside it."""
    from dynlab import zoo
    from dynlab.checkpoints import describe
    from dynlab.report import ReportedNetwork, report_page
    from dynlab.report.proofs import MOST_UNITS

    networks, proofs = [], {}
    for name, one in found.items():
        notes = " ".join(filter(None, (answers[name], one.assumed)))
        line = shlex.join(["dynlab", "inspect", name])
        networks.append(ReportedNetwork(name, describe(zoo.locate(name)), line, one.layer or "", notes))
    for part in (part for part in parts if part.certificates):
        if found[part.network].system.state_size > MOST_UNITS:
            beside = path.parent / f"{path.stem}-certificates-{Path(part.network).stem}"
            beside.mkdir(exist_ok=True)
            proofs[part.network] = beside.name
            for file in part.certificates:
                write_text(beside / file.name, file.read_text(encoding="utf-8"))
    questions = {section.title: section.question for section in SECTIONS}
    return report_page(networks, questions, parts, left, proofs=proofs, **said)


def picture(result: CommandResult) -> str:
    """Return the figure as a data URL, SVG where that is short, else PNG; empty where there is none."""
    if result.plot is None:
        return ""
    from dynlab.plots.style import rendered

    figure = result.plot(result.dataset.assign_attrs(verdict="")).figure  # the page says the verdict beside it
    drawn, kind = rendered(figure, "svg"), "svg+xml"
    if len(drawn) > MOST_BYTES:
        drawn, kind = in_few_colours(rendered(figure, "png", SHARP)), "png"
    return f"data:image/{kind};base64,{base64.b64encode(drawn).decode('ascii')}"
