"""The tables of README and docs have the rows of the tables in the code: none is missing, none is of something gone."""

import re
from pathlib import Path

import pytest

from dynlab.cli import COMMANDS
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.systems import SYSTEMS
from dynlab.systems.examples import example_config
from dynlab.tasks import TASKS

ROOT = Path(__file__).resolve().parents[1]


def rows(page, heading):
    """The cells of the rows of every table of a page that has this first heading."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.startswith(f"| {heading} |"):
            for row in lines[number + 2 :]:
                if not row.startswith("|"):
                    break
                found.append([cell.strip() for cell in row.strip("|").split(" | ")])
    return found


def named(cells):
    return [name for cell in cells for name in re.findall(r"`([a-z][\w-]*)`", cell)]


def test_the_readme_counts_the_networks():
    networks = sum("input_size" in example_config(name) for name in SYSTEMS)
    assert f"It trains {networks} kinds of recurrent network" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_of_tasks_has_every_task():
    assert sorted(named(row[0] for row in rows("docs/tasks.md", "task"))) == sorted(TASKS)


@pytest.mark.parametrize("column, expected", [(1, {*COMMANDS}), (2, {*DIAGNOSTICS, "over_training"})])
def test_the_page_of_questions_has_every_command_and_diagnostic(column, expected):
    assert set(named(row[column] for row in rows("docs/which.md", "my question"))) == expected
