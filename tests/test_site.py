"""The site's pages without Sphinx: links lead to files, and what is written at the build has every command and name."""

import re
import runpy
from pathlib import Path

import pytest

import dynlab
from dynlab.cli import COMMANDS
from dynlab.errors import lookup

ROOT = Path(__file__).resolve().parents[1]
CONF = runpy.run_path(str(ROOT / "docs" / "conf.py"))
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "diagnostics").glob("*.md"), *ROOT.glob("*.md")])
# CONTRIBUTING adds a command as its example.
SAYING = [page for page in PAGES if page.name != "CONTRIBUTING.md"] + sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CALL = re.compile(r"`dynlab ([a-z][a-z-]*)([^`]*)`")
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def outside_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page):
    generated = {ROOT / "docs" / "generated" / f"{name}.md" for name in CONF["PAGES"]}
    links = [(page.parent / link).resolve() for link in LINK.findall(outside_code(page.read_text(encoding="utf-8")))]
    assert [str(link) for link in links if not link.exists() and link not in generated] == []


def test_every_page_is_in_the_index():
    listed = " ".join(TREE.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))).split()
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - set(listed) == {"index"}
    assert {f"generated/{name}" for name in CONF["PAGES"]} <= set(listed)


def test_the_command_reference_has_every_command():
    page = CONF["commands"]()
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(COMMANDS)
    assert page.count("Usage: dynlab ") == len(COMMANDS)


def test_the_reference_has_every_public_name_once():
    assert sorted(re.findall(r"^### dl\.(\w+)$", CONF["reference"](), re.MULTILINE)) == dynlab.__all__


@pytest.mark.parametrize("page", SAYING, ids=lambda page: page.name)
def test_commands_in_the_text_have_their_options(page):
    """The options of `dynlab sweep COMMAND` are the other command's too."""
    found = [
        (name, re.findall(r"--[a-z][\w-]*", rest)) for name, rest in CALL.findall(page.read_text(encoding="utf-8"))
    ]
    wrong = [(name, option) for name, options in found for option in options or [None] if not known(name, option)]
    assert wrong == []


def known(name, option):
    if name not in COMMANDS:
        return False
    options = {text for one in lookup(COMMANDS, name, "command").params for text in (*one.opts, *one.secondary_opts)}
    return option in options | {None, "--help"} or name == "sweep"
