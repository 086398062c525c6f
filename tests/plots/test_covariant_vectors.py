"""The picture of covariant vectors: its dots are the Dataset's angles, what is not determined is hollow."""

import matplotlib.pyplot as plt
import numpy as np

from dynlab.diagnostics.covariant_vectors import covariant_vectors
from dynlab.plots import style
from dynlab.plots.covariant_vectors import plot_covariant_vectors
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap


def test_dots_are_the_angles_with_their_errors_and_the_star_the_smallest():
    ds = covariant_vectors(create("henon"), steps=300, initial_state=[0.1, 0.1])
    ds["angle_error"][0, 3] = np.radians(7.0)
    _, ax = plt.subplots()
    assert plot_covariant_vectors(ds, ax=ax) is ax
    dots, star = ax.lines
    np.testing.assert_allclose(dots.get_ydata(), np.degrees(ds["angle"].values[0]))
    np.testing.assert_allclose(star.get_ydata(), np.degrees(ds["angle"].values.min()))
    ((bar,),) = (part.get_segments() for part in ax.collections)
    middle = np.degrees(float(ds["angle"][0, 3]))
    np.testing.assert_allclose(bar[:, 1], np.clip([middle - 7, middle + 7], 0, 90))
    assert ax.get_ylabel().endswith("(°)")
    plt.close("all")


def test_without_an_unstable_subspace_rates_stand_alone_and_hollow_is_not_determined():
    rates = plot_covariant_vectors(covariant_vectors(LinearMap([[0.5, 0.5], [-0.5, 0.5]]), steps=200))
    assert rates.figure.axes == [rates]  # no empty panel beside them
    (hollow,) = (line for line in rates.lines if line.get_label() == "vector not determined")
    assert hollow.get_markeredgecolor() == style.GREY
    np.testing.assert_allclose(hollow.get_ydata(), np.log(np.sqrt(0.5)))
    plt.close("all")


def test_a_vector_that_is_determined_in_some_samples_is_half_filled():
    ds = covariant_vectors(LinearMap([[0.9, 0.0], [0.0, 0.3]]), steps=200, initial_state=[[0.1, 0.1], [0.2, 0.1]])
    ds["determined"][1, 1] = 0
    lines = {str(line.get_label()): line for line in plot_covariant_vectors(ds).lines}
    assert lines["determined in 2 samples"].get_xdata().tolist() == [1]
    assert lines["in some samples"].get_fillstyle() == "left"
    assert lines["in some samples"].get_xdata().tolist() == [2]
    plt.close("all")
