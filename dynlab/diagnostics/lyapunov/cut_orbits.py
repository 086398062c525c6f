"""Say in words why orbits are cut, and what may be done."""

import numpy as np
from numpy.typing import NDArray


def why_cut(lost: NDArray[np.bool_], largest: str, is_flow: bool, several: bool) -> str:
    """Say what orbits do that are cut: "leaves |h_i| ≤ 1e+08".

    Parameters
    ----------
    lost : ndarray of bool
        True for each such orbit that came to where nothing is known, and not beyond the bound.
    largest : str
        The bound.
    is_flow : bool
    several : bool
        True for the verb of several orbits, or of a share of them.
    """
    nowhere = "the solver finds no further step" if is_flow else "the step or its derivative is no number"
    left = [f"{'leave' if several else 'leaves'} {largest}"] if not lost.all() else []
    return " or ".join(left + [f"{'come' if several else 'comes'} to where {nowhere}"] * bool(lost.any()))


def none_inside(orbits: int, cut: str) -> str:
    """Say why nothing is told where all of so many orbits are cut, by what `why_cut` says of one.

    Examples
    --------
    >>> none_inside(1, "comes to where the step or its derivative is no number, at step 3")
    'the orbit comes to where the step or its derivative is no number, at step 3, and is cut there.'
    """
    said = f"{'the orbit' if orbits == 1 else 'every orbit'} {cut}, and is cut there."
    larger = " Where states are that large by nature, raise the bound: --largest-state (largest_state=)."
    return said + larger * cut.startswith("leaves")
