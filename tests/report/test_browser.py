"""A report in a browser, as a person reads it: headless Chromium, driven by Playwright (`make browser-test`)."""

import json

import pytest
import torch
from browsers import LOCAL, PATIENCE, browser

from dynlab.cli import report
from dynlab.cli.main import run
from dynlab.cli.report import Section

__all__ = ["browser"]
FEW = (
    Section("Fixed points", "Where does it stay?", ("fixed-points", "--starts", "32")),
    Section("Gradient", "What is left?", ("gradient",)),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A page about a network, and one of its certificates as a file."""
    folder = tmp_path_factory.mktemp("report")
    torch.manual_seed(3)
    network = torch.nn.RNN(1, 8)
    with torch.no_grad():
        network.weight_hh_l0.mul_(4)
    torch.save(network.state_dict(), folder / "net.pt")
    driven = ["--inputs", "noise:1.0", "--samples", "2", "--nonlinearity", "tanh", "--quiet"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(report, "SECTIONS", FEW)
        assert run(["report", "net.pt", *driven, "--budget", "inf", "-o", "page.html"]) == 0
        assert run(["fixed-points", "net.pt", *driven, "--certificates", "proofs"]) == 0
    return folder


@pytest.fixture
def page(browser, written):
    """The page opened from its file; an error in it fails the test, and so does an address that it asks for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    errors = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: LOCAL.match(request.url) or errors.append(request.url))
    opened.goto((written / "page.html").as_uri())
    yield opened
    context.close()
    assert errors == []


def test_its_proofs_are_checked_by_the_page(page):
    page.locator("button.check").click()
    page.wait_for_function("document.querySelector('.progress').textContent.includes('correct')")
    told = page.locator(".results tbody tr").all_inner_texts()
    assert told
    assert all("has exactly one fixed point" in text for text in told)


def test_a_file_of_ones_own_is_checked(page, written, tmp_path):
    true = written / "proofs/fixed-point-0.json"
    document = json.loads(true.read_text())
    document["ball"]["radius"] = "1p-200"
    false = tmp_path / "changed.json"
    false.write_text(json.dumps(document))
    garbled = tmp_path / "garbled.json"
    garbled.write_bytes(true.read_bytes().replace(b'"system": "', b'"system": "\xff'))
    page.set_input_files("#file", [str(true), str(false), str(garbled)])
    page.wait_for_function("document.querySelectorAll('#file-results li').length === 3")
    first, second, third = page.locator("#file-results li").all_inner_texts()
    assert first.startswith("fixed-point-0.json: Correct")
    assert second.startswith("changed.json: REJECTED: Krawczyk's test fails")
    assert third == "garbled.json: No certificate: it is no JSON that can be read."


def test_tables_sort_and_the_theme_turns(page):
    table = page.locator("table.sortable").first
    heading = table.locator("thead button").first
    for order in ("ascending", "descending"):
        heading.click()
        assert table.locator("th").first.get_attribute("aria-sort") == order
    keys = [float(each) for each in table.locator("tbody td:first-child").all_inner_texts()]
    assert keys == sorted(keys, reverse=True)
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
