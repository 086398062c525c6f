"""The paper's planar matrices in the spellings of their names."""

import pytest

from dynlab.errors import UserError
from dynlab.matrices import named_matrix

SPELLINGS = {
    "plus": ("W+", "w+", "W_+", "W₊", "W_{+}", "Wplus"),
    "minus": ("W-", "W−", "W₋", "W_-"),
    "zero": ("W0", "W_0", "W₀"),
    "diff": ("Wdiff", "W_diff", "W_{diff}", "w_Diff"),
}


@pytest.mark.parametrize("name, written", [(name, one) for name in SPELLINGS for one in SPELLINGS[name]])
def test_a_matrix_of_the_paper_is_known_by_each_spelling(name, written):
    assert named_matrix(written) == named_matrix(name)


def test_another_name_is_unknown_as_it_was_typed():
    with pytest.raises(UserError, match="Unknown matrix 'Wnone'"):
        named_matrix("Wnone")
