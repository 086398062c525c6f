"""How much a search has left unseen: the share of its random starts that would end somewhere not seen yet.

Each random start is drawn independently, and ends at one of the points with a probability of its own. Good and Turing
estimate the share of starts that would end at a point no start has ended at by n₁/N, with n₁ the points that exactly
one of N starts ended at. A bound needs no estimate: what is listed is held fixed, further starts are drawn, and the
number of those that end outside the list is binomial. Several such tests share what may go wrong.

References
----------
Good, "The population frequencies of species and the estimation of population parameters", Biometrika 40 (1953);
Clopper and Pearson, Biometrika 26 (1934).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv  # scipy.stats, which has the distribution, takes half a second to import

WRONG = 0.05  # how often a bound may fail; the j-th test of a search gets half of what the tests before it left


def unseen_share(counts: NDArray[np.integer], starts: int) -> float:
    """Good and Turing's estimate n₁/N of the share; NaN without starts.

    Parameters
    ----------
    counts : ndarray of int, shape (point,)
        How many of the random starts ended at each.
    starts : int
        How many there were, those that ended nowhere included.
    """
    return float((counts == 1).sum() / starts) if starts else np.nan


def share_bound(new: int, starts: int, test: int, searches: int = 1) -> float:
    """An upper bound on the share of starts that end outside a list, from starts drawn after it was made.

    Parameters
    ----------
    new : int
        How many of them ended outside.
    starts : int
    test : int
        The number of this test, from 1: all tests of a search together fail with probability `WRONG` at most.
    searches : int
        How many searches share that probability.

    Examples
    --------
    >>> round(share_bound(0, 256, 1), 4), round(share_bound(3, 256, 1), 4)
    (0.0143, 0.0339)
    """
    if new >= starts:
        return 1.0
    return float(betaincinv(new + 1, starts - new, 1 - WRONG / (2**test * searches)))
