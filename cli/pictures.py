"""Files of figures and movies: a movie is figures one after the other in a GIF, or through ffmpeg in an MP4.

Both have the same bytes each time.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dynlab.errors import UserError
from dynlab.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL_DPI, SMALL_DPI, MOVIE_DPI = 150, 110, 100
MOVIE_SUFFIXES = (".gif", ".mp4")
COLOURS = 64  # of a GIF
# the same bytes each time, and an even number of pixels in each direction, which the format asks for
FFMPEG = (
    "ffmpeg -loglevel error -y -framerate {rate:g} -f image2pipe -c:v png -i - -c:v libx264 -pix_fmt yuv420p "
    "-threads 1 -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -fflags +bitexact -flags:v +bitexact -map_metadata -1"
)


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
    hold : int
        Length of the last one, in frames.
    """

    frames: "Iterable[Figure]"
    rate: float
    hold: int = 1


def save_movie(movie: Movie, path: Path, dpi: int | None = None, theme: str = "light") -> None:
    """Write a movie whole or not at all; the suffix of `path` decides the format."""
    from dynlab.plots.style import rendered

    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise UserError(f"{path} needs ffmpeg, which is not installed: install it, or name a file that ends in .gif.")
    drawn = [rendered(figure, "png", dpi or MOVIE_DPI, theme) for figure in movie.frames]
    write_bytes(path, _gif(drawn, movie) if path.suffix == ".gif" else _mp4(drawn, movie, path))


def _mp4(drawn: list[bytes], movie: Movie, path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "movie.mp4"
        command = [*FFMPEG.format(rate=movie.rate).split(), str(made)]
        done = subprocess.run(command, input=b"".join(drawn + drawn[-1:] * (movie.hold - 1)), capture_output=True)
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise UserError(f"ffmpeg could not write {path} ({' '.join(reason)}): name a file that ends in .gif.")
        return made.read_bytes()


def _gif(drawn: list[bytes], movie: Movie) -> bytes:
    """Return all frames in the colours of the middle one: what does not change takes no room then."""
    from PIL import Image

    images = [Image.open(BytesIO(each)).convert("RGB") for each in drawn]
    palette = images[len(images) // 2].quantize(COLOURS, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    first, *others = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    pause, file = 1000 / movie.rate, BytesIO()
    pauses = [round(pause)] * len(others) + [round(pause * movie.hold)]
    first.save(file, "gif", save_all=True, append_images=others, duration=pauses, loop=0, optimize=False)
    return file.getvalue()
