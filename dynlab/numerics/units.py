"""What states are measured in: a system that is written in small units is the same system."""

import numpy as np

from dynlab.numerics.arrays import Real


def unit_of_small(largest: Real) -> Real:
    """The unit of states whose `largest` modulus is given: that modulus, at most 1, and 1 where it is 0 or no number.

    What is small beside 1 may be rounding in a system of ordinary size, and is all there is in one whose states are.
    """
    return np.where((largest > 0) & (largest < 1), largest, 1.0)
