"""Time that the explorer takes to its first picture and to redraw after a slider moves, in headless Chromium.

    python benchmarks/explorer.py

Asked are 1 s for the first picture, and in the median 16 ms for the phase planes and 100 ms for all linked views.
Needs the extra ``browser`` and Debian's package chromium.
"""

import shutil
import statistics
import tempfile
from pathlib import Path

import click
from playwright.sync_api import Page, sync_playwright

from dynlab.explore import explorer_page
from dynlab.explore.page import planar_fragment

MOVES = 61
# what is shown, and the slider with the ends of the range it is moved over
CASES = {
    "W_diff": ("", "step size ε, slider", 0.01, 0.2),
    "W = (3, 1; −1, 3)": ("#" + planar_fragment("3,1;-1,3"), "diffusion γ, slider", 0.0, 2.0),
}


def redraws(page: Page, slider: str, low: float, high: float) -> tuple[list[float], list[float]]:
    """Milliseconds of the phase planes alone and of all linked views, after each move of the slider."""
    planes, views = [], []
    field = page.get_by_label(slider)
    for move in range(MOVES):
        page.evaluate("delete document.documentElement.dataset.all")
        field.fill(f"{low + (high - low) * move / (MOVES - 1):.3f}")
        page.wait_for_function("document.documentElement.dataset.all")
        drawn = page.evaluate("[document.documentElement.dataset.planes, document.documentElement.dataset.all]")
        planes.append(float(drawn[0]))
        views.append(float(drawn[1]))
    return planes, views


def said(milliseconds: list[float]) -> str:
    return f"{min(milliseconds):.1f}–{statistics.median(milliseconds):.1f}–{max(milliseconds):.1f} ms"


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        file = Path(folder) / "explorer.html"
        file.write_text(explorer_page(), encoding="utf-8")
        click.echo(f"{file.stat().st_size / 1000:.0f} KB, Chromium {browser.version}; min–median–max of {MOVES}")
        for name, (fragment, *slider) in CASES.items():
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(file.as_uri() + fragment)
            page.wait_for_function("document.documentElement.dataset.all")
            first = page.evaluate("performance.now()")
            planes, views = redraws(page, *slider)
            click.echo(f"{name}: first picture by {first:.0f} ms, planes {said(planes)}, all views {said(views)}")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
