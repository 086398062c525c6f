"""The site's pages without Sphinx: links lead to files, and what is written at the build has every command and name."""

import re
import runpy
from pathlib import Path

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


def test_relative_links_lead_to_files():
    generated = {ROOT / "docs" / "generated" / f"{name}.md" for name in CONF["PAGES"]}
    texts = {page: outside_code(page.read_text(encoding="utf-8")) for page in PAGES}
    links = [(page.name, (page.parent / link).resolve()) for page in PAGES for link in LINK.findall(texts[page])]
    assert [(page, link) for page, link in links if not link.exists() and link not in generated] == []


def test_every_page_is_in_the_index():
    listed = " ".join(TREE.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))).split()
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
