"""Movies: figures one after the other in a GIF, or through ffmpeg in an MP4, with the same bytes each time."""

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
    from PIL.Image import Image

MOVIE_SUFFIXES = (".gif", ".mp4")
MOVIE_DPI = 60
COLOURS = 128  # of a frame of a GIF
FFMPEG = "-loglevel error -y -f image2pipe -c:v png -i - -c:v libx264 -pix_fmt yuv420p -threads 1"
EXACT = "-fflags +bitexact -flags:v +bitexact -map_metadata -1"
EVEN = "pad=ceil(iw/2)*2:ceil(ih/2)*2"  # which the format asks for


def check_movie(path: Path | None) -> None:
    """Refuse an MP4 where there is nothing that writes one."""
    if path is not None and path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise UserError(f"{path} needs ffmpeg, which is not installed: install it, or name a file that ends in .gif.")


class Movie(NamedTuple):
    """Figures one after the other, drawn when they are asked for.

    Attributes
    ----------
    frames : iterable of Figure
        All of one size.
    rate : float
        Frames a second.
    hold : int
        How many frames long the last one stands.
    """

    frames: "Iterable[Figure]"
    rate: float
    hold: int = 1


def save_movie(
    movie: Movie, path: Path, dpi: int | None = None, theme: str = "light", *, overwrite: bool = True
) -> None:
    """Write a movie whole or not at all; the suffix of `path` decides the format."""
    from PIL import Image

    from dynlab.plots.style import rendered

    drawn = [rendered(figure, "png", dpi or MOVIE_DPI, theme) for figure in movie.frames]
    if path.suffix == ".gif":
        images = []
        for each in drawn:
            with Image.open(BytesIO(each)) as image:
                images.append(image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE))
        write_bytes(path, _gif(images, movie), overwrite=overwrite)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "movie.mp4"
        command = ["ffmpeg", *f"-framerate {movie.rate:g} {FFMPEG} -vf {EVEN} {EXACT}".split(), str(made)]
        done = subprocess.run(command, input=b"".join(drawn + drawn[-1:] * (movie.hold - 1)), capture_output=True)
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise UserError(f"ffmpeg could not write {path} ({' '.join(reason)}): name a file that ends in .gif.")
        write_bytes(path, made.read_bytes(), overwrite=overwrite)


def _gif(images: "list[Image]", movie: Movie) -> bytes:
    file, pause = BytesIO(), 1000 / movie.rate
    pauses = [round(pause)] * (len(images) - 1) + [round(pause * movie.hold)]
    images[0].save(file, "gif", save_all=True, append_images=images[1:], duration=pauses, loop=0, optimize=False)
    return file.getvalue()
