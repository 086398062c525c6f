"""How large text is, how much room its letters and lines take, and what stays free beside it."""

from matplotlib.text import Text

PAGE = 800.0  # pixels
# The size of the smallest text where a picture is that wide: its capitals are 9 pixels high. In a size that was asked
# for, where the picture cannot grow, all of a letter is.
PIXELS, IN_LITTLE_ROOM = 12.4, 9.8
POINTS = 72.0  # of an inch
LETTER = 0.55  # of the height of text: the mean width of its letters, a little more than they are
LINE = 1.35  # of the height of text: from one line to the next
EDGE = 0.012  # of the figure's width: what stays free at its sides
HINTED = 1.05  # how much wider text may be at the resolution of a file than where it is measured: letters are hinted


def points(width: float, grows: bool = True) -> float:
    """The size of the smallest text of a figure of `width` inches, in points; `grows` as for `fit`."""
    return (PIXELS if grows else IN_LITTLE_ROOM) / PAGE * POINTS * width


def size_of(text: Text) -> float:
    """The size of a text, in points."""
    return float(text.get_fontsize())
