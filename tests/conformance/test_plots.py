"""Every picture there is can be read: its texts are inside and real, short, light or dark, the same run by run."""

import re

import pytest
from pictures import outside, overlapping
from small_results import OTHERS, first_call

from dynlab.errors import lookup
from dynlab.plots import PLOTS, style

LONGEST = 60  # letters of a title


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
def test_its_texts_are_inside_and_apart_its_titles_short_and_its_caption_has_two_lines(results, name):
    figure = drawn(results, name)
    assert overlapping(figure) == []
    assert outside(figure) == []
    titles = [figure.get_suptitle(), *(ax.get_title(loc=loc) for ax in figure.axes for loc in ("left", "center"))]
    assert [title for title in titles if max(map(len, words_of(title))) > LONGEST] == []
    assert figure.texts[-1].get_text().count("\n") <= 1


@pytest.mark.parametrize("name", PLOTS)
def test_its_files_have_real_text_and_the_same_bytes_each_time_on_either_ground(results, name):
    one, other = (style.rendered(drawn(results, name), "svg", theme="light") for _ in range(2))
    assert one == other
    assert re.search(r"<text[^>]*>[^<]*:", one.decode())  # its title
    with style.asked(None, "dark"):
        dark = style.rendered(drawn(results, name), "svg", theme="dark")
    assert [b"fill: #161616" in each for each in (one, dark)] == [False, True]
