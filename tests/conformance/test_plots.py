"""Every picture there is can be read: its texts are large enough, apart, inside and real, light or dark, run by run."""

import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.text import Text
from pictures import outside, overlapping, shown
from small_results import OTHERS, first_call

from dynlab.errors import lookup
from dynlab.plots import PLOTS, dark, style

SMALLEST = 9.0  # pixels, where the picture is 800 wide
LONGEST = 60  # letters of a title
READABLE = 4.5  # times lighter or darker than the ground (WCAG 2.2)


def drawn(results, name):
    """The plot's own figure of a small Dataset: of the diagnostic of its name, or of what the table of others names."""
    if name in OTHERS and name not in results:
        results[name] = OTHERS[name]()
    ds = results[name] if name in OTHERS else first_call(results, name.removeprefix("plot_"))[0]
    return lookup(PLOTS, name, "plot")(ds).figure


def words_of(title):
    """A title's lines as they are read: a formula in TeX is shorter than its source."""
    return re.sub(r"\\[a-z]+|[${}_^]", "", title).split("\n")


@pytest.mark.parametrize("name", PLOTS)
def test_its_texts_are_large_apart_and_inside_and_its_titles_short(results, name):
    figure = drawn(results, name)
    width = figure.get_figwidth()
    small = [text.get_text() for text in shown(figure) if text.get_fontsize() / 72 * 800 / width < SMALLEST]
    assert small == []
    assert overlapping(figure) == []
    assert outside(figure) == []
    titles = [figure.texts[0].get_text(), *(ax.get_title(loc=loc) for ax in figure.axes for loc in ("left", "center"))]
    assert [title for title in titles if max(map(len, words_of(title))) > LONGEST] == []
    assert "\n" not in figure.texts[0].get_text()
    plt.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_its_files_have_real_text_and_the_same_bytes_each_time_on_either_ground(results, name):
    figure, other = drawn(results, name), drawn(results, name)
    assert style.rendered(figure, "svg") == style.rendered(other, "svg")  # test_fitting.py compares those of a PDF
    assert b"/Type3" not in style.rendered(figure, "pdf").replace(b" ", b"")
    dark_one = style.rendered(figure, "svg", theme="dark")
    assert dark_one == style.rendered(other, "svg", theme="dark")
    assert re.search(r"<text[^>]*>[^<]*:", dark_one.decode())  # its title
    words = [*figure.texts, *(text for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label))]
    words += [text for ax in figure.axes if ax.get_legend() for text in ax.get_legend().findobj(Text)]
    assert min(dark.contrast(text.get_color(), figure.get_facecolor()) for text in words) >= READABLE
    plt.close("all")
