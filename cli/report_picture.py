"""A command's figure for a page: SVG where that is short, else PNG of few colours."""

import base64
import tempfile
from pathlib import Path

from .output import CommandResult, Look, save_figure

MOST_BYTES = 120_000  # of an SVG: a picture of many points is shorter as a PNG
SHARP = 180  # pixels per inch of a PNG, which a page shows 960 pixels wide
TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def picture(result: CommandResult) -> str:
    """The figure as a data URL; empty where there is none."""
    if result.plot is None:
        return ""
    from dynlab.plots.style import rendered

    figure = result.plot(result.dataset.assign_attrs(verdict="")).figure  # which the page says beside it
    drawn, suffix = rendered(figure, "svg"), "svg"
    if len(drawn) > MOST_BYTES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figure.png"
            save_figure(figure, path, Look(dpi=SHARP), small=True)
            drawn, suffix = path.read_bytes(), "png"
    return f"data:{TYPES[suffix]};base64,{base64.b64encode(drawn).decode('ascii')}"
