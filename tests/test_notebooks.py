"""The teaching notebooks as files; that they run is nbmake's to test, which collects them from their folder."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
# What a lesson may import of dynlab: names that stay.
PUBLIC = {"dynlab", "dynlab.explore", "dynlab.plots", "dynlab.testing"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_stores_no_results_imports_public_names_and_solves_its_exercises(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code, text = ([cell for cell in cells if cell["cell_type"] == kind] for kind in ("code", "markdown"))
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    code, text = ("\n".join("".join(cell["source"]) for cell in found) for found in (code, text))
    assert {"dynlab"} <= set(re.findall(r"^(?:from|import) (dynlab[\w.]*)", code, re.MULTILINE)) <= PUBLIC
    assert len(re.findall(r"^### Exercise \d", text, re.MULTILINE)) == text.count("<b>Solution</b>") >= 2
    assert [link for link in re.findall(r"\]\(([^)#:]+)\)", text) if not (FOLDER / link).exists()] == []
