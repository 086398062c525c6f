"""A page printed as PDF by a browser without a window."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from dynlab.errors import UserError

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 300  # seconds


def chromium() -> str:
    """The browser, or the sentence that says how to install one."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise UserError(
            f"--pdf prints through Chromium, and none of {', '.join(NAMES)} is installed: apt-get install chromium, or "
            f"leave --pdf out and print the page from your browser."
        )
    return found


def print_pdf(browser: str, page: Path) -> bytes:
    """The page as PDF."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "page.pdf"
        own = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={drawn}", "--no-pdf-header-footer"]
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", *own, page.absolute().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"{browser} took more than {PATIENCE} s to print {page}; the page itself is whole."
            ) from error
        if not drawn.is_file():
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise UserError(f"{browser} printed no PDF of {page} ({last}); the page itself is whole.")
        return drawn.read_bytes()
