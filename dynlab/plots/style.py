"""The look that all of dynlab's pictures share: colours that colour-blind readers tell apart, few and thin lines."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from dynlab.plots import legends
from dynlab.plots.dark import darken
from dynlab.plots.fitting import fit
from dynlab.plots.settable import literal, without_glyph_warnings
from dynlab.plots.text_size import points
from dynlab.wording import number

# The palette of Okabe and Ito (2008), which readers with every common form of colour blindness tell apart.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
GREY = "#6B6B6B"  # dark enough for words on white
FAINT = "#D9D9D9"
SHADED = "#E3EEF6"  # a region that is stable
STABLE, UNSTABLE, UNDECIDED = GREEN, VERMILION, GREY
# A kind of fixed point has one marker in every picture and the colour of its stability, so that grey print tells kinds
# apart; what is undecided has that of the kind it is near.
KIND_MARKERS = {
    "stable node": "o",
    "stable focus": "D",
    "stable improper node": "p",
    "stable flip node": "P",
    "stable flip focus": "h",
    "saddle": "^",
    "saddle-focus": "v",
    "flip saddle": "X",
    "flip saddle-focus": "d",
    "unstable node": "<",
    "unstable focus": ">",
    "unstable improper node": "*",
    "unstable flip node": "H",
    "unstable flip focus": "8",
}
OTHER_KIND = "s"  # centers, lines and planes
SEQUENTIAL = "cividis"  # perceptually uniform, and the same to a reader with red-green blindness
DIVERGING = "PuOr_r"  # orange grows, violet shrinks, in every picture
COUNT = ListedColormap(colormaps["Blues"](np.linspace(0.3, 1.0, 256)), "count")  # dark is many
TIME = ListedColormap(colormaps[SEQUENTIAL](np.linspace(0.82, 0.0, 256)), "time")  # light is early, dark is late
ACTIVATIONS = {"relu": "ReLU", "sigmoid": "σ"}  # as titles write them
DIGITS_OF_W, MOST_OF_W = 4, 24  # of its entries, and letters of it in a title: what is longer is in the caption
MOST_ROWS, MOST_HELD = 4, 6  # of W, and values of an input, that a caption lists
PARAMETERS = {"step_size": "step size ε (s)"}  # as axes name those whose names say neither letter nor unit
HELD = "held at"
INPUT_TOLD = HELD, "its input"  # a verdict with such words says which input that is

Panel = tuple[Callable[..., object], Mapping[str, Any]]  # what draws it, and its options

DPI, THEMES = 150, ("light", "dark")
PLACE_DIGITS = 6  # of a place in the figure, whose width is 1
SETTINGS: dict[Any, Any] = {
    "axes.prop_cycle": plt.cycler(color=CYCLE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "large",
    "axes.titlelocation": "left",
    "axes.labelsize": "medium",
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "legend.fontsize": "medium",
    "legend.title_fontsize": "medium",
    "legend.frameon": False,
    "figure.titlesize": "x-large",
    "figure.titleweight": "bold",
    "lines.linewidth": 1.2,
    "figure.dpi": 110,
    "savefig.dpi": DPI,
    "figure.constrained_layout.use": True,
    # a reader's own dark style would leave black lines on a black ground: `dark` turns a whole picture instead
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "white"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), BLACK),
    "axes.titlecolor": BLACK,
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
    "svg.hashsalt": "dynlab",  # the same picture is the same file
}
NO_LAYOUT: dict[Any, Any] = {"figure.constrained_layout.use": False, "figure.autolayout": False}
FEW = 2.0  # decades of a logarithmic axis: fewer need labels between the powers of ten
WITHIN = (1.5, 2, 3, 5, 7)  # times a power of ten: the labels where there is less than a decade
NARROW = 0.6  # decades: fewer are labelled as a linear axis is
MOST_PLAIN = 6.0  # decades: more have powers of ten
SIZE = (8.0, 5.0)  # inches, of a figure that asks for no other
MOST_BESIDE = 2  # panels in a row: more are too small to read
_ASKED: ContextVar[tuple[float, float] | None] = ContextVar("asked", default=None)
_SHRUNK: ContextVar[float] = ContextVar("shrunk", default=1.0)  # the width asked for, in parts of a figure's own


@contextmanager
def asked(size: tuple[float, float] | None) -> Iterator[None]:
    """Every figure made inside the block is of this size in inches, or, for None, of its own."""
    before = _ASKED.set(size)
    try:
        yield
    finally:
        _ASKED.reset(before)


@contextmanager
def style(size: tuple[float, float] = SIZE) -> Iterator[tuple[float, float]]:
    """The settings above, for the one figure made inside the block, and its size: `size`, or what `asked` says.

    Text is in proportion to the width, so that a picture is as easily read at any size. Lines and markers are so below
    the figure's own width.

    Not `plt.rc_context`, which restores every setting: a notebook's first figure loads its backend, which makes pyplot
    interactive, and with that undone no later figure of the notebook would show.
    """
    width, height = _ASKED.get() or size
    settings = SETTINGS | {"font.size": points(width, _ASKED.get() is None)}
    before = {name: plt.rcParams[name] for name in settings}
    plt.rcParams.update(settings)
    outer = _SHRUNK.set(width / size[0])
    try:
        yield width, height
    finally:
        _SHRUNK.reset(outer)
        plt.rcParams.update(before)


def panels(
    ds: xr.Dataset,
    drawn: Sequence[Panel],
    size: tuple[float, float],
    title: str,
    *,
    below: bool = False,
    **layout: Any,
) -> Axes:
    """A figure of panels, two in a row or one below the other, with a title and the verdict as caption.

    Parameters
    ----------
    ds : Dataset
    drawn : sequence of (callable, mapping)
        What draws each panel, called as ``draw(ds, ax=ax, **options)``.
    size : tuple of float
        Of the whole in inches, without its caption.
    title : str
        What is shown; of which system it is comes after it.
    below : bool
        One below the other.
    **layout
        As `matplotlib.figure.Figure.add_gridspec` takes it; with it all panels stand in one row.

    Returns
    -------
    Axes
        Of the first panel.
    """
    columns = 1 if below else len(drawn) if layout else min(len(drawn), MOST_BESIDE)
    rows = -(-len(drawn) // columns)
    with style(size) as whole:
        figure = plt.figure(figsize=whole)
        grid = figure.add_gridspec(rows, columns, **layout)
        places = [divmod(place, columns) for place in range(len(drawn))]
        spans = [slice(column, column + 1) for _, column in places[:-1]] + [slice(places[-1][1], None)]
        # the last takes what is left of its row
        found = [figure.add_subplot(grid[row, span]) for (row, _), span in zip(places, spans, strict=True)]
        for (draw, options), ax in zip(drawn, found, strict=True):
            draw(ds, ax=ax, **options)
        finish(ds, figure, title)
    return found[0]


def finish(ds: xr.Dataset, figure: Figure, title: str, named: Mapping[str, Any] | None = None) -> None:
    """Set the title above a figure that is drawn and the verdict below it, and fit all text to its place.

    `named` are the entries of a legend for all panels.
    """
    settings = json.loads(ds.attrs.get("settings") or "{}")
    verdict = ds.attrs.get("verdict", "")
    sentences = [
        verdict,
        _long_matrix(settings),
        "" if any(words in verdict for words in INPUT_TOLD) else _held(settings),
    ]
    caption(figure, f"{title}: {of_whom(ds)}", literal(" ".join(filter(None, sentences))), named)


def of_whom(ds: xr.Dataset) -> str:
    """The system, and of a checkpoint also its file and layer, as a title has them."""
    settings = json.loads(ds.attrs.get("settings") or "{}")
    source = json.loads(ds.attrs.get("source") or "{}").get("file", "")
    layer = f"layer {settings['layer']}" if settings.get("layer") else ""
    return literal(", ".join(filter(None, [named_system(ds), source, layer])))


def named_system(ds: xr.Dataset) -> str:
    """The system's name, and its formula where the name says too little: of a feedback system with the φ it has.

    Of Euler's map of a flow, whose step is the setting ``euler_step``, it is the map's.
    """
    name, settings = str(ds.attrs["system"]), json.loads(ds.attrs.get("settings") or "{}")
    step = settings.get("euler_step")
    varied = [settings.get("parameter"), *settings.get("parameters", [])]
    size = "" if step is None or "step_size" in varied else f", ε = {number(float(step))}"
    if name == "LinearMap":
        return "the linear map h ↦ W h" + _short_matrix(settings)
    if name == "vanilla" and _rows(settings):
        return "h ↦ tanh(W h)" + _short_matrix(settings)
    if name != "feedback" or not isinstance(settings.get("config"), dict):
        return name if step is None else f"Euler's map of {name}{size}"
    config = settings["config"]  # empty of a matrix, whose system has neither input nor bias
    activation = str(config.get("activation", "tanh"))
    terms = "W h" + " + V x" * bool(config.get("input_size")) + " + b" * bool(config and config.get("bias", True))
    inner = terms if activation == "identity" else f"{ACTIVATIONS.get(activation, activation)}({terms})"
    formula = f"h′ = {inner}" if step is None else f"h ↦ h + ε {inner}{size}"
    return f"{formula}{_short_matrix(settings)}"


def _rows(settings: Mapping[str, Any]) -> list[list[float]]:
    """Of the matrix that a user gave; none of other systems."""
    rows = settings.get("matrix")
    return [[float(Fraction(entry)) for entry in row] for row in rows] if isinstance(rows, list) else []


def _matrix(rows: list[list[float]]) -> tuple[str, bool]:
    """A matrix in words, "−0.15, −2; 2, −0.15", and whether that is all of it, not rounded."""
    exact = all(entry == float(f"{entry:.{DIGITS_OF_W}g}") for row in rows for entry in row)
    return "; ".join(", ".join(number(entry, DIGITS_OF_W) for entry in row) for row in rows), exact


def _short_matrix(settings: Mapping[str, Any]) -> str:
    """Of one that the title has room for: ", W = −0.15, −2; 2, −0.15"."""
    words, exact = _matrix(_rows(settings))
    return f", W = {words}" if exact and 0 < len(words) <= MOST_OF_W else ""


def _long_matrix(settings: Mapping[str, Any]) -> str:
    """What the caption says of a matrix that the title has no room for."""
    rows = _rows(settings)
    if not rows or _short_matrix(settings):
        return ""
    if len(rows) > MOST_ROWS:
        return f"W has {len(rows)} × {len(rows)} entries."
    words, exact = _matrix(rows)
    return f"W {'=' if exact else '≈'} {words}."


def _held(settings: Mapping[str, Any]) -> str:
    """What the caption says of an input that does not change; nothing where there is none, or it is the parameter."""
    held = settings.get("input")
    varied = [settings.get("parameter"), *settings.get("parameters", [])]
    if not isinstance(held, list) or not held or any(str(name).startswith("input") for name in varied):
        return ""
    few = f"x = ({', '.join(number(value) for value in held)})" if len(held) <= MOST_HELD else ""
    if not any(held):
        return f"The input is {HELD} zero."
    mean = "its mean" if settings.get("at") == "mean" else ""
    return f"The input is {HELD} {', '.join(filter(None, [mean, few])) or f'{len(held)} values'}."


def caption(figure: Figure, title: str, words: str, named: Mapping[str, Any] | None = None) -> None:
    """Set a title above a figure that is drawn and whole sentences below it, and fit all text to its place."""
    fit(figure, title, subscripts(words), named=named, grows=_ASKED.get() is None, shrunk=_SHRUNK.get())


def subscripts(text: str) -> str:
    """h_t, h_{t−1}, Λ_1, σ_min and powers of e set as mathematics."""
    text = re.sub(r"(?<!\w)e\^(?:\((±?[^()\s]+)\)|([+−-]?\d[\d.,]*(?<=\d)))", _power, text)
    text = re.sub(r"σ_(min|max)(?!\w)", r"$σ_{\\rm \1}$", text)
    return re.sub(r"(?<!\w)([hxλμΛ])_(\{[^}]*\}|\w)(?!\w)", lambda found: f"${found.group(1)}_{found.group(2)}$", text)


def _power(found: re.Match[str]) -> str:
    return f"$e^{{{(found.group(1) or found.group(2)).replace(',', '{,}')}}}$"


def legend_below(ax: Axes, columns: int, **options: Any) -> Legend:
    """The legend under the axes, where it covers nothing, in at most so many columns."""
    return legends.legend_below(ax, columns, **options)


def kind_look(kind: str, stable: int) -> tuple[str, str]:
    """The marker of a kind of fixed point, and the colour of its stability: 1 stable, 0 unstable, −1 undecided."""
    marker = KIND_MARKERS.get(kind.removeprefix("undecided, near "), OTHER_KIND)
    return marker, {1: STABLE, 0: UNSTABLE, -1: UNDECIDED}[stable]


def cross(ax: Axes) -> None:
    """Draw faint lines through 0."""
    ax.axhline(0, color=FAINT, lw=0.8, zorder=1)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=1)


def say(ax: Axes, words: str) -> Text:
    """Set words in the middle of axes that have nothing to show."""
    return ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=GREY, bbox=ground(ax))


def ground(ax: Axes) -> dict[str, Any]:
    """The box of words through which no line goes."""
    return {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1}


def label(array: object) -> str:
    """What an axis says of a variable: its long name, and its units where it has some that the name does not say."""
    attrs = getattr(array, "attrs", {})
    name, units = attrs.get("long_name", ""), attrs.get("units", "1")
    if name in PARAMETERS:
        return PARAMETERS[name]
    return name if units == "1" or units in name.split() else f"{name} ({units})"


def plain_numbers(ax: Axes) -> None:
    """Plain numbers on the logarithmic axis, as on a linear one where it is short, and between few powers of ten."""
    low, high = np.log10(ax.get_ylim())
    if high - low > MOST_PLAIN:
        return
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if high - low < NARROW:
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_minor_locator(NullLocator())
    elif high - low < 1:  # of which two powers of ten would be one label or none
        ax.yaxis.set_minor_locator(LogLocator(subs=WITHIN))
        ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    elif high - low < FEW:
        ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: _sparse(value)))
    else:
        ax.yaxis.set_minor_formatter(NullFormatter())


def _sparse(value: float) -> str:
    """2 and 5 times a power of ten, nothing else."""
    leading = round(value / 10 ** np.floor(np.log10(value) + 1e-9), 6)
    return f"{value:,g}" if leading in (2.0, 5.0) else ""


def rendered(figure: Figure, suffix: str, dpi: int = DPI, theme: str = "light") -> bytes:
    """The figure as a file of the format, with text as text, and the same bytes each time; the figure is closed.

    Parameters
    ----------
    figure : Figure
    suffix : str
        "png", "svg" or "pdf".
    dpi : int
        Pixels per inch; of SVG and PDF those of the parts with too many points to be lines.
    theme : str
        One of `THEMES`.
    """
    file = BytesIO()
    try:
        if theme == "dark":
            darken(figure)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
        with style((figure.get_figwidth(), figure.get_figheight())), without_glyph_warnings():
            _settle(figure)
            figure.savefig(file, format=suffix, dpi=dpi, metadata=undated, facecolor=figure.get_facecolor())
    finally:
        plt.close(figure)
    return file.getvalue()


def _settle(figure: Figure) -> None:
    """The axes where the layout puts them, to six digits: its solver's last ones are others in each run."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        with plt.rc_context(NO_LAYOUT):  # with any engine left, matplotlib draws the figure twice to write it
            figure.set_layout_engine(None)
        for ax in figure.axes:
            ax.set_position(np.round(ax.get_position(original=True).bounds, PLACE_DIGITS))
