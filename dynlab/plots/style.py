"""The look that all of dynlab's pictures share: colours that colour-blind readers tell apart, few and thin lines."""

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps, rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap, get_named_colors_mapping, to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

# The palette of Okabe and Ito (2008), which readers with every common form of colour blindness tell apart.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GREY = "#CC79A7", "#56B4E9", "#F0E442", "#767676"
# Named colours, of which the theme says which they are: black on white, nearly white on nearly black.
BLACK, GROUND = "dynlab:ink", "dynlab:ground"
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, GREY)
FAINT, SHADED = f"{GREY}55", f"{BLUE}22"  # faint lines; a region that is stable
STABLE, UNSTABLE, UNDECIDED = GREEN, VERMILION, GREY
# A kind of fixed point has one marker in every picture and the colour of its stability, so that grey print tells kinds
# apart; what is undecided has that of the kind it is near.
_KINDS = (
    "stable node, stable focus, stable improper node, stable flip node, stable flip focus, saddle, saddle-focus, "
    "flip saddle, flip saddle-focus, unstable node, unstable focus, unstable improper node, unstable flip node, "
    "unstable flip focus"
)
KIND_MARKERS = dict(zip(_KINDS.split(", "), "oDpPh^vXd<>*H8", strict=True))
OTHER_KIND = "s"  # centers, lines and planes
DIVERGING = "PuOr_r"  # orange grows, violet shrinks, in every picture
FROM_GROUND = 0.15  # of a scale of colours: what is nearer to the ground is hard to see
PARAMETERS = {"step_size": "step size ε (s)"}  # as axes name those whose names say neither letter nor unit

DPI, THEMES = 150, ("light", "dark")
LOOKS = {
    theme: dict(rc_params_from_file(Path(__file__).with_name(f"{theme}.mplstyle"), use_default_template=False))
    for theme in THEMES
}
SIZE = (8.0, 5.0)  # inches of a figure that asks for no other size
POINTS, LINE, LETTER = 72.0, 1.4, 0.53  # of an inch; of the height of text: from line to line, and a letter's width
EDGE, UNDER = 0.08, 3.4  # inches that stay free around text; lines between axes and the legend below them
FITS = 0.97  # of the room: text is up to so much wider at other pixels per inch
FEW = 4.0  # decades of an axis with plain numbers
PLACE_DIGITS = 6  # of a place in the figure, whose width is 1
ASKED: ContextVar[tuple[tuple[float, float] | None, str]] = ContextVar("asked", default=(None, "light"))


@contextmanager
def asked(size: tuple[float, float] | None, theme: str = "light") -> Iterator[None]:
    """Give every figure made inside the block this theme and this size in inches (None: its own)."""
    before = ASKED.set((size, theme))
    try:
        yield
    finally:
        ASKED.reset(before)


@contextmanager
def _settings(theme: str, **others: Any) -> Iterator[None]:
    """A theme's settings inside the block.

    Not `plt.rc_context`, which restores every setting: a notebook's first figure loads its backend, which makes pyplot
    interactive, and with that undone no later figure of the notebook would show.
    """
    settings: dict[Any, Any] = {**LOOKS[theme], **others}
    before = {name: plt.rcParams[name] for name in settings}
    _update(settings)
    try:
        yield
    finally:
        _update(before)


def _update(settings: dict[Any, Any]) -> None:
    plt.rcParams.update(settings)
    for name, setting in ((BLACK, "text.color"), (GROUND, "figure.facecolor")):
        get_named_colors_mapping()[name] = to_hex(settings[setting])


_update({name: plt.rcParams[name] for name in ("text.color", "figure.facecolor")})


@contextmanager
def style(size: tuple[float, float] = SIZE) -> Iterator[None]:
    """Set the theme of the one figure made inside the block, and its size in inches: `size`, or that of `asked`.

    Text is smaller where a smaller width is asked for, in proportion.
    """
    wanted, theme = ASKED.get()
    given = wanted or size
    font = min(1.0, given[0] / size[0]) * LOOKS[theme]["font.size"]
    with _settings(theme, **{"font.size": font, "figure.figsize": given}):
        yield


def once(ax: Axes, label: str) -> str | None:
    """Return a label for the legend where nothing on the axes has it yet, else None."""
    return None if label in ax.get_legend_handles_labels()[1] else label


def quantiles(values: NDArray[np.float64], levels: Sequence[float]) -> NDArray[np.float64]:
    """Return quantiles of the finite values (sample, place), shape (level, place); NaN where there are none."""
    found, some = np.full((len(levels), values.shape[1]), np.nan), np.isfinite(values).any(axis=0)
    found[:, some] = np.nanquantile(np.where(np.isfinite(values), values, np.nan)[:, some], levels, axis=0)
    return found


def subscripts(text: str) -> str:
    """Set h_t, h_{t−1}, Λ_1, σ_min and powers of e as mathematics."""
    text = re.sub(r"(?<!\w)e\^(?:\((±?[^()\s]+)\)|([+−-]?\d[\d.,]*(?<=\d)))", _power, text)
    text = re.sub(r"σ_(min|max)(?!\w)", r"$σ_{\\rm \1}$", text)
    return re.sub(r"(?<!\w)([hxλμΛ])_(\{[^}]*\}|\w)(?!\w)", lambda found: f"${found.group(1)}_{found.group(2)}$", text)


