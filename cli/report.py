"""`dynlab report`: all that dynlab says of trained networks, in one HTML page."""

from __future__ import annotations

import importlib
import shlex
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dynlab.errors import OWN, UserError, in_words, lookup
from dynlab.files import make_folder, write_bytes, write_text

from . import COMMANDS
from .analysis import AnalysisCommand, read_one
from .budget import Budget, Duration, OutOfTime
from .options import OUTPUT, PAGE, SHARED, NetworkName, from_table
from .output import FIGURE_FOLDER, PAGE_SUFFIXES, Output, check_file, check_not_read, file_name, print_json, working
from .report_pdf import chromium, print_pdf
from .report_picture import picture
from .report_sections import LARGE, PROOFS, SECTIONS, Section
from .signals import interruption
from .source import Source
from .streams import OWN_ERROR, echo

if TYPE_CHECKING:
    from dynlab.checkpoints import Checkpoint
    from dynlab.report import Left, Part

READING = ("layer", "nonlinearity", "factory")
FORWARDED = (*READING, "inputs", "samples", "skip", "data_dir", "at", "seed", "device", "dtype")
CERTIFICATES = "certificates"  # the folder in the commands that a page shows
DEFAULT_BUDGET = "2min"
SAMPLES, FEWEST = SHARED["samples"][1]["default"], 2  # sequences that drive a network, and where they are long
WORK = 5e7  # sequences · steps · states² of the dearest parts, about half a minute of one core
MOST = 1 / 3  # of the time that is left, which a part may take while others wait
FIRST = 2 / 3  # the same as long as none is made: one that is whole says more than several that were stopped
OFF = 2.0  # parts take from half to twice as long as is expected of them


@click.command()
@click.argument("checkpoints", type=NetworkName(), metavar="CKPT...", nargs=-1, required=True)
@click.option("--budget", type=Duration(), default=DEFAULT_BUDGET, show_default=True, help="90s, 2min, 1h or none.")
@click.option("--pdf", is_flag=True, help="Also print the page as a PDF beside it (needs Chromium).")
@from_table({name: (flags, how | {"default": None}) for name, (flags, how) in SHARED.items() if name in FORWARDED})
@from_table(PAGE | {name: OUTPUT[name] for name in ("as_json", "overwrite", "quiet")})
def report(checkpoints: tuple[str, ...], budget: float, pdf: bool, **given: Any) -> int:
    """Write one HTML page with all that dynlab says of trained networks, which checks its own proofs in the browser.

    Verdicts, figures, tables, settings and the command behind each part; several networks stand side by side. The parts
    are run from cheap to dear until the budget is spent, and none takes more than a third of what is left while others
    wait. The page names those that are left out. The proofs of fixed points are inside: a button checks them in exact
    integer arithmetic, without Python.

    \b
    dynlab report gru-flipflop
    dynlab report model.pt --budget 10min -o model.html --pdf
    dynlab report ernn-har2-k1 ernn-har2-k5 lstm-har2 --budget none
    """
    page, as_json, overwrite, quiet = (given.pop(name) for name in ("output", "as_json", "overwrite", "quiet"))
    files = Output("report", page, None, as_json, overwrite, quiet, PAGE_SUFFIXES)
    path = page or FIGURE_FOLDER / file_name("report-" + "-".join(Path(name).stem for name in checkpoints), ".html")
    browser = chromium() if pdf else None
    if pdf:
        check_file(path.with_suffix(".pdf") if page else None, "--pdf", (".pdf",), overwrite=overwrite)
    if len(set(checkpoints)) < len(checkpoints):
        raise UserError("One network is named twice: name each once.")
    options = {name: value for name, value in given.items() if value is not None}
    source = Source(quiet=quiet, **{name: options[name] for name in READING if name in options})
    for written in (path, path.with_suffix(".pdf")):
        check_not_read(written, [*checkpoints, *filter(None, [options.get("inputs")])])
    with working("Loading", quiet=quiet):
        for module in _modules():
            importlib.import_module(module)
        found = {name: read_one(source, name) for name in checkpoints}
    own = {} if "samples" in options else {name: _samples(name, one, options, files) for name, one in found.items()}
    run = _Run(found, _words(options), own, Budget(budget), files)
    if page is None:
        make_folder(path.parent)
    with tempfile.TemporaryDirectory() as folder:
        run.all_parts(Path(folder))
        if not run.parts and path.exists():
            raise UserError(
                f"No part was done within a budget of {budget:g} s, and so {path} is left as it is: give a larger "
                f"--budget, or another -o."
            )
        problems = [part.problem for part in run.parts]
        if problems and all(problems) and run.code == 0:
            raise UserError(f"No part could be made, and so no page is written. The first says: {problems[0]}")
        with files.working("Writing the page"):
            write_text(path, run.page(path, checkpoints), overwrite=overwrite or page is None)
    if browser is not None:
        with files.working("Printing the PDF"):
            write_bytes(path.with_suffix(".pdf"), print_pdf(browser, path), overwrite=overwrite or page is None)
    _tell(run, path, path.with_suffix(".pdf") if pdf else None, files)
    return run.code


