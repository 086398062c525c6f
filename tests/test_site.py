"""The pages, without Sphinx: links lead to files, and tables, limits and lists are those of the code."""

import importlib
import re
import runpy
from pathlib import Path

import pytest
from public_names import DIAGNOSTICS

import dynlab
from dynlab.cli import COMMANDS
from dynlab.diagnostics.bifurcation.variables import LONG as KINDS
from dynlab.errors import lookup
from dynlab.numerics import kinds
from dynlab.systems import SYSTEMS
from dynlab.systems.examples import example_config
from dynlab.tasks import TASKS

ROOT = Path(__file__).resolve().parents[1]
CONF = runpy.run_path(str(ROOT / "docs" / "conf.py"))
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "diagnostics").glob("*.md"), *ROOT.glob("*.md")])
# CONTRIBUTING adds a command as its example.
SAYING = [page for page in PAGES if page.name != "CONTRIBUTING.md"] + sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CALL = re.compile(r"`dynlab ([a-z][a-z-]*)([^`]*)`")
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def named(page, heading, column):
    """The names in a column of the tables of a page that have this first heading."""
    tables = re.findall(rf"^\| {heading} \|.*\n.*\n((?:\|.*\n)+)", text_of(page), re.MULTILINE)
    cells = [row.strip("|").split(" | ")[column] for row in "".join(tables).splitlines()]
    return [name for cell in cells for name in re.findall(r"`([a-z][\w-]*)`", cell)]


def outside_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def test_relative_links_lead_to_files():
    generated = {ROOT / "docs" / "generated" / f"{name}.md" for name in CONF["PAGES"]}
    texts = {page: outside_code(page.read_text(encoding="utf-8")) for page in PAGES}
    links = [(page.name, (page.parent / link).resolve()) for page in PAGES for link in LINK.findall(texts[page])]
    assert [(page, link) for page, link in links if not link.exists() and link not in generated] == []


def test_every_page_is_in_the_index():
    listed = " ".join(TREE.findall(text_of("docs/index.md"))).split()
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - set(listed) == {"index"}
    assert {f"generated/{name}" for name in CONF["PAGES"]} <= set(listed)


def test_the_reference_has_every_command_and_every_public_name_once():
    page = CONF["commands"]()
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(COMMANDS)
    assert page.count("Usage: dynlab ") == len(COMMANDS)
    assert sorted(re.findall(r"^### dl\.(\w+)$", CONF["reference"](), re.MULTILINE)) == dynlab.__all__


def test_commands_in_the_text_have_their_options():
    """The options of `dynlab sweep COMMAND` are the other command's too."""
    options = {"sweep": None}
    for name in COMMANDS.keys() - options.keys():
        params = lookup(COMMANDS, name, "command").params
        options[name] = {"--help", *(text for one in params for text in (*one.opts, *one.secondary_opts))}
    for page in SAYING:
        for name, rest in CALL.findall(page.read_text(encoding="utf-8")):
            assert name in options, page
            assert options[name] is None or set(re.findall(r"--[a-z][\w-]*", rest)) <= options[name], (page, name)


def test_the_readme_counts_the_networks():
    networks = sum("input_size" in example_config(name) for name in SYSTEMS)
    assert f"It trains {networks} kinds of recurrent network" in text_of("README.md")


def test_the_tables_of_tasks_and_questions_have_the_rows_of_the_code():
    assert sorted(named("docs/tasks.md", "task", 0)) == sorted(TASKS)
    assert set(named("docs/which.md", "my question", 1)) == {*COMMANDS}
    assert set(named("docs/which.md", "my question", 2)) == {*DIAGNOSTICS, "over_training"}


def test_the_glossary_explains_each_word_once_and_every_kind_of_point_and_of_bifurcation():
    page = text_of("docs/glossary.md")
    entries = re.findall(r"^- \*\*([^*]+)\*\*: .+$", page, re.MULTILINE)
    assert len(set(entries)) == len(re.findall(r"^- ", page, re.MULTILINE))
    said = {value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, str)} | set(KINDS)
    assert {name for name in said - {kinds.UNDECIDED, kinds.NEAR} if name.lower() not in page.lower()} == set()


@pytest.mark.parametrize(
    "limit, name", re.findall(r"^\|[^|]+\| (\d+) \| `([\w.]+)` \|$", text_of("SECURITY.md"), re.MULTILINE)
)
def test_a_limit_that_security_states_is_the_one_of_the_code(limit, name):
    module, _, attribute = name.rpartition(".")
    assert int(limit) == getattr(importlib.import_module(module), attribute)
