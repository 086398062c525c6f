"""The explorer in a browser, as a person uses it: headless Chromium, driven by Playwright (`make browser-test`)."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from browsers import LOCAL, PATIENCE, browser

from dynlab.explore import explorer_page

__all__ = ["browser"]


@pytest.fixture
def opened(browser, tmp_path):
    """Open the explorer from a file; an error in the page fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    errors = []

    def open_page(fragment=""):
        file = tmp_path / "explorer.html"
        file.write_text(explorer_page(), encoding="utf-8")
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: LOCAL.match(request.url) or errors.append(request.url))
        page.goto(file.as_uri() + fragment)
        rest(page)
        return page

    yield open_page
    context.close()
    assert errors == []


def rest(page):
    """Wait until what follows a change has come to rest: the address says the state that is shown."""
    page.wait_for_timeout(150)
    page.wait_for_function("!document.documentElement.dataset.busy")


def starts(page):
    text = re.search(r"starts=([^&]*)", page.evaluate("location.hash"))[1]
    return [tuple(map(float, pair.split(","))) for pair in text.split(";") if pair]


def value(page, label):
    return float(page.get_by_label(label, exact=True).input_value())


def place(page, canvas, x, y):
    """Return the place of (x, y) of a plane on the screen: the frame's borders are those of the module axes."""
    box = page.locator(canvas).bounding_box()
    half = value(page, "window ±")
    inner = (box["width"] - 58, box["height"] - 58)
    unit = min(inner) / (2 * half)
    return box["x"] + 46 + inner[0] / 2 + x * unit, box["y"] + 24 + inner[1] / 2 - y * unit


def test_a_click_starts_an_orbit_a_drag_moves_it_and_a_double_click_removes_it(opened):
    page = opened()
    page.mouse.click(*place(page, "#flow", 1.0, 1.0))
    rest(page)
    assert starts(page)[3] == pytest.approx((1.0, 1.0), abs=0.03)
    page.mouse.move(*place(page, "#map", 1.0, 1.0))
    page.mouse.down()
    page.mouse.move(*place(page, "#map", -1.0, 0.8), steps=4)
    page.mouse.up()
    rest(page)
    assert starts(page)[3] == pytest.approx((-1.0, 0.8), abs=0.03)
    assert len(starts(page)) == 4
    page.mouse.dblclick(*place(page, "#map", -1.0, 0.8))
    rest(page)
    assert len(starts(page)) == 3


def test_a_preset_and_its_link(opened):
    page = opened()
    page.get_by_label("Preset").select_option("memories")
    rest(page)
    assert page.locator("#points li").count() == 9
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    other = opened("#" + link.partition("#")[2])
    assert other.locator("#points li").count() == 9
    assert other.evaluate("location.hash") == page.evaluate("location.hash")


def test_pictures_and_code_are_exported(opened):
    page = opened()
    for button, name in (("PNG", "phase-plane.png"), ("SVG", "phase-plane.svg")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert download.value.suggested_filename == name
        written = download.value.path().read_bytes()
        if name.endswith("png"):
            assert written.startswith(b"\x89PNG")
        else:
            drawn = ElementTree.fromstring(written)
            assert len(drawn.findall(".//{*}path")) > 50
            said = {each.text for each in drawn.findall("{*}text")}
            assert said == {page.locator("#verdict").inner_text(), "The flow", "Euler’s map"}