def _modules() -> set[str]:
    """What the parts import: none takes as long as its imports, by which the budget would judge the others."""
    from dynlab.diagnostics import DIAGNOSTICS

    return {"matplotlib.pyplot", *(place.partition(":")[0] for place in DIAGNOSTICS.values())}


def _words(options: dict[str, Any]) -> dict[str, list[str]]:
    """The typed options as they are typed, by the name of the argument that each becomes."""
    return {name: [SHARED[name][0][0], str(value)] for name, value in options.items()}


def _samples(name: str, checkpoint: Checkpoint, options: dict[str, Any], files: Output) -> dict[str, list[str]]:
    """How many sequences drive a network whose own are long: fewer than by default, so that the parts fit in."""
    from dynlab.tasks import driving_inputs

    system, states = checkpoint.system, checkpoint.system.state_size
    if states > LARGE or not system.network_input_size:
        return {}
    how = {key: options[key] for key in ("data_dir", "seed") if key in options}
    try:
        with files.working("Reading what drives it"):
            steps = driving_inputs(options.get("inputs"), system, samples=1, **how).inputs.shape[1]
    except UserError:  # each part says in its place what is wrong with its inputs
        return {}
    few = max(FEWEST, min(SAMPLES, int(WORK / (steps * states**2))))
    if few == SAMPLES:
        return {}
    files.log(f"{name} is driven by {few} sequences of {steps:,} steps: --samples {SAMPLES} takes longer.")
    return _words({"samples": few})


class _Unmade(NamedTuple):
    """Why a part is not made, and for how many seconds it ran."""

    reason: str
    seconds: float = 0.0


@dataclass
class _Run:
    """The parts of all networks as they are made."""

    found: dict[str, Checkpoint]
    words: dict[str, list[str]]
    own: dict[str, dict[str, list[str]]]
    budget: Budget
    files: Output
    parts: list[Part] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    code: int = 0

    def all_parts(self, folder: Path) -> None:
        """Make every part that fits, from cheap to dear, each of all networks before the next.

        None takes more than a share of what is left while others wait. What is then not made is tried with all that is
        left, first what was not yet begun, where it is expected to take at most `OFF` times as long as that.
        """
        waiting, unmade = list(self._in_turn()), list[tuple[Section, str, _Unmade]]()
        for number, (section, name) in enumerate(waiting, 1):
            alone = number == len(waiting) and not unmade
            share = MOST if any(not part.problem for part in self.parts) else FIRST
            stopped = {each.arguments[0] for each, whose, why in unmade if whose == name and why.seconds}
            why = _Unmade("the search that it needs was stopped.") if section.after in stopped else None
            if why := why or self._tried(section, name, folder, 1.0 if alone else share):
                unmade.append((section, name, why))
        for section, name, why in sorted(unmade, key=lambda each: each[2].seconds > 0):
            in_vain = why.seconds > 0 and self.budget.left <= why.seconds
            again = why if in_vain else self._tried(section, name, folder, 1.0, OFF)
            if again:
                self.left.append(
                    self._left(section, name, (why if why.seconds and not again.seconds else again).reason)
                )
        turns = [(section.title, name) for section, name in waiting]
        self.left.sort(key=lambda left: turns.index((left.section, left.network)))

    def _tried(self, section: Section, name: str, folder: Path, share: float, off: float = 1.0) -> _Unmade | None:
        """Make a part where it fits into a share of what is left, or would were it `off` times as quick as expected."""
        cost, before = section.cost(self.found[name].system.state_size), self.budget.spent
        if not self.budget.fits(cost / off, share):
            return _Unmade("the budget is spent." if self.budget.left <= 0 else _longer(self.budget, cost))
        try:
            with self.budget.running(cost, share), self.files.working(f"{section.title} of {name}"):
                self.parts.append(self._part(section, name, Path(tempfile.mkdtemp(dir=folder))))
        except OutOfTime:
            spent = self.budget.spent - before
            return _Unmade(f"it was stopped after {spent:.0f} s.", spent)
        return None

    def _left(self, section: Section, name: str, reason: str) -> Left:
        from dynlab.report import Left

        return Left(name, section.title, shlex.join(["dynlab", *self._command(section, name)[1]]), reason)

    def _in_turn(self) -> Iterator[tuple[Section, str]]:
        systems = {name: found.system for name, found in self.found.items()}
        pairs = [(section, name) for section in SECTIONS for name in systems if section.fits(systems[name].name)]
        yield from sorted(pairs, key=lambda pair: pair[0].turn(systems[pair[1]].state_size))

    def _command(self, section: Section, name: str) -> tuple[AnalysisCommand, list[str]]:
        """The section's command, and its arguments for that network with those typed options that it takes."""
        command: AnalysisCommand = lookup(COMMANDS, section.arguments[0], "command")
        given = self.words | self.own.get(name, {})
        forwarded = [word for key, words in given.items() if key in command.names for word in words]
        proofs = ["--certificates", CERTIFICATES] if section.arguments[0] == PROOFS and _can_prove() else []
        return command, [section.arguments[0], name, *section.arguments[1:], *proofs, *forwarded]

    def _part(self, section: Section, name: str, folder: Path) -> Part:
        """What the command says; where it fails, why."""
        from dynlab.report import Part

        started = time.perf_counter()
        command, arguments = self._command(section, name)
        words = [str(folder) if word == CERTIFICATES else word for word in arguments[1:]]
        part = Part(name, section.title, shlex.join(["dynlab", *arguments]))
        try:
            result = command.result([*words, "--quiet"], self.found[name])
            part = replace(part, dataset=result.dataset, table=result.table, picture=picture(result))
        except Exception as error:  # the report goes on: one part that fails leaves the others as they are
            if (stopped := interruption(error)) is not None:
                raise stopped from error
            part = replace(part, problem=in_words(error))
            self.code = OWN_ERROR if part.problem.startswith(OWN) else self.code
        proofs = sorted(folder.glob("*.json"), key=lambda file: (len(file.name), file.name))
        return replace(part, seconds=time.perf_counter() - started, certificates=proofs)

    def page(self, path: Path, checkpoints: tuple[str, ...]) -> str:
        """The HTML; certificates that are too long for it are put beside it."""
        from dynlab import zoo
        from dynlab.checkpoints import describe
        from dynlab.report import ReportedNetwork, report_page
        from dynlab.report.proofs import MOST_UNITS

        networks = [
            ReportedNetwork(
                name,
                describe(zoo.locate(name)),
                shlex.join(["dynlab", "inspect", name]),
                self.found[name].layer or "",
                self.found[name].assumed,
            )
            for name in checkpoints
        ]
        proofs = {}
        for part in self.parts:
            if part.certificates and self.found[part.network].system.state_size > MOST_UNITS:
                proofs[part.network] = f"{path.stem}-certificates-{file_name(Path(part.network).stem, '')}"
                make_folder(path.parent / proofs[part.network])
                for file in part.certificates:
                    write_text(path.parent / proofs[part.network] / file.name, file.read_text(encoding="utf-8"))
        limited = self.budget.seconds != float("inf")
        given = f"a budget of {self.budget.seconds:g} s" if limited else "no limit"
        spent = f"The parts took {self.budget.spent:.0f} s, with {given}. {_left_out(len(self.left))}"
        words = [word for each in self.words.values() for word in each]
        budget = ["--budget", f"{self.budget.seconds:g}s" if limited else "none"]
        command = shlex.join(["dynlab", "report", *checkpoints, *words, *budget])
        questions = {section.title: section.question for section in SECTIONS}
        return report_page(networks, questions, self.parts, self.left, spent=spent, command=command, proofs=proofs)


