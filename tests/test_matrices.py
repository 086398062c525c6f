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


def test_a_matrix_of_the_paper_is_known_by_each_spelling():
    for name, spellings in SPELLINGS.items():
        assert all(named_matrix(written) == named_matrix(name) for written in spellings)
    with pytest.raises(UserError, match="Unknown matrix 'Wnone'"):
        named_matrix("Wnone")
