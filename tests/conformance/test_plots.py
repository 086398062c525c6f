"""Every picture there is can be read: its texts are inside, real and short, on a dark ground, the same run by run."""

import re

import pytest
from pictures import outside, overlapping
from small_results import OTHERS, first_call

from dynlab.errors import lookup
from dynlab.plots import PLOTS, style

LONGEST = 60  # letters of a title


def words_of(title):
    """A title's lines as they are read: a formula in TeX is shorter than its source."""
    return re.sub(r"\\[a-z]+|[${}_^]", "", title).split("\n")


@pytest.mark.parametrize("name", PLOTS)
def test_its_texts_are_real_inside_and_apart_its_titles_short_and_its_files_the_same_each_time(results, name):
    if name in OTHERS and name not in results:
        results[name] = OTHERS[name]()
    ds = results[name] if name in OTHERS else first_call(results, name.removeprefix("plot_"))[0]
    with style.asked(None, "dark"):
        figure, again = (lookup(PLOTS, name, "plot")(ds).figure for _ in range(2))
    assert overlapping(figure) == []
    assert outside(figure) == []
    titles = [figure.get_suptitle(), *(ax.get_title(loc=loc) for ax in figure.axes for loc in ("left", "center"))]
    assert [title for title in titles if max(map(len, words_of(title))) > LONGEST] == []
    assert figure.texts[-1].get_text().count("\n") <= 1
    one, other = (style.rendered(each, "svg", theme="dark") for each in (again, figure))
    assert one == other
    assert re.search(r"<text[^>]*>[^<]*:", one.decode())  # its title
    assert b"fill: #161616" in one  # the ground