def _left_out(count: int) -> str:
    """How many parts are not in the page, as a sentence."""
    from dynlab import wording

    return (
        f"{wording.counted(count, 'part')} {'is' if count == 1 else 'are'} left out." if count else "None is left out."
    )


def _can_prove() -> bool:
    import importlib.util

    return importlib.util.find_spec("flint") is not None


def _longer(budget: Budget, cost: float) -> str:
    return f"it would take about {budget.expected(cost):.0f} s, and {budget.left:.0f} s were left."


def _tell(run: _Run, path: Path, pdf: Path | None, files: Output) -> None:
    """What was made and what was not, or one JSON document, on standard output."""
    from dynlab import wording

    problems = [part for part in run.parts if part.problem]
    if files.as_json:
        documents = [
            {
                "network": part.network,
                "section": part.section,
                "command": part.command,
                "seconds": round(part.seconds, 3),
            }
            | {"verdict": part.dataset.attrs.get("verdict", ""), "problem": part.problem}
            for part in run.parts
        ]
        left = [
            {"network": e.network, "section": e.section, "command": e.command, "reason": e.reason} for e in run.left
        ]
        names = {"page": str(path), "pdf": str(pdf) if pdf else None}
        print_json({"command": "report", "files": names, "parts": documents, "left_out": left})
    else:
        made = len(run.parts) - len(problems)
        echo(
            f"{wording.counted(made, 'part')} in {run.budget.spent:.0f} s: {path}, {path.stat().st_size / 1e6:.2f} MB."
        )
        for part in problems:
            echo(f"Failed: {part.section} of {part.network}: {part.problem}")
        for network in dict.fromkeys(each.network for each in run.left):
            sections = wording.joined([each.section for each in run.left if each.network == network])
            echo(f"Left out of {network}: {sections}. The page has their commands; a larger --budget takes them in.")
    if pdf:
        files.log(f"PDF: {pdf}")
