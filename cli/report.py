"""`dynlab report`: all that dynlab says of trained networks, in one HTML page."""

from __future__ import annotations

import base64
import importlib.util
import math
import shlex
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dynlab.errors import UserError, in_words, lookup
from dynlab.files import write_bytes, write_text

from . import COMMANDS
from .analysis import AnalysisCommand, read_one
from .options import OUTPUT, SHARED, Command, NetworkName, with_options
from .output import PAGE_SUFFIXES, CommandResult, Output, echo, free_path, print_json, save_figure
from .report_pdf import chromium, print_pdf
from .source import Source
from .time_limits import Duration, OutOfTime, at_most

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.report import Left, Part

FORWARDED = (
    "layer",
    "nonlinearity",
    "factory",
    "encoder",
    "readout",
    "inputs",
    "samples",
    "skip",
    "data_dir",
    "at",
    "seed",
    "device",
    "dtype",
)
CERTIFICATES = "certificates"  # the folder in the commands that a page shows
SHARE = 0.4  # of the time that is left, which one part may take
MOST_BYTES = 120_000  # of an SVG: a picture of many points is shorter as a PNG
SHARP = 180  # pixels per inch of such a PNG


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


@click.command(cls=Command)
@click.argument("checkpoints", type=NetworkName(), metavar="CKPT...", nargs=-1, required=True)
@click.option("--budget", type=Duration(), default="2min", show_default=True, help="90s, 2min, 1h or none.")
@click.option("--pdf", is_flag=True, help="Also print the page as a PDF beside it (needs Chromium).")
@with_options({name: (flags, how | {"default": None}) for name, (flags, how) in SHARED.items() if name in FORWARDED})
@with_options({name: OUTPUT[name] for name in ("output", "as_json", "overwrite", "quiet")})
def report(
    checkpoints: tuple[str, ...],
    budget: float,
    pdf: bool,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Write one HTML page with all that dynlab says of trained networks, which checks its own proofs in the browser.

    Verdicts, figures, tables, settings and the command behind each part; several networks stand side by side. The most
    wanted parts come first, and each takes at most 40 % of the time that is left; the page names those that are left
    out. A button checks the proofs of fixed points in exact integer arithmetic, without Python.

    \b
    dynlab report gru-flipflop
    dynlab report model.pt --budget 10min -o model.html --pdf
    dynlab report ernn-har2-k1 ernn-har2-k5 lstm-har2 --budget none
    """
    from dynlab import wording

    files = Output("report", output, overwrite=overwrite, quiet=quiet, as_json=as_json, suffixes=PAGE_SUFFIXES)
    browser = chromium() if pdf else None
    options = {name: value for name, value in given.items() if value is not None}
    source = Source(quiet=quiet, **{name: options[name] for name in FORWARDED[:5] if name in options})
    found = {name: read_one(source, name) for name in dict.fromkeys(checkpoints)}
    run = _Run(found, options, budget, files)
    with tempfile.TemporaryDirectory() as folder:
        run.all_parts(Path(folder))
        made = [part for part in run.parts if not part.problem]
        if not made:
            why = [part.problem for part in run.parts] or [
                f"a budget of {budget:g} s is too short: give --budget 10min"
            ]
            raise UserError(f"No part could be made: {why[0]}")
        path = output or free_path("report-" + "-".join(Path(name).stem for name in found), ".html")
        with files.working("Writing the page"):
            write_text(path, run.page(path))
    if browser is not None:
        write_bytes(path.with_suffix(".pdf"), print_pdf(browser, path))
        files.log(f"PDF: {path.with_suffix('.pdf')}")
    if as_json:
        print_json({"command": "report", "files": {"page": str(path)}, **run.document()})
        return 0
    for name in run.found:
        if answer := run.answer(name):
            echo(f"{name}: {answer}")
    echo(f"{wording.counted(len(made), 'part')} in {run.spent:.0f} s: {path}.")
    for part in run.parts:
        echo(f"Failed: {part.section} of {part.network}: {part.problem}") if part.problem else None
    if run.left:
        names = wording.joined([f"{each.section} of {each.network}" for each in run.left])
        echo(f"Left out: {names}. The page has their commands; a larger --budget makes room for them.")
    return 0


@dataclass
class _Run:
    """The parts of all networks as they are made."""

    found: dict[str, Checkpoint]
    options: dict[str, Any]
    budget: float
    files: Output
    parts: list[Part] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def all_parts(self, folder: Path) -> None:
        """Make every part of every network, in turn, as long as there is time."""
        from dynlab.report import Left

        for section in SECTIONS:
            for name, found in self.found.items():
                if section.systems and found.system.name not in section.systems:
                    continue
                try:
                    with at_most(SHARE * (self.budget - self.spent)), self.files.working(f"{section.title} of {name}"):
                        self.parts.append(self._part(section, name, Path(tempfile.mkdtemp(dir=folder))))
                except OutOfTime:
                    line = shlex.join(["dynlab", *self._command(section, name)[1]])
                    self.left.append(Left(name, section.title, line, "its share of the budget was spent."))

    def _command(self, section: Section, name: str) -> tuple[AnalysisCommand, list[str]]:
        """Return the section's command, and its arguments for that network with those typed options that it takes."""
        command: AnalysisCommand = lookup(COMMANDS, section.arguments[0], "command")
        typed = {key: [SHARED[key][0][0], str(value)] for key, value in self.options.items() if key in command.names}
        can_prove = importlib.util.find_spec("flint") is not None
        proofs = ["--certificates", CERTIFICATES] if section.title == "Fixed points" and can_prove else []
        words = [word for pair in typed.values() for word in pair]
        return command, [section.arguments[0], name, *section.arguments[1:], *proofs, *words]

    def _part(self, section: Section, name: str, folder: Path) -> Part:
        """Return what the command says; where it fails, why."""
        from dynlab.report import Part

        started = time.perf_counter()
        command, arguments = self._command(section, name)
        words = [str(folder) if word == CERTIFICATES else word for word in arguments[1:]]
        part = Part(name, section.title, shlex.join(["dynlab", *arguments]))
        try:
            result = command.result([*words, "--quiet"], self.found[name])
            table = "" if result.table is None else result.table.to_string(index=False, float_format="{:.4g}".format)
            part = replace(part, dataset=result.dataset, table=table, picture=picture(result))
        except Exception as error:  # one part that fails leaves the others as they are
            part = replace(part, problem=in_words(error))
        proofs = sorted(folder.glob("*.json"), key=lambda file: (len(file.name), file.name))
        return replace(part, seconds=time.perf_counter() - started, certificates=proofs)

    def page(self, path: Path) -> str:
        """Return the HTML; certificates that are too long for it are put beside it."""
        from dynlab import zoo
        from dynlab.checkpoints import describe
        from dynlab.report import ReportedNetwork, report_page
        from dynlab.report.proofs import MOST_UNITS

        networks = [
            ReportedNetwork(
                name,
                describe(zoo.locate(name)),
                shlex.join(["dynlab", "inspect", name]),
                one.layer or "",
                " ".join(filter(None, [self.answer(name), one.assumed])),
            )
            for name, one in self.found.items()
        ]
        proofs = {}
        for part in self.parts:
            if part.certificates and self.found[part.network].system.state_size > MOST_UNITS:
                beside = path.parent / f"{path.stem}-certificates-{Path(part.network).stem}"
                beside.mkdir(exist_ok=True)
                proofs[part.network] = beside.name
                for file in part.certificates:
                    write_text(beside / file.name, file.read_text(encoding="utf-8"))
        budget = "none" if math.isinf(self.budget) else f"{self.budget:g}s"
        typed = [word for key, value in self.options.items() for word in (SHARED[key][0][0], str(value))]
        command = shlex.join(["dynlab", "report", *self.found, *typed, "--budget", budget])
        spent = f"The parts took {self.spent:.0f} s; {len(self.left) or 'none'} left out."
        questions = {section.title: section.question for section in SECTIONS}
        return report_page(networks, questions, self.parts, self.left, spent=spent, command=command, proofs=proofs)

    def answer(self, name: str) -> str:
        """Return whether the network forgets, where both its gradients and its fixed points are known."""
        from dynlab.report import memory

        found = {part.section: part.dataset for part in self.parts if part.network == name and not part.problem}
        both = [found[section] for section in ("Gradient", "Fixed points") if section in found]
        return memory(*both) if len(both) == 2 else ""

    def document(self) -> dict[str, Any]:
        """Return what was made and what was left out, for --json."""
        names = ("network", "section", "command")
        answers = {name: self.answer(name) for name in self.found}
        parts = [
            {name: getattr(part, name) for name in (*names, "seconds", "problem")}
            | {"verdict": part.dataset.attrs.get("verdict", "")}
            for part in self.parts
        ]
        left = [{name: getattr(each, name) for name in (*names, "reason")} for each in self.left]
        return {"does_it_forget": answers, "parts": parts, "left_out": left}


def picture(result: CommandResult) -> str:
    """Return the figure as a data URL, SVG where that is short, else PNG; empty where there is none."""
    if result.plot is None:
        return ""
    from dynlab.plots.style import rendered

    figure = result.plot(result.dataset.assign_attrs(verdict="")).figure  # the page says the verdict beside it
    drawn, kind = rendered(figure, "svg"), "svg+xml"
    if len(drawn) > MOST_BYTES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figure.png"
            save_figure(figure, path, SHARP, small=True)
            drawn, kind = path.read_bytes(), "png"
    return f"data:image/{kind};base64,{base64.b64encode(drawn).decode('ascii')}"