def _power(found: re.Match[str]) -> str:
    return f"$e^{{{(found.group(1) or found.group(2)).replace(',', '{,}')}}}$"


def legend_where_needed(ax: Axes) -> None:
    """Put a legend below axes with labels that have none yet."""
    if ax.get_legend() is None and ax.get_legend_handles_labels()[1]:
        legend_below(ax)


def legend_below(ax: Axes, columns: int = 4, **options: Any) -> Legend:
    """Put the legend under the axes and their label, in at most so many columns."""
    figure: Any = ax.figure
    size, spec = plt.rcParams["font.size"], ax.get_subplotspec()
    room = ax.bbox.width if spec is None else 1.2 * spec.get_position(figure).width * figure.bbox.width
    down = ScaledTranslation(0.0, -UNDER * size / POINTS, figure.dpi_scale_trans)
    handles: list[Any] = options.pop("handles", None) or ax.get_legend_handles_labels()[0]
    labels = [str((one if hasattr(one, "get_label") else one[0]).get_label()) for one in handles]
    place = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": ax.transAxes + down,
        "borderaxespad": 0.0,
        "columnspacing": 1.2,
        **options,
    }
    legend = fitting_legend(ax, handles, labels, columns, room, **place)
    if legend.get_window_extent().width <= room:
        return legend
    letters = int(room / figure.dpi * POINTS / (size * LETTER)) - 6  # beside the handle
    return ax.legend(handles, [textwrap.fill(words, max(letters, 12)) for words in labels], **place)


def fitting_legend(owner: Any, handles: Any, labels: Any, columns: int, room: float, **place: Any) -> Legend:
    """Put a legend on axes or a figure, in at most so many columns, and fewer where these are wider than the room.

    The room is in pixels.
    """
    for count in range(columns, 0, -1):
        legend: Legend = owner.legend(handles, labels, ncols=count, **place)
        if count == 1 or legend.get_window_extent().width <= FITS * room:
            break
        legend.remove()
    return legend


def entries(*drawn: Axes) -> dict[str, Any]:
    """Collect the labels and handles of the legends of several axes."""
    both = [zip(*ax.get_legend_handles_labels(), strict=True) for ax in drawn]
    return {words: handle for each in both for handle, words in each}


def kind_look(kind: str, stable: int) -> tuple[str, str]:
    """Return a kind's marker and the colour of its stability: 1 stable, 0 unstable, −1 undecided."""
    marker = KIND_MARKERS.get(kind.removeprefix("undecided, near "), OTHER_KIND)
    return marker, {1: STABLE, 0: UNSTABLE, -1: UNDECIDED}[stable]


def from_ground() -> ListedColormap:
    """Return colours for times and counts, farther from the ground for more, also to red-green blind readers."""
    return ListedColormap(colormaps[plt.rcParams["image.cmap"]](np.linspace(FROM_GROUND, 1.0, 256)))


def whole(axis: Axis, **options: Any) -> None:
    """Set ticks at whole numbers; `options` as `MaxNLocator` takes them."""
    axis.set_major_locator(MaxNLocator(integer=True, **options))


def patch(colour: Any, label: str) -> Patch:
    """Return an area of a legend, with a thin edge."""
    return Patch(facecolor=colour, edgecolor="none" if colour == "none" else GREY, lw=0.6, label=label)


def cross(ax: Axes) -> None:
    """Draw faint lines through 0."""
    ax.axhline(0, color=FAINT, lw=0.8, zorder=1)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=1)


def say(ax: Axes, words: str) -> Text:
    """Set words in the middle of axes that have nothing to show."""
    return ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=GREY, bbox=ground(ax))


def ground(ax: Axes) -> dict[str, Any]:
    """Return the box behind words, through which no line shows."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1}


def label(array: object) -> str:
    """Return an axis label: the variable's long name, and its units if the name does not say them."""
    attrs = getattr(array, "attrs", {})
    name, units = attrs.get("long_name", ""), attrs.get("units", "1")
    if name in PARAMETERS:
        return PARAMETERS[name]
    return subscripts(name if units == "1" or units in name.split() else f"{name} ({units})")


def plain_numbers(ax: Axes) -> None:
    """Write plain numbers on a logarithmic axis of few powers of ten, also between them."""
    low, high = np.log10(ax.get_ylim())
    if high - low < FEW:
        ax.yaxis.set_major_formatter(_plain)
        ax.yaxis.set_minor_formatter(_plain)


def _plain(value: float, _: object = None) -> str:
    """1, 2 and 5 times a power of ten, nothing else."""
    return f"{value:,g}" if f"{value:e}"[0] in "125" else ""


def rendered(figure: Figure, suffix: str, dpi: int = DPI, theme: str = "light") -> bytes:
    """Render a figure as "png", "svg" or "pdf", with text as text and the same bytes each time, and close it.

    `dpi` are pixels per inch, of SVG and PDF those of the parts with too many points to be lines; `theme` is the one of
    `THEMES` that the figure was drawn with.
    """
    file, undated = BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
    with _settings(theme), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a file may have any name
        if (engine := figure.get_layout_engine()) is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
            for ax in figure.axes:  # to six digits: the layout's last ones are others in each run
                ax.set_position(np.round(ax.get_position(original=True).bounds, PLACE_DIGITS))
        figure.savefig(file, format=suffix, dpi=dpi, metadata=undated)
    plt.close(figure)
    return file.getvalue()
