"""Files of figures, and of movies: figures one after the other in a GIF. Both have the same bytes each time."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dynlab.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL_DPI, SMALL_DPI, MOVIE_DPI = 150, 110, 100
COLOURS = 64  # of a movie
HOLD = 1920  # milliseconds: how long its last frame stands


def save_figure(
    figure: "Figure", path: Path, dpi: int | None = None, theme: str = "light", *, small: bool = False
) -> None:
    """Write a figure; the suffix of `path` decides the format.

    Parameters
    ----------
    figure : Figure
    path : Path
    dpi : int, optional
        Pixels per inch.
    theme : str
        "light" or "dark".
    small : bool
        For a PNG in a repository or a page: fewer points per inch, and 256 colours.
    """
    from dynlab.plots.style import rendered

    drawn = rendered(figure, path.suffix[1:], dpi or (SMALL_DPI if small else FULL_DPI), theme)
    write_bytes(path, in_few_colours(drawn) if small and path.suffix == ".png" else drawn)


def in_few_colours(png: bytes) -> bytes:
    """Return a PNG in 256 colours."""
    from PIL import Image  # matplotlib's own way to write PNG

    file = BytesIO()
    with Image.open(BytesIO(png)) as image:  # maximum coverage keeps the rare colours of small markers
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    few.save(file, format="png", optimize=True)
    return file.getvalue()


class Movie(NamedTuple):
    """Figures one after the other, drawn when they are asked for.

    Attributes
    ----------
    frames : iterable of Figure
        All of one size.
    rate : float
        Frames a second.
    """

    frames: "Iterable[Figure]"
    rate: float


def save_movie(movie: Movie, path: Path, dpi: int | None = None, theme: str = "light") -> None:
    """Write a GIF of frames in the colours of the middle one: what does not change takes no room then."""
    from PIL import Image

    from dynlab.plots.style import rendered

    drawn = [rendered(figure, "png", dpi or MOVIE_DPI, theme) for figure in movie.frames]
    images = [Image.open(BytesIO(each)).convert("RGB") for each in drawn]
    palette = images[len(images) // 2].quantize(COLOURS, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    pauses, file = [round(1000 / movie.rate)] * len(others) + [HOLD], BytesIO()
    first.save(file, "gif", save_all=True, append_images=others, duration=pauses, loop=0, optimize=False)
    write_bytes(path, file.getvalue())
