"""The pseudospectrum's picture says what its verdict says."""

import numpy as np
import pytest

import dynlab as dl
from dynlab.systems import create


def test_the_largest_norm_that_is_marked_is_the_one_that_is_told():
    """The shear's norm is largest, 2.5635 at 0.66 s, between the Dataset's times 0, 1, 2, …"""
    ds = dl.pseudospectrum(create("linear", matrix=[[-1.0, 10.0], [0.0, -2.0]]), grid=3, steps=9, seconds=9.0)
    lines = [line for ax in dl.plot_pseudospectrum(ds).figure.axes for line in ax.lines]
    (marked,) = [line for line in lines if str(line.get_label()).startswith("largest")]
    assert marked.get_xdata()[0] == pytest.approx(float(ds["transient_time"]))
    assert 10 ** marked.get_ydata()[0] == pytest.approx(float(ds["transient_growth"]))
    assert np.log10(2.5635) == pytest.approx(marked.get_ydata()[0], abs=1e-4)
