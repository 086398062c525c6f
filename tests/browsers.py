"""A browser without a window, driven by Playwright, where both are installed (`make browser-test`)."""

import re
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOCAL = re.compile("file|data|blob")  # of an address: all that a page may ask for
PATIENCE = 60_000  # ms: the machine may be busy


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: pip install -e '.[browser]'")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()
