"""Every picture there is can be read: its texts are inside and real, short, light or dark, the same run by run."""

import re

import pytest
from pictures import outside, overlapping
from public_names import PLOTS
from small_results import OTHERS, first_call

import dynlab as dl
from dynlab.plots import style

LONGEST = 60  # letters of a title


def words_of(title):
    """A title's lines as they are read: a formula in TeX is shorter than its source."""
    return re.sub(r"\\[a-z]+|[${}_^]", "", title).split("\n")


@pytest.mark.parametrize("name", PLOTS)
def test_its_texts_are_real_inside_and_apart_its_titles_short_and_its_files_the_same_on_either_ground(results, name):
    if name in OTHERS and name not in results:
        results[name] = OTHERS[name]()
    ds = results[name] if name in OTHERS else first_call(results, name.removeprefix("plot_"))[0]
    figure, draw = getattr(dl, name)(ds).figure, getattr(dl, name)
    assert overlapping(figure) == []
    assert outside(figure) == []
    titles = [figure.get_suptitle(), *(ax.get_title(loc=loc) for ax in figure.axes for loc in ("left", "center"))]
    assert [title for title in titles if max(map(len, words_of(title))) > LONGEST] == []
    assert figure.texts[-1].get_text().count("\n") <= 1
    with style.asked(None, "dark"):
        one, other = (style.rendered(draw(ds).figure, "svg", theme="dark") for _ in range(2))
    assert one == other
    assert re.search(r"<text[^>]*>[^<]*:", one.decode())  # its title
    assert b"fill: #161616" in one  # the ground
