"""The teaching notebooks as files; that they run is nbmake's to test, which collects them from their folder."""

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# What a lesson may import of dynlab: names that stay.
PUBLIC = {
    "dynlab",
    "dynlab.explore",
    "dynlab.explore.network",
    "dynlab.matrices",
    "dynlab.plots",
    "dynlab.systems",
    "dynlab.systems.planar",
    "dynlab.testing",
}
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request):
    return json.loads(request.param.read_text(encoding="utf-8"))["cells"]


def of_kind(cells, kind):
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def test_nothing_is_stored_that_a_run_makes(cells):
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


def test_only_public_names_are_imported(cells):
    imported = set(re.findall(r"^(?:from|import) (dynlab[\w.]*)", "\n".join(of_kind(cells, "code")), re.MULTILINE))
    assert "dynlab" in imported
    assert imported <= PUBLIC


def test_every_exercise_has_its_solution(cells):
    text = "\n".join(of_kind(cells, "markdown"))
    exercises, solutions = re.findall(r"^### Exercise \d", text, re.MULTILINE), text.count("<b>Solution</b>")
    assert len(exercises) >= 2
    assert len(exercises) == solutions


def test_links_to_files_lead_somewhere(cells):
    text = "\n".join(of_kind(cells, "markdown"))
    assert [link for link in LINK.findall(text) if not (FOLDER / link).exists()] == []


@pytest.mark.parametrize("output", [{"text": "D = nan"}, {"data": {"text/plain": "array([nan, 1.])"}}])
def test_a_lesson_that_prints_nan_fails(output, monkeypatch):
    from nbmake.nb_run import NotebookRun

    monkeypatch.setattr(NotebookRun, "execute", NotebookRun.execute)  # which the file replaces
    checked = runpy.run_path(str(FOLDER / "conftest.py"))["checked"]
    executed = SimpleNamespace(nb=SimpleNamespace(cells=[{"outputs": [output]}]))
    monkeypatch.setitem(checked.__globals__, "execute", lambda run: executed)
    with pytest.raises(AssertionError, match="nan"):
        checked(None)
